// The Vulkan instance that the process shares, and one logical device, made with the features and extensions of the plan.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/vulkan_rules/object_rules.h"
#include "vulkan/object_names.h"
#include "vulkan/plan.h"
#include "vulkan/wrap.h"

namespace pumice::vulkan {

using pumice_rt::vulkan::is_fault;

/// Messages of the validation layer, of all devices. Thread-safe.
class Messages {
public:
    void add(std::string message);
    /// All messages since the last call, one a line; "" if there are none.
    std::string take();

private:
    std::mutex mutex;
    std::vector<std::string> waiting;
};

/// One for the process (and one with validation), made at the first use and never destroyed: at exit, the static objects of
/// drivers may be gone already.
class Instance {
public:
    /// Null with `reason` set if there is no loader or driver, or if validation is requested and its layer is missing.
    static Instance* get(bool validate, std::string& reason);
    std::vector<VkPhysicalDevice> physical_devices() const;

    InstanceFunctions vk;
    Messages messages;
    bool validates = false;

private:
    Instance() = default;
    std::string create(const GlobalFunctions& global, bool validate);

    VkInstance handle = nullptr;
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
};

/// The source of a logical device: made from the physical one, or an application's.
struct Origin {
    InstanceFunctions vk;
    VkPhysicalDevice physical = nullptr;
    Messages* messages = nullptr;              ///< null: no validation
    const Application* application = nullptr;  ///< null: the device is to be made
};

/// A logical device and its one queue. Destruction needs an idle queue and no remaining objects.
class Context {
public:
    /// Makes the device by the plan, unless it is an application's; throws Error if the driver refuses.
    Context(const Origin& origin, Snapshot snapshot, DevicePlan plan, std::string name);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// Throws an Error that names the call and its result, unless it is VK_SUCCESS. Remembers a lost device.
    void check(VkResult result, const char* call);
    /// Throws if the device was lost.
    void require_alive() const;
    bool is_lost() const { return lost; }
    /// Throws the validation messages since the last call.
    void raise_messages();
    // The queue's two functions; they do not throw.
    VkResult submit(const VkSubmitInfo& info);
    VkResult wait_idle();
    /// Records one global memory barrier, with changes of image layouts: drivers treat it no worse than many buffer barriers, and
    /// the tracker can forget everything before it.
    void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written, VkPipelineStageFlags to,
                 VkAccessFlags used, std::span<const VkImageMemoryBarrier> transitions = {}) const;
    /// A set of the pool; null if the pool is full, which is an error if it is `fresh`.
    VkDescriptorSet descriptor_set(VkDescriptorPool pool, VkDescriptorSetLayout layout, bool fresh);
    /// The description of a buffer for arrays or staging, of this size.
    VkBufferCreateInfo buffer_info(int64_t bytes) const;

    const std::string name;  ///< "vulkan:0 llvmpipe (...)"
    Snapshot snapshot;       ///< this and the plan do not change after construction
    DevicePlan plan;
    const bool validates;  ///< validation messages are collected
    const bool wrapped;    ///< device and queue are an application's, which uses them, too
    DeviceFunctions vk;
    ObjectNames names;
    bool calibrates = false;  ///< the driver reads its clock and the host's at once
    VkDevice device = nullptr;
    VkQueue queue = nullptr;
    // The application's, if it has given them.
    VkPipelineCache pipeline_cache = VK_NULL_HANDLE;
    std::function<MemoryPart(const MemoryRequest&)> allocate_memory;
    std::function<void(const MemoryPart&)> free_memory;

private:
    void make_device(const Origin& origin);
    bool reads_both_clocks(const Origin& origin) const;

    Messages* const messages;            // null without validation
    std::function<void()> lock, unlock;  // lock the queue if the application uses it, too
    std::atomic<bool> lost = false;
};

}  // namespace pumice::vulkan
