// Records commands into batches, submits them in order, and knows by one timeline semaphore how far the device has come.
#pragma once
#include <algorithm>
#include <atomic>
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

/// Every batch signals the next value of the timeline when it is done. Commands take effect in the order in which they are
/// recorded: where two conflict there is a barrier between them, and a barrier towards device and host ends every batch. On an
/// application's device there is one at its beginning, too, and both concern all that the application does.
///
/// The plan says how commands gather (Batching). A thread of the queue's own submits what nobody does, unless the plan leaves that to the
/// application, and runs what is called. It is started when there is something for it, and ends with the queue. A queue that is
/// still there when the program exits finishes its work.
///
/// A call holds back everything that is recorded after it. What the call itself waits for goes ahead of that: each call reserves
/// values of the timeline in front of its own, for commands that depend on nothing held back (ahead()). They are submitted at once.
class Queue {
public:
    explicit Queue(Context& context);
    /// Waits for the device and runs all that was retired.
    ~Queue();

    /// Guards the functions of the first group; the caller locks it.
    std::mutex mutex;
    /// Runs when the process exits, behind the queue's work, while drivers and layers are still there.
    std::function<void()> at_exit;

    // ---- with the mutex held ----
    /// Where to record one command with these accesses; end() follows. Several Vulkan commands may be recorded in between, if
    /// they need no barrier between them. `ahead`: of everything that a call holds back, where ahead() allows it.
    VkCommandBuffer begin(std::span<const Access> accesses, bool ahead = false);
    void end();
    /// Orders what is recorded next before end() behind what was recorded since begin().
    void order();
    /// The value reached when the command between begin() and end() is done.
    uint64_t value() const { return front ? front->value : assigned + 1; }
    /// True where work that comes after this value waits for a call to return.
    bool waits_for_call(uint64_t value) const { return !held.empty() && value >= held.front().value; }
    /// True where a command that comes after these values alone may go ahead of what a call holds back.
    bool ahead(uint64_t after) const { return !held.empty() && std::max(after, awaiting) < held.front().value && ahead(); }
    /// The same of one that comes after nothing, not even a signal that is waited for.
    bool ahead() const { return !held.empty() && submitted + 1 < held.front().value; }
    /// The value reached when all commands and calls so far are done.
    uint64_t last() const { return open ? assigned + 1 : assigned; }
    /// The last value that was given to the driver, or to a call that has returned.
    uint64_t last_submitted() const { return submitted; }
    /// Runs `act` on the queue's thread, without the mutex, when everything recorded so far is done; what is recorded from now on
    /// starts when it has returned. What it throws comes out of the next wait.
    void call(std::function<void()> act);
    void submit();
    /// A semaphore and one of its values.
    struct Signal {
        VkSemaphore semaphore;
        uint64_t value;
    };
    /// What is recorded from now on starts when the signal has been given.
    void wait_for(const Signal& signal);
    /// The value reached when the last signal that was waited for has been given.
    uint64_t awaited() const { return awaiting; }
    /// The value that the device has reached. Below value() while a batch is being recorded.
    uint64_t poll();
    /// Runs `act` (with the mutex held) once the value is reached.
    void retire(uint64_t value, std::function<void()> act);
    /// Runs what is due of the retired.
    void collect();
    /// Number of the batch being recorded: what was bound in another one is not bound in this.
    uint64_t batch() const { return batches; }
    /// Binds a pipeline for the command being recorded, unless it is bound already.
    void bind(VkPipeline pipeline);
    /// A descriptor set that lives as long as the batch being recorded. For devices without push descriptors.
    VkDescriptorSet descriptor_set(VkDescriptorSetLayout layout, uint32_t storage_buffers);

