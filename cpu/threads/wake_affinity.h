// Where threads begin that are woken.
#pragma once

namespace pumice::cpu {

/// While it is there, the calling thread is at work. Between, from the first time until the thread ends, it is at rest: it sleeps, or is
/// about to, and wake_elsewhere() tells where it goes on.
class AtWork {
public:
    /// The thread may run again wherever it might before wake_elsewhere().
    AtWork();
    ~AtWork();
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;
};

/// Has threads at rest not begin on the calling thread's processor when they are woken next. Some schedulers put who is woken beside who
/// wakes, where it waits for its turn while other processors have nothing to do (1 to 5 ms in a virtual machine of Linux 6.18 that uses
/// as few of its processors as it can). It takes some microseconds a thread, and lasts until the thread is at work or wake_anywhere().
/// Nothing happens where the process may run on one processor only, or on more than a few, or where the system has no such means.
void wake_elsewhere();
/// Ends that for threads that have not been woken.
void wake_anywhere();

}  // namespace pumice::cpu
