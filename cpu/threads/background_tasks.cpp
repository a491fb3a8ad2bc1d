#include "cpu/threads/background_tasks.h"

#include <csignal>
#include <system_error>
#include <utility>

namespace pumice::cpu {

BackgroundTasks::~BackgroundTasks() {
    {
        const std::lock_guard lock(mutex);
        ends = true;
    }
    added.notify_all();
    for (std::thread& thread : threads) thread.join();
}

bool BackgroundTasks::make_thread() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = true;
    try {
        threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) { made = false; }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return made;
}

bool BackgroundTasks::add(std::function<void()> task) {
    const std::lock_guard lock(mutex);
    if (idle <= tasks.size() && threads.size() < most_threads && !make_thread() && threads.empty()) return false;
    tasks.push_back(std::move(task));
    added.notify_one();
    return true;
}

void BackgroundTasks::work() {
    std::unique_lock lock(mutex);
    while (true) {
        ++idle;
        added.wait(lock, [&] { return ends || !tasks.empty(); });
        --idle;
        if (tasks.empty()) return;
        {
            const std::function<void()> task = std::move(tasks.front());
            tasks.pop_front();
            lock.unlock();
            task();
        }
        lock.lock();
    }
}

}  // namespace pumice::cpu