    // ---- without the mutex ----
    /// Before a command is recorded: waits while too many batches are in flight. Throws on a lost device.
    void make_room();
    /// Submits if need be and blocks until the value is reached; throws what went wrong since the last wait.
    void wait(uint64_t value);
    /// Submits if need be; never blocks.
    bool reached(uint64_t value);
    /// True while a call holds back what comes after it.
    bool held_back() {
        const std::lock_guard lock(mutex);
        return !held.empty();
    }
    /// True where the value is known to be reached. Makes no call to the driver.
    bool is_past(uint64_t value) const { return completed >= value; }
    /// True where the calling thread is inside a call: it cannot wait for what the call holds back.
    bool in_call() const { return caller == std::this_thread::get_id(); }
    /// Waits for everything that waits for no call to return.
    void finish_unheld();
    /// Runs `act` now, in a call; what it throws comes out of the next wait.
    void call_now(const std::function<void()>& act);
    /// Submits everything so far, for which it waits for calls only; what is reached when it is done.
    Signal signal();
    /// Waits for everything recorded so far.
    void finish();

    /// What was recorded, for tests: barriers, and commands with their accesses. Set before use.
    struct Entry {
        bool barrier = false;
        std::vector<Access> accesses;
    };
    std::vector<Entry>* audit = nullptr;

private:
    struct Batch {
        VkCommandPool pool = VK_NULL_HANDLE;
        VkCommandBuffer commands = nullptr;
        uint64_t value = 0;
        int count = 0;
        std::vector<VkSemaphore> awaits;        // before it starts
        std::vector<uint64_t> awaited_values;   // of them
        std::vector<VkDescriptorPool> sets;
        size_t sets_used = 0;  // pools that are full, and the one in use
    };
    struct Retired {
        uint64_t value;
        std::function<void()> act;
    };

    /// A batch or a call that is closed but not handed to the driver yet, since a call comes before it.
    struct Step {
        uint64_t value = 0;
        std::unique_ptr<Batch> batch;  // or
        std::function<void()> act;
    };

    std::unique_ptr<Batch> new_batch();
    void open_batch();
    void barrier(const Batch& batch, bool last);
    void barrier(const Batch& batch, VkPipelineStageFlags from, VkAccessFlags written, VkPipelineStageFlags to, VkAccessFlags used);
    void submit_front();
    void hand_over(std::unique_ptr<Batch> batch, VkResult result, const char* call);
    void signal_from_host(uint64_t value);
    bool await(uint64_t value, bool until_stopped = false);
    void destroy(Batch& batch);
    VkDescriptorPool new_descriptor_pool(uint32_t storage_buffers);

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
    std::unique_ptr<Batch> open;                  // being recorded
    std::unique_ptr<Batch> front;                 // being recorded, to go ahead of what is held: of one command
    std::deque<Step> held;                        // by rising value; empty, or the first one is a call
    std::deque<std::unique_ptr<Batch>> in_flight; // by rising value
    std::vector<std::unique_ptr<Batch>> unused;
    std::deque<Retired> retired;
    VkPipeline bound = VK_NULL_HANDLE;
    uint64_t batches = 0, commands = 0;           // begun, recorded
    uint64_t assigned = 0;                        // value of the last closed batch or call, but those that went ahead
    uint64_t signalled = 0;                       // of the last closed batch
    uint64_t on_timeline = 0;                     // the last value that is signalled, or will be by what was submitted
    uint64_t awaiting = 0;                        // of the last batch that waits for a signal
    uint64_t submitted = 0;                       // of the last one handed to the driver, or run
    std::atomic<uint64_t> completed = 0;
    int threshold = 1;                            // commands that a busy device's batch gathers

    std::thread thread;                           // runs serve()
    std::thread::id serving;                      // its number while it runs
    std::condition_variable wake, passed;         // of the thread; of those who wait for calls
    bool asleep = false;
    std::atomic<bool> stopping = false;           // no thread, or not for long; calls run in who waits for them
    std::atomic<std::thread::id> caller;          // the thread that is inside a call
    std::shared_ptr<bool> gone = std::make_shared<bool>(false);  // the queue was destroyed, by a call of its own
    std::exception_ptr fault;                     // of the thread, for the next wait
    std::atomic<bool> faulty = false;
};

}  // namespace pumice::vulkan
