// The threads of the device cpu: parallel loops by a pool of the runtime's own, or by the application's hook.
//
//   run(parts, body)   parts [0, parts) are handed out one after another to the calling thread and the pool's
//
// Method: a job is a counter of parts. The caller publishes it, takes parts itself, and waits until the last one is done. Threads that have
// just worked watch for the next job for some microseconds, and sleep then. One job runs at a time; a second caller meanwhile runs its
// parts alone, so that calls from several threads never wait for each other.
// Cost: about a microsecond while the threads watch, some ten to wake them. Limits: no priorities.
// Textbook name: self-scheduling (guided by the caller, which chooses the parts) with a central counter.
#pragma once
#include "runtime/support/hook_memory.h"
#include "runtime/support/lock.h"
#include "runtime/support/status.h"

namespace pumice_rt {

class Pool {
public:
    using Body = void(void* context, int part);

    explicit Pool(const pumice_hooks& with) : hooks(with) {}
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    /// Starts the threads; with a hook none are started. `asked`: their number, with the calling one; 0: one for each processor.
    pumice_status start(int asked);

    int threads() const { return count; }
    /// True while threads watch for work, so that a short job is worth sharing.
    bool awake() const { return hooks.parallel || __atomic_load_n(&watching, __ATOMIC_RELAXED) > 0; }
    void run(int parts, Body* body, void* context);

private:
    static void* thread_main(void* pool);
    void work();
    bool watch(uint32_t& seen);
    void take_parts();

    const pumice_hooks& hooks;
    int count = 1, started = 0;
    pthread_t* handles = nullptr;
    Mutex one_job;  ///< held by the caller whose job runs
    Mutex mutex;    ///< guards sleeping and waking
    Condition changed;
    // The job, valid while `busy` threads may be in it.
    Body* body = nullptr;
    void* context = nullptr;
    int parts = 0;
    alignas(64) int next = 0;
    alignas(64) int done = 0;
    alignas(64) uint32_t job = 0;  ///< its number; odd: open to threads
    int busy = 0, watching = 0;
    bool stops = false;
};

}  // namespace pumice_rt
