// The command queue: records commands into batches, submits them in order, and tracks progress by one timeline semaphore.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "vulkan/context.h"
#include "vulkan/hazards.h"

namespace pumice::vulkan {

class CommandRecorder;

/// Timeline values of the last command that wrote to a resource, and of the last that accessed it. Guarded by the queue's mutex.
struct TimelineUse {
    uint64_t last_write = 0, last_use = 0;
};

/// Every batch signals the next value of the timeline when it is done. Commands take effect in the order in which they are
/// recorded: two commands that conflict have a barrier between them, and every batch ends with a barrier towards device and host.
/// On an application's device, a batch also begins with a barrier, and both barriers cover everything that the application does.
///
/// The plan says how commands are collected in batches (Batching). A thread of the queue submits batches that nobody else
/// submits, unless the plan leaves that to the application, and runs calls. The thread is started when it is needed, and ends
/// with the queue. A queue that still exists when the program exits finishes its work.
///
/// A call holds back everything that is recorded after it. Commands that the call itself waits for go ahead: each call reserves
/// values of the timeline in front of its own, for commands that depend on nothing held back (ahead()). Such commands are
/// submitted at once.
class Queue {
public:
    explicit Queue(Context& context);
    /// Waits for the device and runs all retired actions.
    ~Queue();

    /// Guards the functions of the group "with the mutex held"; the caller locks it.
    std::mutex mutex;
    /// Runs when the process exits, after the queue's work, while drivers and layers still exist.
    std::function<void()> at_exit;

    // ---- with the mutex held ----
    /// The command buffer for one command with these accesses; end() follows. Several Vulkan commands may be recorded in between,
    /// if they need no barrier between them. `ahead`: the command goes ahead of everything that a call holds back; requires
    /// ahead(). `transitions`: image layouts that change before the command, with a barrier.
    VkCommandBuffer begin(std::span<const BufferAccess> accesses, bool ahead = false,
                          std::span<const VkImageMemoryBarrier> transitions = {});
    void end();
    /// A barrier inside a command: orders what was recorded since begin() before what is recorded until end().
    void order();
    /// The timeline value that is reached when the command between begin() and end() is done.
    uint64_t value() const { return front ? front->value : assigned + 1; }
    /// True if work of this value waits for a call to return.
    bool waits_for_call(uint64_t value) const { return !held.empty() && value >= held.front().value; }
    /// True if a command that depends only on values up to `after` may go ahead of what a call holds back.
    bool ahead(uint64_t after) const { return !held.empty() && std::max(after, awaiting) < held.front().value && ahead(); }
    /// True if a command that depends on nothing, not even on a signal, may go ahead of what a call holds back.
    bool ahead() const { return !held.empty() && submitted + 1 < held.front().value; }
    /// The value reached when all commands and calls so far are done.
    uint64_t last() const { return open ? assigned + 1 : assigned; }
    /// The value of the last batch given to the driver, or of the last call that has returned.
    uint64_t last_submitted() const { return submitted; }
    /// Runs `act` on the queue's thread, without the mutex, when everything recorded so far is done. Commands recorded from now
    /// on start when `act` has returned. The next wait throws what `act` throws.
    void call(std::function<void()> act);
    void submit();
    /// A semaphore and one of its values.
    struct Signal {
        VkSemaphore semaphore;
        uint64_t value;
    };
    /// Commands recorded from now on start when the semaphore has reached the value.
    void wait_for(const Signal& signal);
    /// The value of the last batch that waits for a signal.
    uint64_t awaited() const { return awaiting; }
    /// The value that the device has reached. Below value() while a batch is being recorded.
    uint64_t poll();
    /// Runs `act` (with the mutex held) once the value is reached.
    void retire(uint64_t value, std::function<void()> act);
    /// Runs the retired actions whose value is reached, and recycles finished batches.
    void collect();
    /// Number of the batch being recorded. Bindings do not carry over from one batch to another.
    uint64_t batch() const;
    /// Number of commands recorded so far.
    uint64_t recorded() const { return commands; }
    /// Binds a pipeline for the command being recorded, unless it is bound already.
    void bind(VkPipeline pipeline);
    /// A descriptor set that lives as long as the batch being recorded. For devices without push descriptors.
    VkDescriptorSet descriptor_set(VkDescriptorSetLayout layout, uint32_t descriptors);
    /// A pool for such sets.
    VkDescriptorPool new_descriptor_pool(uint32_t descriptors);
    /// A number for a batch, or for a command buffer of the application. No other one has it.
    uint64_t next_batch() { return ++batches; }
    /// True if there is work or a signal to wait for that is not given to the driver yet.
    bool has_pending() const { return open || !held.empty(); }

