// The Vulkan instance that the process shares, and one logical device with its queue.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "vulkan/plan.h"
#include "vulkan/wrap.h"

namespace pumice::vulkan {

/// What the validation layer said, of all devices. Any thread may add.
class Messages {
public:
    void add(std::string message);
    /// Everything since the last call, one message a line; "" when there is none.
    std::string take();

private:
    std::mutex mutex;
    std::vector<std::string> waiting;
};

/// One for the process (and one with validation), made at the first use and never destroyed: at exit the drivers' own static
/// objects may already be gone.
class Instance {
public:
    /// Null with `reason` set where there is no loader, no driver, or validation is asked for and its layer is missing.
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

/// Where a logical device comes from: it is made on the physical one, or an application's.
struct Origin {
    InstanceFunctions vk;
    VkPhysicalDevice physical = nullptr;
    Messages* messages = nullptr;              ///< null: nothing validates
    const Application* application = nullptr;  ///< null: it is made
};

/// A logical device and its one queue. Destroying it needs an idle queue and no objects left.
class Context {
public:
    /// Makes the device by the plan, where it is to be made; throws Error where the driver refuses.
    Context(const Origin& origin, Snapshot snapshot, Plan plan, std::string name);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// Throws an Error that names the call and its result, unless it is VK_SUCCESS. Remembers a lost device.
    void check(VkResult result, const char* call);
    /// Throws when the device was lost.
    void require_alive() const;
    /// Throws what the validation layer has said since the last time.
    void raise_messages();
    // The queue's two functions. They do not throw.
    VkResult submit(const VkSubmitInfo& info);
    VkResult wait_idle();
    /// Of the buffers that arrays and staging are in, of so many bytes.
    VkBufferCreateInfo buffer_info(int64_t bytes) const;

    const std::string name;      ///< "vulkan:0 llvmpipe (...)"
    Snapshot snapshot;           ///< this and the plan stay as the constructor has made them
    Plan plan;
    const bool validates;        ///< messages are collected
    const bool wrapped;          ///< device and queue are an application's, which uses them too
    DeviceFunctions vk;
    VkDevice device = nullptr;
    VkQueue queue = nullptr;

private:
    void make_device(const Origin& origin);
    uint32_t buffer_memory_types();

    Messages* const messages;            // where it validates
    std::function<void()> lock, unlock;  // the queue, where the application uses it, too
    std::atomic<bool> lost = false;
};

}  // namespace pumice::vulkan
