// Wake affinity: the processor on which a woken thread begins.
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
/// Ends that for threads that have not been woken.
void wake_anywhere();

}  // namespace pumice::cpu
