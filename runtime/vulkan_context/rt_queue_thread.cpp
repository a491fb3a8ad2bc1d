// The queue's thread, which submits batches that nobody else submits; the end of the process, and its forks.
//
// The thread is started with the first batch that stays open. It looks once a millisecond. It submits the open batch if no
// command came since the last look, or if the batch is open for 8 looks. After 50 looks without a command it sleeps until one
// comes.
// At exit, static objects are destroyed in reverse order of construction, also those of drivers and layers, which construct them
// at their first use. The exit handler is registered after the first device has run an empty batch (rt_queue.cpp), and so
// finishes the work of open devices while these objects still exist.
// A forked process has neither this thread nor the driver's. Its devices refuse all work, and leave their objects to the parent.
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/vulkan_context/rt_queue.h"

namespace pumice_rt::vulkan {
namespace {

constexpr int idle_ticks = 50;   // ticks without a command, after which the thread sleeps until woken
constexpr int longest_open = 8;  // ticks that a batch stays open while commands arrive

/// All queues of the process.
struct Running {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    Queue* first = nullptr;
    bool ended = false;
    bool watched = false;  // forks have a handler
    bool forked = false;   // while the list was not empty
    pid_t process = 0;     // a child without the handler has the list, but not the threads
};
Running running{};

}  // namespace

bool forked_while_open() { return running.forked; }

pumice_status Queue::enlist() {
    pthread_mutex_lock(&running.mutex);
    if (!running.watched && pthread_atfork(nullptr, nullptr, leave_all_to_parent) != 0) {
        pthread_mutex_unlock(&running.mutex);
        return fail(PUMICE_ERROR_MEMORY, "the device %s cannot be opened: the process has no memory for a handler of forks",
                    context.name);
    }
    running.watched = true;
    if (running.process == 0) atexit(end_all);
    if (running.process != getpid()) running.first = nullptr;
    running.process = getpid();
    next_queue = running.first;
    if (next_queue) next_queue->previous_queue = this;
    running.first = this;
    pthread_mutex_unlock(&running.mutex);
    return PUMICE_OK;
}

/// In the child, after a fork. Its one thread holds no mutex of these; another thread of the parent may have held them.
void Queue::leave_all_to_parent() {
    running.mutex = PTHREAD_MUTEX_INITIALIZER;
    running.forked = running.forked || running.first;
    for (Queue* queue = running.first; queue; queue = queue->next_queue) queue->leave_to_parent();
}

void Queue::leave_to_parent() {
    context.leave_to_parent();
    mutex.handle = PTHREAD_MUTEX_INITIALIZER;
    completed = submitted;  // nothing waits for the device
    has_thread = false;
}

void Queue::delist() {
    pthread_mutex_lock(&running.mutex);
    if (next_queue) next_queue->previous_queue = previous_queue;
    if (previous_queue) previous_queue->next_queue = next_queue;
    if (running.first == this) running.first = next_queue;
    next_queue = previous_queue = nullptr;
    pthread_mutex_unlock(&running.mutex);
}

void Queue::end_all() {
    for (;;) {
        pthread_mutex_lock(&running.mutex);
        __atomic_store_n(&running.ended, true, __ATOMIC_RELAXED);
        Queue* const queue = running.process == getpid() ? running.first : nullptr;
        pthread_mutex_unlock(&running.mutex);
        if (!queue) return;
        queue->stop();
    }
}

void* Queue::serve_queue(void* queue) {
    static_cast<Queue*>(queue)->serve();
    return nullptr;
}

/// Makes sure that the thread serves the queue. The mutex is held.
void Queue::attend() {
    if (__builtin_expect(has_thread, true)) {
        if (asleep) {
            asleep = false;
            wake.wake_one();
        }
        return;
    }
    // If no thread can be started, the next wait submits.
    if (!stopping && !__atomic_load_n(&running.ended, __ATOMIC_RELAXED))
        has_thread = pthread_create(&thread, nullptr, serve_queue, this) == 0;
}

void Queue::serve() {
    mutex.lock();
    uint64_t seen = commands, batch = batches;
    int idle = 0, ticks = 0;
    while (!stopping) {
        if (!open && idle >= idle_ticks) {
            asleep = true;
            while (asleep && !stopping) wake.wait(mutex);
            idle = 0;
            seen = commands;
        }
        if (stopping) break;
        mutex.unlock();
        const timespec tick{0, 1'000'000};
        nanosleep(&tick, nullptr);
        mutex.lock();
        ticks = batch == batches ? ticks + 1 : 0;
        batch = batches;
        idle = commands == seen ? idle + 1 : 0;
        seen = commands;
        // Errors are found again by the next wait, as the device is lost or the validation layer has messages.
        if (open && !stopping && (idle > 0 || ticks >= longest_open)) submit();
    }
    mutex.unlock();
}

void Queue::stop() {
    delist();
    if (timeline) finish();
    mutex.lock();
    stopping = true;
    asleep = false;
    wake.wake_one();
    const bool join = has_thread;
    has_thread = false;
    mutex.unlock();
    if (join) pthread_join(thread, nullptr);
}

}  // namespace pumice_rt::vulkan
