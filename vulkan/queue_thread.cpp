// The queue's own thread: submits batches that nobody else submits, and runs host calls between commands.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <system_error>
#include <utility>

#include "core/support/error.h"
#include "vulkan/queue.h"

namespace pumice::vulkan {
namespace {

// Short enough that a device does not idle for long, and long enough to cost nothing.
constexpr std::chrono::milliseconds tick{1};
constexpr int idle_ticks = 50;   // ticks without a command, after which the thread sleeps until woken
constexpr int longest_open = 8;  // ticks that a batch stays open while commands arrive
// Timeline values reserved before a call's, for commands that go ahead of it; and the largest gap on the timeline: some devices
// allow at most 2^31 - 1 between the current value and a pending one.
constexpr uint64_t reserved = 1 << 24, longest_leap = 1 << 30;

/// All existing queues. At exit, static objects are destroyed in reverse order of construction, also those of drivers and layers.
/// Our handler is registered after the first device has run an empty batch, and so runs while they still exist.
struct Running {
    std::mutex mutex;
    std::set<Queue*> queues;
    bool ended = false;
    pid_t process = 0;  // a forked child has the list, but not the threads
};
Running& running() {
    static Running& all = *new Running;  // never destroyed
    return all;
}

}  // namespace

void Queue::end_at_exit() {
    const std::lock_guard lock(running().mutex);
    if (running().process == 0) std::atexit(end_all);
    if (running().process != getpid()) running().queues.clear();
    running().process = getpid();
    running().queues.insert(this);
}

void Queue::end_all() {
    std::set<Queue*> queues;
    {
        const std::lock_guard lock(running().mutex);
        if (running().process != getpid()) return;
        running().ended = true;
        queues = running().queues;
    }
    for (Queue* queue : queues) {
        try {
            queue->finish();
        } catch (...) {}
        queue->stop();
        if (queue->at_exit) queue->at_exit();
    }
}

/// Makes sure that the thread serves the queue. The mutex is held.
void Queue::attend() {
    if (serving != std::thread::id()) {
        if (asleep) {
            asleep = false;
            wake.notify_one();
        }
        return;
    }
    if (stopping) return;
    const std::lock_guard lock(running().mutex);
    if (running().ended) {
        stopping = true;
        return;
    }
    try {
        thread = std::thread([this] { serve(); });
        serving = thread.get_id();
    } catch (const std::system_error&) {
        // No thread can be started now: waiting threads do its work.
    }
}

/// Ends the thread; waiting threads do its work from now on. Without the mutex.
void Queue::stop() {
    {
        const std::lock_guard lock(mutex);
        stopping = true;
        asleep = false;
    }
    wake.notify_one();
    {
        const std::lock_guard lock(running().mutex);
        running().queues.erase(this);
    }
    if (!thread.joinable()) return;
    if (thread.get_id() == std::this_thread::get_id()) {  // a call has released the device, or ends the program
        *gone = true;
        thread.detach();
    } else {
        thread.join();
    }
    const std::lock_guard lock(mutex);
    serving = {};
}

void Queue::serve() {
    const std::shared_ptr<bool> ended = gone;
    std::unique_lock lock(mutex);
    uint64_t seen = commands, batch = number;
    int idle = 0, ticks = 0;
    while (!stopping) {
        if (!held.empty()) {
            if (!run_call(lock) || *ended) return;
            idle = 0;
            continue;
        }
        if ((!open || !context.plan.batching.by_thread) && idle >= idle_ticks) {
            asleep = true;
            wake.wait(lock, [&] { return !asleep || stopping; });
            idle = 0;
            seen = commands;
        }
        if (!held.empty()) continue;
        wake.wait_for(lock, tick);
        ticks = batch == number ? ticks + 1 : 0;
        batch = number;
        idle = commands == seen ? idle + 1 : 0;
        if (open && !stopping && context.plan.batching.by_thread && (idle > 0 || ticks >= longest_open)) {
            try {
                submit();
            } catch (...) {
                keep_fault(std::current_exception());
                if (open && context.is_lost()) destroy(*std::exchange(open, nullptr));  // it cannot be submitted any more
            }
        }
        seen = commands;
    }
}

void Queue::call(std::function<void()> act) {
    submit();
    assigned += reserved + 1;
    held.push_back({assigned, nullptr, std::move(act)});
    attend();
    wake.notify_one();
}

/// Runs the first held step, which is a call, and submits the batches up to the next call. Releases the lock meanwhile. Returns
/// false, without the lock, if the queue is being stopped or is destroyed.
bool Queue::run_call(std::unique_lock<std::mutex>& lock) {
    const std::shared_ptr<bool> ended = gone;
    const bool on_thread = serving == std::this_thread::get_id();
    const uint64_t value = held.front().value;
    const std::thread::id outer = caller.exchange(std::this_thread::get_id());  // locked: no other thread runs the call
    std::function<void()> act;
    try {
        if (!await_submitted(lock, on_thread)) {
            caller = outer;
            return false;
        }
        act = std::move(held.front().act);
        lock.unlock();
        call_now(act);
        if (*ended) return false;
        lock.lock();
        // Commands that went ahead have lower values than the call, which the timeline skips.
        await_submitted(lock, false);
    } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        caller = outer;
        drop_held(lock);
        return true;
    }
    caller = outer;
    completed = submitted = value;
    held.pop_front();
    try {
        if (value - on_timeline > longest_leap) signal_from_host(value);
    } catch (...) { keep_fault(std::current_exception()); }
    while (!held.empty() && held.front().batch) {
        std::unique_ptr<Batch> batch = std::move(held.front().batch);
        held.pop_front();
        try {
            hand_over(std::move(batch), VK_SUCCESS, "");
        } catch (...) { keep_fault(std::current_exception()); }
    }
    passed.notify_all();
    // The call may hold the last handle of this device.
    lock.unlock();
    act = nullptr;
    if (*ended) return false;
    lock.lock();
    return true;
}

