// Records commands into batches, submits them in order, and knows by one timeline semaphore how far the device has come.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "vulkan/context.h"
#include "vulkan/hazards.h"

namespace pumice::vulkan {

/// Every batch signals the next value of the timeline when it is done. Commands take effect in the order in which they are
/// recorded: where two conflict there is a barrier between them, and a barrier towards device and host ends every batch.
///
/// A batch is submitted at once when the device has nothing else to do; while it is busy, up to 64 commands gather.
class Queue {
public:
    explicit Queue(Context& context);
    /// Waits for the device and runs all that was retired.
    ~Queue();

    /// Guards the functions of the first group; the caller locks it.
    std::mutex mutex;

    // ---- with the mutex held ----
    /// Where to record one command with these accesses; end() follows. Several Vulkan commands may be recorded in between, if
    /// they need no barrier between them.
    VkCommandBuffer begin(std::span<const Access> accesses);
    void end();
    /// The value reached when the command between begin() and end() is done.
    uint64_t value() const { return submitted + 1; }
    /// The value reached when all commands so far are done.
    uint64_t last() const { return open ? submitted + 1 : submitted; }
    void submit();
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
    /// Submits if need be and blocks until the value is reached.
    void wait(uint64_t value);
    /// Submits if need be; never blocks.
    bool reached(uint64_t value);
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
        std::vector<VkDescriptorPool> sets;
        size_t sets_used = 0;  // pools that are full, and the one in use
    };
    struct Retired {
        uint64_t value;
        std::function<void()> act;
    };

    void open_batch();
    void barrier(bool to_host);
    void finish_submission(VkResult result, const char* call);
    void await(uint64_t value);
    void destroy(Batch& batch);
    VkDescriptorPool new_descriptor_pool(uint32_t storage_buffers);

    Context& context;
    VkSemaphore timeline = VK_NULL_HANDLE;
    Hazards hazards;
    std::unique_ptr<Batch> open;                  // being recorded
    std::deque<std::unique_ptr<Batch>> in_flight; // by rising value
    std::vector<std::unique_ptr<Batch>> unused;
    std::deque<Retired> retired;
    VkPipeline bound = VK_NULL_HANDLE;
    uint64_t batches = 0;
    uint64_t submitted = 0;
    std::atomic<uint64_t> completed = 0;
    int threshold = 1;                            // commands that a busy device's batch gathers
};

}  // namespace pumice::vulkan
