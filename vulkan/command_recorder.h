// Commands that go into a command buffer of the application instead of a batch of the queue.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vulkan/hazards.h"
#include "vulkan/record.h"
#include "vulkan/staging.h"

namespace pumice::vulkan {

class VulkanDevice;
class Buffer;
class Image;
struct KeptSet;

/// Takes the place of the queue's batch on the thread that records: the queue's begin(), end() and so on call the functions of
/// the same name here. Keeps what the commands use until it is destroyed. Used by one thread at a time.
class CommandRecorder {
public:
    explicit CommandRecorder(std::shared_ptr<VulkanDevice> device);
    ~CommandRecorder();
    CommandRecorder(const CommandRecorder&) = delete;

    /// The recorder of the current thread; null if the thread does not record.
    static CommandRecorder* current();
    /// The current thread records into no command buffer while this lives.
    class Suspended {
    public:
        Suspended();
        ~Suspended();
        Suspended(const Suspended&) = delete;
        bool suspends() const { return before != nullptr; }

    private:
        CommandRecorder* const before;
    };

    void record(VkCommandBuffer into, const std::function<void()>& act, const Around& around);
    /// Throws the error for what no command buffer can hold.
    [[noreturn]] static void refuse(const std::string& what);
    /// Hands out what executions of the commands have reported so far. They are over.
    void report();
    /// Frees everything kept; the recorder is as new.
    void clear();
    /// Leaves everything kept to the device, until that is closed.
    void abandon();

    // ---- with the queue's mutex held ----
    VkCommandBuffer begin(std::span<const BufferAccess> accesses, std::span<const VkImageMemoryBarrier> transitions);
    void end();
    void order();
    void bind(VkPipeline pipeline);
    VkDescriptorSet descriptor_set(VkDescriptorSetLayout layout, uint32_t storage_buffers);
    void keep(Buffer& buffer);
    void keep(const std::shared_ptr<Executable>& executable);
    void keep(KeptSet& set);
    /// Keeps an image. The commands find it in the layout that the application leaves it in, and leave it as they promise the
    /// application; both are GENERAL for an image of Pumice's that was promised in no other.
    void borrow(Image& image);

    // ---- without ----
    /// The commands report to the host, which reads when they are over.
    void note_reports() { is_reporting = true; }
    /// Mapped memory that keeps its contents as long as the recorder lives.
    Staging::Piece take(int64_t bytes);

    const std::shared_ptr<VulkanDevice> device;
    Queue* const queue;
    uint64_t batch = 0;  ///< number among the queue's batches

private:
    struct PendingAccess {  // an application's accesses that the recorded commands have to follow, or that follow these
        BufferAccess range;
        Scope before, after;
        bool is_ordered = false, is_used = false;
    };
    void start(VkCommandBuffer into, const Around& around);
    void finish();
    void barrier(VkPipelineStageFlags from, VkAccessFlags written, VkPipelineStageFlags to, VkAccessFlags used,
                 std::span<const VkImageMemoryBarrier> transitions = {});
    void raise_messages();

    VkCommandBuffer commands = nullptr;
    Hazards hazards;
    Scope before, after;
    bool is_ordered = false;                       // after the application's commands before
    std::vector<PendingAccess> arrays;             // with scopes of their own
    VkPipelineStageFlags stages = 0;               // of the commands recorded so far
    VkPipelineStageFlags writing = 0;              // of those that write
    bool is_writing = false, is_dispatch = false;  // of the command being recorded
    bool is_reporting = false;                     // one of the commands recorded so far
    VkPipeline bound = VK_NULL_HANDLE;

    std::vector<Image*> borrowed;  // by the commands of one record()

    std::vector<std::shared_ptr<Buffer>> buffers;
    std::vector<std::shared_ptr<Image>> images;
    std::vector<std::shared_ptr<Executable>> executables;
    std::vector<KeptSet*> sets;           // of the executables
    std::vector<VkDescriptorPool> pools;  // the last one is in use
    std::vector<std::shared_ptr<MemoryBlock>> blocks;
    int64_t taken = 0;  // bytes of the last block
};

/// While the result lives, messages of the application's validation layer about calls of a recorder become Errors. Null if the
/// application has not enabled VK_EXT_debug_utils.
std::shared_ptr<void> listen_while_recording(const InstanceFunctions& functions, VkInstance instance);

}  // namespace pumice::vulkan
