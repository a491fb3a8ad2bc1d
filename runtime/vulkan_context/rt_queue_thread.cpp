// The queue's thread, which submits batches that nobody else submits; and the end of the process.
//
// The thread is started with the first batch that stays open. It looks once a millisecond while there are commands, and sleeps
// else. At exit, static objects are destroyed in reverse order of construction, also those of drivers and layers. The handler
// here is registered after the first use of a device, and so finishes the work of open devices while they still exist.
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
    pid_t process = 0;  // a forked child has the list, but not the threads
};
Running running{};

}  // namespace

void Queue::enlist() {
    pthread_mutex_lock(&running.mutex);
    if (running.process == 0) atexit(end_all);
    if (running.process != getpid()) running.first = nullptr;
    running.process = getpid();
    next_queue = running.first;
    if (next_queue) next_queue->previous_queue = this;
    running.first = this;
    pthread_mutex_unlock(&running.mutex);
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
