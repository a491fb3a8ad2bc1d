// A vkGetInstanceProcAddr whose device functions count their calls, for Application::get_instance_proc_addr.
#pragma once
#include <atomic>
#include <map>
#include <string>

#include "vulkan/vulkan_functions.h"

namespace tests {

/// Calls by name, such as "vkQueueSubmit".
inline std::map<std::string, std::atomic<int>>& calls() {
    static std::map<std::string, std::atomic<int>> counts;
    return counts;
}

namespace detail {

// clang-format off
#define PUMICE_TEST_COUNTED(X) \
    X(QueueSubmit) X(QueueWaitIdle) X(WaitSemaphores) X(AllocateMemory) X(FreeMemory) X(CreateBuffer) X(CreateCommandPool) \
    X(CreateDescriptorPool) X(CreateComputePipelines) X(CreateShaderModule) X(CreatePipelineCache) X(CmdDispatch) \
    X(CmdPipelineBarrier) X(CreateDescriptorSetLayout) X(CreatePipelineLayout)
// clang-format on

template <class Tag, class F> struct Counted;
template <class Tag, class R, class... A> struct Counted<Tag, R(VKAPI_PTR*)(A...)> {
    static inline R(VKAPI_PTR* real)(A...) = nullptr;
    static inline std::atomic<int>* count = nullptr;
    static VKAPI_ATTR R VKAPI_CALL call(A... arguments) {
        ++*count;
        return real(arguments...);
    }
};

inline PFN_vkGetInstanceProcAddr real_instance_function = nullptr;
inline PFN_vkGetDeviceProcAddr real_device_function = nullptr;

inline VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
    const PFN_vkVoidFunction real = real_device_function(device, name);
#define PUMICE_TEST_COUNT(function)                                                        \
    if (struct Tag; real && name == std::string("vk" #function)) {                         \
        using One = Counted<Tag, PFN_vk##function>;                                        \
        One::real = reinterpret_cast<PFN_vk##function>(real), One::count = &calls()[name]; \
        return reinterpret_cast<PFN_vkVoidFunction>(One::call);                            \
    }
    PUMICE_TEST_COUNTED(PUMICE_TEST_COUNT)
#undef PUMICE_TEST_COUNT
    return real;
}

inline VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
    const PFN_vkVoidFunction real = real_instance_function(instance, name);
    if (name != std::string("vkGetDeviceProcAddr")) return real;
    real_device_function = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
    return reinterpret_cast<PFN_vkVoidFunction>(device_function);
}

}  // namespace detail

/// The function for Application::get_instance_proc_addr.
inline auto counting() {
    std::string reason;
    detail::real_instance_function = pumice::vulkan::global_functions(reason)->GetInstanceProcAddr;
    return reinterpret_cast<void (*(*)(VkInstance_T*, const char*))()>(detail::instance_function);
}

}  // namespace tests
