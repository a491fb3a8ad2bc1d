#include "runtime/cpu/rt_pool.h"

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

pumice_status Pool::start(int asked) {
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

Pool::~Pool() {
    {
        const Lock lock(mutex);
        __atomic_store_n(&stops, true, __ATOMIC_SEQ_CST);
        changed.wake_all();
    }
    for (int i = 0; i < started; ++i) pthread_join(handles[i], nullptr);
    release(hooks, handles, size_t(count - 1) * sizeof(pthread_t));
}

void* Pool::thread_main(void* pool) {
    static_cast<Pool*>(pool)->work();
    return nullptr;
}

void Pool::run(int n, Body* function, void* with) {
    if (n <= 0) return;
    if (n == 1 || count == 1) {
        for (int part = 0; part < n; ++part) function(with, part);
        return;
    }
    if (hooks.parallel) return hooks.parallel(hooks.user, n, function, with);
    if (pthread_mutex_trylock(&one_job.handle) != 0) {
        for (int part = 0; part < n; ++part) function(with, part);
        return;
    }
    body = function, context = with, parts = n;
    __atomic_store_n(&next, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&done, 0, __ATOMIC_RELAXED);
    __atomic_fetch_add(&job, 1, __ATOMIC_SEQ_CST);  // odd: open
    if (__atomic_load_n(&watching, __ATOMIC_SEQ_CST) < started) {
        const Lock lock(mutex);
        changed.wake_all();
    }
    take_parts();
    // Threads leave the job before the next one overwrites it.
    __atomic_fetch_add(&job, 1, __ATOMIC_SEQ_CST);
    for (int spins = 0; __atomic_load_n(&done, __ATOMIC_ACQUIRE) < n || __atomic_load_n(&busy, __ATOMIC_SEQ_CST) > 0; ++spins) {
        relax();
        if (spins % 4096 == 4095) sched_yield();
    }
    one_job.unlock();
}

void Pool::take_parts() {
    for (;;) {
        const int part = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
        if (part >= parts) return;
        body(context, part);
        __atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
    }
}

/// Waits until there is a job that this thread has not seen; false: the pool stops.
bool Pool::watch(uint32_t& seen) {
    const auto fresh = [&] {
        const uint32_t now = __atomic_load_n(&job, __ATOMIC_SEQ_CST);
        return (now & 1) != 0 && now != seen;
    };
    __atomic_fetch_add(&watching, 1, __ATOMIC_SEQ_CST);
    const int64_t until = clock_ns() + watch_ns;
    while (!fresh() && !__atomic_load_n(&stops, __ATOMIC_RELAXED) && clock_ns() < until)
        for (int i = 0; i < 32 && !fresh(); ++i) relax();
    __atomic_fetch_sub(&watching, 1, __ATOMIC_SEQ_CST);
    if (!fresh()) {
        const Lock lock(mutex);
        while (!fresh() && !__atomic_load_n(&stops, __ATOMIC_SEQ_CST)) changed.wait(mutex);
    }
    return !__atomic_load_n(&stops, __ATOMIC_SEQ_CST);
}

void Pool::work() {
    uint32_t seen = 0;
    while (watch(seen)) {
        __atomic_fetch_add(&busy, 1, __ATOMIC_SEQ_CST);
        // The job may have closed since: its number is then even, or another one's.
        const uint32_t now = __atomic_load_n(&job, __ATOMIC_SEQ_CST);
        if (now & 1) seen = now, take_parts();
        __atomic_fetch_sub(&busy, 1, __ATOMIC_SEQ_CST);
    }
}

}  // namespace pumice_rt
