// The threads of the device cpu: parallel loops by a pool of the runtime's own, or by the application's hook.
//
//   run(parts, body)   parts [0, parts) are handed out one after another to the calling thread and the pool's
//
// Method: a job is a counter of parts. The caller publishes it, takes parts itself, and waits until the last one is done. Threads
// that have just worked watch for the next job for some microseconds, and sleep then. One job of each priority runs at a time; a
// second caller meanwhile runs its parts alone, so that calls from several threads never wait for each other. Threads take parts
// of the most urgent job, and a part may end early for a more urgent one: the job's caller, or a thread that comes back, takes it
// again.
// Cost: about a microsecond while the threads watch, some ten to wake them. Limits: the caller of a job stays with it; in a child
// after a fork it is alone.
// Textbook name: self-scheduling (guided by the caller, which chooses the parts) with a central counter.
#pragma once
#include "runtime/support/forks.h"
#include "runtime/support/hook_memory.h"
#include "runtime/support/lock.h"
#include "runtime/support/status.h"

namespace pumice_rt {

/// Priorities of jobs and streams: those of pumice_stream_create, counted from 0.
constexpr int priorities = 3;

class ThreadPool {
public:
    using Body = void(void* context, int part);

    explicit ThreadPool(const pumice_hooks& with) : hooks(with) {}
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;
    /// Starts the threads; with a hook none are started. `asked`: their number, with the calling one; 0: one for each processor.
    pumice_status start(int asked);

    int threads() const { return count; }
    /// True in a child after a fork, which lacks the threads.
    bool is_of_parent() const { return forks != made_in; }
    /// True while threads watch for work, so that a short job is worth sharing.
    bool awake() const { return hooks.parallel || __atomic_load_n(&watching, __ATOMIC_RELAXED) > 0; }
    void run(int parts, Body* body, void* context, int priority);
    /// True if a more urgent job has parts to take. A body that may end early asks, but not on the thread that called run().
    bool urgent(int than) const;
    /// Before a body returns early: its part will be run again. The job has the priority.
    void leave(int priority, int part) { __atomic_store_n(&jobs[priority].left, part, __ATOMIC_SEQ_CST); }

private:
    /// Valid while `busy` threads may be in it.
    struct Job {
        Mutex alone;  ///< held by the caller
        Body* body = nullptr;
        void* context = nullptr;
        int parts = 0;
        alignas(64) int next = 0;
        int left = -1;  ///< a part that ended early; a body that is run for one of several such parts does what all have left
        alignas(64) int done = 0;
        alignas(64) uint32_t number = 0;  ///< odd: open to threads
        int busy = 0;

        bool waits() const {
            return __atomic_load_n(&next, __ATOMIC_RELAXED) < __atomic_load_n(&parts, __ATOMIC_RELAXED) ||
                   __atomic_load_n(&left, __ATOMIC_RELAXED) >= 0;
        }
        bool open() const { return (__atomic_load_n(&number, __ATOMIC_SEQ_CST) & 1) != 0 && waits(); }
        /// `helper`: the pool, in its threads, which leave for more urgent jobs; null: the caller.
        void take_parts(const ThreadPool* helper, int priority);
        bool take_left();
    };
    static void* thread_main(void* pool);
    void work();
    bool watch();
    bool open() const { return urgent(-1); }

    const pumice_hooks& hooks;
    const uint32_t made_in = forks;
    int count = 1, started = 0;
    pthread_t* handles = nullptr;
    Mutex mutex;  ///< guards sleeping and waking
    Condition changed;
    Job jobs[priorities];
    int watching = 0;
    bool stops = false;
};

}  // namespace pumice_rt