    // ---- without the mutex ----
    /// To be called before a command is recorded: waits while too many batches are in flight. Throws on a lost device.
    void make_room();
    /// Submits if necessary, and blocks until the value is reached; throws errors that occurred since the last wait.
    void wait(uint64_t value);
    /// True if the value is reached. Submits if necessary; never waits for the device.
    bool reached(uint64_t value);
    /// True while a call holds back what comes after it.
    bool held_back() {
        const std::lock_guard lock(mutex);
        return !held.empty();
    }
    /// True if the value is known to be reached. Does not ask the driver.
    bool is_past(uint64_t value) const { return completed >= value; }
    /// True if the current thread is inside a call: it cannot wait for commands that the call holds back.
    bool in_call() const { return caller == std::this_thread::get_id(); }
    /// The recorder that takes this thread's commands instead of the queue; null if the queue takes them.
    CommandRecorder* recorder() const;
    /// Waits for everything that no call holds back.
    void finish_unheld();
    /// Runs `act` now, as a call; the next wait throws what it throws.
    void call_now(const std::function<void()>& act);
    /// Submits everything recorded so far, and waits only for calls. The result is signalled when all of it is done. `waits`:
    /// what the batch waits for; `also`: what it signals, too.
    Signal signal(std::span<const Signal> waits = {}, std::span<const Signal> also = {});
    /// Waits for everything recorded so far.
    void finish();

    /// For tests: a log of recorded barriers, and of commands with their accesses. Set before use.
    struct AuditEntry {
        bool barrier = false;
        std::vector<BufferAccess> accesses;
    };
    std::vector<AuditEntry>* audit = nullptr;

private:
    struct Batch {
        VkCommandPool pool = VK_NULL_HANDLE;
        VkCommandBuffer commands = nullptr;
        uint64_t value = 0;
        int count = 0;
        std::vector<VkSemaphore> awaits;       // to be waited for before the batch starts
        std::vector<uint64_t> awaited_values;  // their values
        std::vector<VkSemaphore> signals;      // to be signalled, besides the timeline
        std::vector<uint64_t> signal_values;
        std::vector<VkDescriptorPool> sets;
        size_t sets_used = 0;  // pools that are full, and the one in use
    };
    struct Retired {
        uint64_t value;
        std::function<void()> act;
    };

    /// A closed batch or a call that is not handed to the driver yet, since a call comes before it.
    struct QueueItem {
        uint64_t value = 0;
        std::unique_ptr<Batch> batch;  // or
        std::function<void()> act;
    };

    std::unique_ptr<Batch> new_batch();
    void open_batch();
    /// The command, or the end of a batch, that a barrier precedes.
    enum class Follower { command, indirect, end_of_batch };
    static Follower follower(std::span<const BufferAccess> accesses);
    void barrier(const Batch& batch, Follower follower, std::span<const VkImageMemoryBarrier> transitions = {});
    bool is_due();
    bool spin(uint64_t value);
    void submit_front();
    void hand_over(std::unique_ptr<Batch> batch, VkResult result, const char* call);
    void signal_from_host(uint64_t value);
    bool await(uint64_t value, bool until_stopped = false);
    void destroy(Batch& batch);

    // queue_thread.cpp
    void attend();
    void serve();
    bool run_call(std::unique_lock<std::mutex>& lock);
    bool await_submitted(std::unique_lock<std::mutex>& lock, bool until_stopped);
    void drop_held(std::unique_lock<std::mutex>& lock);
    void run_calls(uint64_t value);
    void stop();
    void end_at_exit();
    static void end_all();
    void keep_fault(std::exception_ptr what);
    void rethrow();

    Context& context;
    VkSemaphore timeline = VK_NULL_HANDLE;
    Hazards hazards;
    std::unique_ptr<Batch> open;                   // being recorded
    std::unique_ptr<Batch> front;                  // one command being recorded, which goes ahead of what is held back
    std::deque<QueueItem> held;                    // by rising value; empty, or the first one is a call
    std::deque<std::unique_ptr<Batch>> in_flight;  // by rising value
    std::vector<std::unique_ptr<Batch>> unused;
    std::deque<Retired> retired;
    VkPipeline bound = VK_NULL_HANDLE;
    uint64_t batches = 0;      // the last number that a batch or a recording has
    uint64_t number = 0;       // of the batch being recorded
    uint64_t commands = 0;     // recorded so far
    uint64_t assigned = 0;     // value of the last closed batch or call, without those that went ahead
    uint64_t signalled = 0;    // value of the last closed batch
    uint64_t on_timeline = 0;  // the last value that is signalled, or will be by a submitted batch
    uint64_t awaiting = 0;     // value of the last batch that waits for a signal
    uint64_t submitted = 0;    // value of the last batch handed to the driver, or call that was run
    std::atomic<uint64_t> completed = 0;
    int threshold = 1;  // commands that a batch collects while the device is busy
    std::chrono::steady_clock::time_point last_submission;

    std::thread thread;                    // runs serve()
    std::thread::id serving;               // the thread's id while it runs
    std::condition_variable wake, passed;  // for the thread; for threads that wait for calls
    bool asleep = false;
    std::atomic<bool> stopping = false;   // no thread, or it is about to end; threads that wait run the calls themselves
    std::atomic<std::thread::id> caller;  // the thread that is inside a call
    std::shared_ptr<bool> gone = std::make_shared<bool>(false);  // true if a call has destroyed the queue
    std::exception_ptr fault;                                    // exception of the thread, which the next wait throws
    std::atomic<bool> faulty = false;
};

}  // namespace pumice::vulkan
