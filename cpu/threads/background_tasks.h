// Tasks that nobody waits for at once, in order, on a few threads of their own: compilation beside launches.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace pumice::cpu {

/// Thread-safe. The destructor does what is left. Threads are made when they are needed; signals of the process go to others.
class BackgroundTasks {
public:
    explicit BackgroundTasks(size_t most_threads) : most_threads(most_threads) {}
    ~BackgroundTasks();
    /// Runs the task, which throws nothing, on another thread. Tasks begin in the order in which they are added. Returns false,
    /// without the task, if the system gives no thread.
    bool add(std::function<void()> task);

private:
    void work();
    bool make_thread();

    const size_t most_threads;
    std::mutex mutex;
    std::condition_variable added;
    std::deque<std::function<void()>> tasks;
    std::vector<std::thread> threads;
    size_t idle = 0;
    bool ends = false;
};

}  // namespace pumice::cpu