/// Blocks until everything submitted is done. Releases the lock meanwhile. Returns false, without the lock, if the thread must
/// stop before that.
bool Queue::await_submitted(std::unique_lock<std::mutex>& lock, bool until_stopped) {
    while (completed < submitted) {
        const uint64_t value = submitted;
        lock.unlock();
        if (!await(value, until_stopped)) return false;
        lock.lock();
        if (completed < value) completed = value;
    }
    return true;
}

/// After a failed wait, mostly a device loss: drops the held steps, whose values are never reached.
void Queue::drop_held(std::unique_lock<std::mutex>& lock) {
    keep_fault(std::current_exception());
    for (QueueItem& step : held)
        if (step.batch) destroy(*step.batch);
    std::deque<QueueItem> dropped = std::move(held);
    held.clear();
    // On a lost device every wait throws, and the driver may still use what it was given.
    if (!context.is_lost()) completed = submitted = assigned;
    passed.notify_all();
    lock.unlock();
    dropped.clear();  // calls may hold memory, whose release takes the lock
    lock.lock();
}

void Queue::call_now(const std::function<void()>& act) {
    const std::shared_ptr<bool> ended = gone;
    try {
        act();
    } catch (...) {
        if (*ended) return;
        const std::lock_guard lock(mutex);
        keep_fault(std::current_exception());
    }
}

/// Before a wait: blocks until all calls up to the value have run; runs them here if there is no thread for them.
void Queue::run_calls(uint64_t value) {
    std::unique_lock lock(mutex);
    if (!waits_for_call(value)) return;
    if (in_call()) throw Error("a function that a stream calls waits for work that comes after it");
    const bool own = serving == std::this_thread::get_id();
    while (submitted < value && !held.empty()) {
        const bool theirs = !own && (serving != std::thread::id() || caller.load() != std::thread::id());
        if (theirs)
            passed.wait_for(lock, tick);  // a timeout, since the thread may end
        else if (!run_call(lock))
            return;
    }
}

/// Keeps the first exception, which the next wait throws. The mutex is held.
void Queue::keep_fault(std::exception_ptr what) {
    if (!fault) fault = std::move(what);
    faulty = true;
}

void Queue::rethrow() {
    std::unique_lock lock(mutex);
    faulty = false;
    if (const std::exception_ptr error = std::exchange(fault, nullptr)) {
        lock.unlock();
        std::rethrow_exception(error);
    }
}

}  // namespace pumice::vulkan
