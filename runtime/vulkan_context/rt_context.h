// The Vulkan instance that the process shares, and one logical device with its queue.
#pragma once
#include "runtime/device/rt_device.h"
#include "runtime/vulkan_context/rt_properties.h"

namespace pumice_rt::vulkan {

/// The source of a logical device: made from the physical one, or an application's.
struct Origin {
    InstanceFunctions vk;
    VkPhysicalDevice physical = nullptr;
    const pumice_vulkan_device* application = nullptr;  ///< null: the device is to be made
};

/// The process's instance: made at the first use, and never destroyed, since the static objects of drivers may be gone at exit.
/// Lists its physical devices: fills `found` with at most `most`, and returns their number in `count`.
pumice_status instance_devices(bool validate, InstanceFunctions& vk, VkPhysicalDevice* found, uint32_t most, uint32_t& count);
/// The loader's functions, or an application's own.
pumice_status functions_of(const pumice_vulkan_device& application, InstanceFunctions& vk);

/// True in a process that was forked while a device was open in it: drivers wait for threads that this process lacks.
bool forked_while_open();
/// The error for a device that is to be opened there; to be returned before any call of the driver.
pumice_status open_after_fork(const char* device);

/// A logical device and its one queue. Destruction needs an idle queue and no remaining objects.
class Context {
public:
    /// `hooks` and `name` must live as long as the context.
    Context(const pumice_hooks& hooks, const char* name) : hooks(hooks), name(name) {}
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    /// Makes the device by facts and plan, which are set already, or takes the application's.
    pumice_status open(const Origin& origin);

    /// An error that names the call and its result, unless that is VK_SUCCESS. Remembers a lost device.
    pumice_status check(VkResult result, const char* call);
    /// An error if the device was lost, or opened before this process was forked.
    pumice_status alive() const { return __builtin_expect(is_lost(), false) ? lost_error() : PUMICE_OK; }
    bool is_lost() const { return __atomic_load_n(&state, __ATOMIC_RELAXED) != works; }
    /// True after leave_to_parent(): the driver must not be called any more. It would wait, and free what is the parent's.
    bool is_parents() const { return __atomic_load_n(&state, __ATOMIC_RELAXED) == of_parent; }
    /// For the child after a fork.
    void leave_to_parent() { state = of_parent; }
    /// The messages of the validation layer since the last call, of all devices of the process, as an error.
    pumice_status messages() const { return validates ? raise_messages() : PUMICE_OK; }
    // The queue's two functions.
    VkResult submit(const VkSubmitInfo& info);
    VkResult wait_idle();
    /// The description of a buffer for arrays or staging, of this size.
    VkBufferCreateInfo buffer_info(int64_t bytes) const;

    const pumice_hooks& hooks;
    const char* const name;
    Facts facts{};
    DevicePlan plan{};
    bool validates = false;  ///< validation messages are collected
    bool wrapped = false;    ///< device and queue are an application's, which uses them, too
    DeviceFunctions vk{};
    VkDevice device = nullptr;
    VkQueue queue = nullptr;

private:
    pumice_status make_device(const Origin& origin);
    pumice_status lost_error() const;
    pumice_status raise_messages() const;

    void* user = nullptr;  // locks the queue if the application uses it, too
    void (*lock)(void*) = nullptr;
    void (*unlock)(void*) = nullptr;
    static constexpr int works = 0, lost = 1, of_parent = 2;
    int state = works;
};

}  // namespace pumice_rt::vulkan
