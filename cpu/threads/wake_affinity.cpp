#include "cpu/threads/wake_affinity.h"

#ifdef __linux__
#include <sched.h>
#include <unistd.h>

#include <mutex>
#include <utility>
#include <vector>
#endif

namespace pumice::cpu {

#ifdef __linux__
namespace {

constexpr int few = 8;  ///< processors; with more, the next one is rarely the only free one

/// A thread of the pool. The affinity mask holds CPU_SETSIZE processors; on larger systems the calls fail, and nothing is done.
struct Worker {
    const pid_t id = gettid();
    bool resting = false, moved = false;
    cpu_set_t usual{}, narrow{};  ///< if `moved`: the affinity before, and the one set here

    Worker();
    ~Worker();
    void leave(int processor);
    void come_back();
};

struct Workers {
    std::mutex mutex;
    std::vector<Worker*> all;
};

/// Never destroyed: threads of other libraries may end after everything else.
Workers& workers() {
    static Workers& all = *new Workers;
    return all;
}

Worker::Worker() {
    const std::lock_guard lock(workers().mutex);
    workers().all.push_back(this);
}

Worker::~Worker() {
    const std::lock_guard lock(workers().mutex);
    std::erase(workers().all, this);
}

/// Excludes the processor from the thread's affinity; keeps changes that others made meanwhile.
void Worker::leave(int processor) {
    cpu_set_t now;
    if (sched_getaffinity(id, sizeof now, &now) != 0) return;
    if (!moved || !CPU_EQUAL(&now, &narrow)) usual = now;
    narrow = usual;
    CPU_CLR(processor, &narrow);
    if (CPU_COUNT(&usual) > few || CPU_COUNT(&narrow) == 0) return;
    moved = sched_setaffinity(id, sizeof narrow, &narrow) == 0;
}

void Worker::come_back() {
    cpu_set_t now;
    if (!std::exchange(moved, false)) return;
    if (sched_getaffinity(id, sizeof now, &now) == 0 && CPU_EQUAL(&now, &narrow)) sched_setaffinity(id, sizeof usual, &usual);
}

Worker& this_worker() {
    thread_local Worker worker;
    return worker;
}

}  // namespace

BusyThread::BusyThread() {
    Worker& worker = this_worker();
    const std::lock_guard lock(workers().mutex);
    worker.resting = false;
    worker.come_back();
}

BusyThread::~BusyThread() {
    Worker& worker = this_worker();
    const std::lock_guard lock(workers().mutex);
    worker.resting = true;
}

void wake_elsewhere() {
    const int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE) return;
    const std::lock_guard lock(workers().mutex);
    for (Worker* worker : workers().all)
        if (worker->resting) worker->leave(here);
}

void wake_anywhere() {
    const std::lock_guard lock(workers().mutex);
    for (Worker* worker : workers().all) worker->come_back();
}

#else

BusyThread::BusyThread() = default;
BusyThread::~BusyThread() = default;
void wake_elsewhere() {}
void wake_anywhere() {}

#endif

}  // namespace pumice::cpu
