#include "cpu/threads/priority_arenas.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <optional>

namespace pumice::cpu {

struct PriorityArenas::All {
    explicit All(int threads) {
        using oneapi::tbb::global_control;
        // At least two: work that nobody waits for needs a thread besides those from outside.
        if (const int wanted = std::max(threads, 2); wanted > oneapi::tbb::info::default_concurrency())
            more_threads.emplace(global_control::max_allowed_parallelism, size_t(wanted));
        using Priority = oneapi::tbb::task_arena::priority;
        constexpr Priority priorities[] = {Priority::low, Priority::normal, Priority::high};
        // One slot is reserved for a thread from outside.
        for (size_t p = 0; p < 3; ++p) of[p].initialize(std::max(threads, 2), 1, priorities[p]);
    }
    std::optional<oneapi::tbb::global_control> more_threads;
    std::array<oneapi::tbb::task_arena, 3> of;
};

PriorityArenas::PriorityArenas(int threads) : all(std::make_unique<All>(threads)) {}
PriorityArenas::~PriorityArenas() = default;

void PriorityArenas::enqueue(Priority priority, void (*act)(void*), void* what) {
    all->of[size_t(priority)].enqueue([act, what] { act(what); });
}

int PriorityArenas::slot() { return std::max(oneapi::tbb::this_task_arena::current_thread_index(), 0); }

}  // namespace pumice::cpu
