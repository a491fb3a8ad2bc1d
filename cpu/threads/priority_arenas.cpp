#include "cpu/threads/priority_arenas.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>

#include "core/support/error.h"
#include "cpu/threads/background_tasks.h"

namespace pumice::cpu {
namespace {

std::atomic<bool> uses_tbb = false;   // oneTBB may have started threads
std::atomic<bool> lacks_tbb = false;  // in a process that was forked after that

void start_tbb() {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { lacks_tbb = uses_tbb.load(); });
    if (registered == 0) uses_tbb = true;
}

/// Threads of our own, for each priority, which are made when they are needed.
class OwnThreads {
public:
    explicit OwnThreads(int threads) {
        for (auto& tasks : of) tasks = std::make_unique<BackgroundTasks>(size_t(std::max(threads - 1, 1)));
        if (!of[normal]->add([] {})) fail("the device cpu cannot work in a forked process: the system gives no thread");
    }
    void enqueue(Priority priority, const std::function<void()>& act) {
        if (!of[size_t(priority)]->add(act)) of[normal]->add(act);  // that one has a thread
    }

private:
    static constexpr size_t normal = size_t(Priority::normal);
    std::array<std::unique_ptr<BackgroundTasks>, 3> of;
};

}  // namespace

struct PriorityArenas::All {
    explicit All(int count) : threads(count) {
        if (lacks_tbb) {
            own_threads();
            return;
        }
        start_tbb();
        using oneapi::tbb::global_control;
        // At least two: work that nobody waits for needs a thread besides those from outside.
        if (const int wanted = std::max(threads, 2); wanted > oneapi::tbb::info::default_concurrency())
            more_threads.emplace(global_control::max_allowed_parallelism, size_t(wanted));
        using Priority = oneapi::tbb::task_arena::priority;
        constexpr Priority priorities[] = {Priority::low, Priority::normal, Priority::high};
        // One slot is reserved for a thread from outside.
        for (size_t p = 0; p < 3; ++p) of[p].initialize(std::max(threads, 2), 1, priorities[p]);
    }
    OwnThreads& own_threads() {
        const std::lock_guard lock(making);
        if (!own) own = std::make_unique<OwnThreads>(threads);
        return *own;
    }

    const int threads;
    std::optional<oneapi::tbb::global_control> more_threads;
    std::array<oneapi::tbb::task_arena, 3> of;
    std::mutex making;
    std::unique_ptr<OwnThreads> own;
};

PriorityArenas::PriorityArenas(int threads) : all(std::make_unique<All>(threads)) {}
PriorityArenas::~PriorityArenas() = default;

void PriorityArenas::enqueue(Priority priority, void (*act)(void*), void* what) {
    if (lacks_tbb) return all->own_threads().enqueue(priority, [act, what] { act(what); });
    all->of[size_t(priority)].enqueue([act, what] { act(what); });
}

int PriorityArenas::slot() { return std::max(oneapi::tbb::this_task_arena::current_thread_index(), 0); }

}  // namespace pumice::cpu
