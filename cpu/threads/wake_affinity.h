// Wake affinity: keeps a woken thread from beginning on the processor of the thread that wakes it.
//
// Why: some schedulers put a woken thread on the waking thread's processor, where it waits although others are idle (1 to 5 ms in
// a virtual machine of Linux 6.18 that uses as few of its processors as it can).
//
//     without:  cpu 0: launch ---- works on ----------    the woken thread waits for cpu 0; cpu 1 idles
//     with:     cpu 0: launch ---- works on ---           the woken thread may run on all processors but cpu 0,
//               cpu 1:         woken --------             until it is at work; then it has its old affinity again
//
// Method: the affinity mask of threads at rest excludes the waking thread's processor. The pool does this only after a thread was
// seen to begin late (cpu/threads/thread_pool.cpp).
// Cost: some microseconds a thread. Limits: Linux; up to 8 processors, as with more the next one is rarely the only free one; not
// if the process may run on one processor only. A change that others make to the affinity meanwhile is kept. Field's name: CPU
// affinity (sched_setaffinity); Linux calls its scheduler's rule wake_affine.
#pragma once

namespace pumice::cpu {

/// While it lives, the calling thread is at work. From the end of the first one until the thread ends, the thread is at rest in
/// between: it sleeps or is about to, and wake_elsewhere() applies to it.
class BusyThread {
public:
    /// Restores the affinity from before wake_elsewhere().
    BusyThread();
    ~BusyThread();
    BusyThread(const BusyThread&) = delete;
    BusyThread& operator=(const BusyThread&) = delete;
};

/// Keeps threads at rest from beginning on the calling thread's processor when they are woken next. Some schedulers wake a thread
/// on the waking thread's processor, where it waits while other processors are idle (1 to 5 ms in a virtual machine of Linux 6.18
/// that uses as few of its processors as it can). Costs some microseconds a thread, and lasts until the thread is at work or
/// wake_anywhere(). Does nothing if the process may run on one processor only, or on more than a few, or if the system has no
/// such call.
void wake_elsewhere();
/// Gives the threads that have not been woken their affinity from before wake_elsewhere() back.
void wake_anywhere();

}  // namespace pumice::cpu
