// The command queue: records commands into batches, submits them in order, and tracks progress by one timeline semaphore.
#pragma once
#include "runtime/support/lock.h"
#include "runtime/vulkan_context/rt_context.h"
#include "runtime/vulkan_context/rt_hazards.h"

namespace pumice_rt::vulkan {

/// Every batch signals the next value of the timeline when it is done. Commands take effect in the order in which they are
/// recorded: two commands that conflict have a barrier between them, and every batch ends with a barrier towards device and host.
/// On an application's device, a batch also begins with a barrier, and both barriers cover everything that the application does.
class Queue {
public:
    explicit Queue(Context& context) : context(context), hazards(context.hooks) {}
    /// Waits for the device.
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    pumice_status start();
    /// Waits for all work, and ends the thread. Errors are dropped.
    void stop();

    /// Guards the functions of the group "with the mutex held"; the caller locks it.
    Mutex mutex;

    // ---- with the mutex held ----
    /// The command buffer for one command with these accesses; end() follows. Several Vulkan commands may be recorded in between,
    /// if they need no barrier between them.
    pumice_status begin(const BufferAccess* accesses, uint32_t count, VkCommandBuffer& commands, bool indirect = false);
    pumice_status end();
    /// A barrier inside a command: orders what was recorded since begin() before what is recorded until end().
    void order() { barrier(*open, false, false); }
    /// The timeline value that is reached when the command between begin() and end() is done, and all before it.
    uint64_t value() const { return submitted + 1; }
    /// The value reached when all commands so far are done.
    uint64_t last() const { return open ? submitted + 1 : submitted; }
    pumice_status submit();
    /// Commands recorded from now on start when the semaphore has reached the value.
    pumice_status wait_for(VkSemaphore semaphore, uint64_t value);
    /// The value of the last batch that waits for a semaphore.
    uint64_t awaited() const { return awaiting; }
    /// The value that the device has reached.
    uint64_t poll();
    /// Submits if necessary, and blocks until the value is reached. Releases the mutex meanwhile if `unlocked`.
    pumice_status await(uint64_t value, bool unlocked);
    /// Number of the batch being recorded. Bindings do not carry over from one batch to another.
    uint64_t batch() const { return batches; }
    /// Binds a pipeline for the command being recorded, unless it is bound already.
    void bind(VkPipeline pipeline);
    /// A descriptor set that lives as long as the batch being recorded. For devices without push descriptors.
    pumice_status descriptor_set(VkDescriptorSetLayout layout, uint32_t storage_buffers, VkDescriptorSet& set);
    /// To be called before a command is recorded: waits while too many batches are in flight, and releases the mutex meanwhile.
    pumice_status make_room();

    // ---- without the mutex ----
    /// Submits if necessary, and blocks until the value is reached.
    pumice_status wait(uint64_t value);
    /// True if the value is reached, or the device is lost, which a wait then tells. Submits if necessary; never waits for the
    /// device.
    bool reached(uint64_t value);
    /// Waits for everything recorded so far.
    pumice_status finish();
    VkSemaphore semaphore() const { return timeline; }

private:
    static constexpr uint32_t most_awaits = 8;
    struct Batch {
        explicit Batch(const pumice_hooks& hooks) : sets(hooks) {}
        VkCommandPool pool = VK_NULL_HANDLE;
        VkCommandBuffer commands = nullptr;
        uint64_t value = 0;
        uint32_t count = 0, await_count = 0;
        VkSemaphore awaits[most_awaits];       // to be waited for before the batch starts
        uint64_t awaited_values[most_awaits];  // their values
        List<VkDescriptorPool> sets;
        size_t sets_used = 0;  // pools that are full, and the one in use
        Batch* next = nullptr;
    };

    pumice_status open_batch();
    pumice_status new_batch(Batch*& batch);
    bool is_due();
    void barrier(const Batch& batch, bool last, bool indirect);
    pumice_status hand_over(Batch* batch, VkResult result, const char* call);
    pumice_status await_submitted(uint64_t value);
    void collect();
    void destroy_batch(Batch* batch);
    pumice_status new_descriptor_pool(Batch& batch, uint32_t storage_buffers);

    // rt_queue_thread.cpp
    void attend();
    void serve();
    static void* serve_queue(void* queue);
    static void end_all();
    static void leave_all_to_parent();
    void leave_to_parent();
    pumice_status enlist();
    void delist();

    Context& context;
    VkSemaphore timeline = VK_NULL_HANDLE;
    Hazards hazards;
    Batch* open = nullptr;                                  // being recorded
    Batch *in_flight = nullptr, *last_in_flight = nullptr;  // by rising value
    uint32_t in_flight_count = 0;
    Batch* unused = nullptr;
    VkPipeline bound = VK_NULL_HANDLE;
    uint64_t batches = 0, commands = 0;  // numbers of batches begun and commands recorded
    uint64_t awaiting = 0;
    uint64_t submitted = 0;  // value of the last batch handed to the driver
    uint64_t completed = 0;
    uint32_t threshold = 1;       // commands that a batch collects while the device is busy
    int64_t last_submission = 0;  // ns of the monotonic clock

    pthread_t thread{};
    Condition wake;
    bool has_thread = false, asleep = false, stopping = false;
    Queue *next_queue = nullptr, *previous_queue = nullptr;  // of the process
};

}  // namespace pumice_rt::vulkan
