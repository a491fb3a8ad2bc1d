#include "runtime/cpu/rt_thread_pool.h"

#include <time.h>
#include <unistd.h>

namespace pumice_rt {
namespace {

constexpr int most_threads = 1024;
constexpr int64_t watch_ns = 50'000;  ///< time for which a thread without work watches before it sleeps

int64_t clock_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

pumice_status ThreadPool::start(int asked) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    count = asked > 0 ? asked : processors > 0 ? int(processors) : 1;
    if (count > most_threads) count = most_threads;
    if (hooks.parallel || count == 1) return PUMICE_OK;
    handles = static_cast<pthread_t*>(allocate(hooks, size_t(count - 1) * sizeof(pthread_t)));
    if (!handles) return fail(PUMICE_ERROR_MEMORY, "the threads of cpu cannot be started: the system gives no more memory");
    // Fewer threads than asked for are no error: the launch then runs on those.
    while (started < count - 1 && pthread_create(&handles[started], nullptr, thread_main, this) == 0) ++started;
    return PUMICE_OK;
}

ThreadPool::~ThreadPool() {
    {
        const Lock lock(mutex);
        __atomic_store_n(&stops, true, __ATOMIC_SEQ_CST);
        changed.wake_all();
    }
    for (int i = 0; i < started; ++i) pthread_join(handles[i], nullptr);
    release(hooks, handles, size_t(count - 1) * sizeof(pthread_t));
}

void* ThreadPool::thread_main(void* pool) {
    static_cast<ThreadPool*>(pool)->work();
    return nullptr;
}

void ThreadPool::run(int n, Body* function, void* with, int priority) {
    if (n <= 0) return;
    if (hooks.parallel && n > 1 && count > 1) return hooks.parallel(hooks.user, n, function, with);
    Job& job = jobs[priority];
    if (n == 1 || count == 1 || is_of_parent() || pthread_mutex_trylock(&job.alone.handle) != 0) {
        for (int part = 0; part < n; ++part) function(with, part);
        return;
    }
    job.body = function, job.context = with;
    __atomic_store_n(&job.next, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&job.parts, n, __ATOMIC_RELAXED);
    __atomic_store_n(&job.done, 0, __ATOMIC_RELAXED);
    __atomic_fetch_add(&job.number, 1, __ATOMIC_SEQ_CST);  // odd: open
    if (__atomic_load_n(&watching, __ATOMIC_SEQ_CST) < started) {
        const Lock lock(mutex);
        changed.wake_all();
    }
    job.take_parts(nullptr, priority);
    // Threads leave the job before the next one overwrites it.
    __atomic_fetch_add(&job.number, 1, __ATOMIC_SEQ_CST);
    for (int spins = 0;;) {
        const bool ended = __atomic_load_n(&job.done, __ATOMIC_ACQUIRE) == n && __atomic_load_n(&job.busy, __ATOMIC_SEQ_CST) == 0;
        if (job.take_left()) continue;
        if (ended) break;
        relax();
        if (++spins % 4096 == 0) sched_yield();
    }
    job.alone.unlock();
}

void ThreadPool::Job::take_parts(const ThreadPool* helper, int priority) {
    while (!helper || !helper->urgent(priority)) {
        const int part = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
        if (part >= parts) return void(take_left());
        body(context, part);
        __atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
    }
}

bool ThreadPool::Job::take_left() {
    if (__atomic_load_n(&left, __ATOMIC_RELAXED) < 0) return false;
    const int part = __atomic_exchange_n(&left, -1, __ATOMIC_SEQ_CST);
    if (part >= 0) body(context, part);
    return part >= 0;
}

bool ThreadPool::urgent(int than) const {
    for (int p = priorities - 1; p > than; --p)
        if (jobs[p].open()) return true;
    return false;
}

/// Waits until there is a job with parts to take; false: the pool stops.
bool ThreadPool::watch() {
    __atomic_fetch_add(&watching, 1, __ATOMIC_SEQ_CST);
    const int64_t until = clock_ns() + watch_ns;
    while (!open() && !__atomic_load_n(&stops, __ATOMIC_RELAXED) && clock_ns() < until)
        for (int i = 0; i < 32 && !open(); ++i) relax();
    __atomic_fetch_sub(&watching, 1, __ATOMIC_SEQ_CST);
    if (!open()) {
        const Lock lock(mutex);
        while (!open() && !__atomic_load_n(&stops, __ATOMIC_SEQ_CST)) changed.wait(mutex);
    }
    return !__atomic_load_n(&stops, __ATOMIC_SEQ_CST);
}

void ThreadPool::work() {
    while (watch())
        for (int p = priorities - 1; p >= 0; --p) {
            Job& job = jobs[p];
            if (!job.open()) continue;
            __atomic_fetch_add(&job.busy, 1, __ATOMIC_SEQ_CST);
            // The job may have closed since: its number is then even, or another one's.
            if (job.open()) job.take_parts(this, p);
            __atomic_fetch_sub(&job.busy, 1, __ATOMIC_SEQ_CST);
            break;
        }
}

}  // namespace pumice_rt
