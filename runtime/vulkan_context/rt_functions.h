// Vulkan's functions, looked up at run time: nothing links to libvulkan, so that a program starts without it.
#pragma once
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "runtime/support/status.h"

namespace pumice_rt::vulkan {

// clang-format off
#define PUMICE_RT_GLOBAL_FUNCTIONS(X) \
    X(CreateInstance) X(EnumerateInstanceExtensionProperties) X(EnumerateInstanceLayerProperties) X(EnumerateInstanceVersion)

#define PUMICE_RT_INSTANCE_FUNCTIONS(X) \
    X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties) X(GetPhysicalDeviceProperties2) \
    X(GetPhysicalDeviceFeatures2) X(GetPhysicalDeviceMemoryProperties) X(GetPhysicalDeviceQueueFamilyProperties) \
    X(EnumerateDeviceExtensionProperties) X(CreateDevice) X(GetDeviceProcAddr)

#define PUMICE_RT_DEVICE_FUNCTIONS(X) \
    X(DestroyDevice) X(GetDeviceQueue) X(QueueWaitIdle) X(QueueSubmit) \
    X(AllocateMemory) X(FreeMemory) X(MapMemory) X(BindBufferMemory) X(CreateBuffer) X(DestroyBuffer) \
    X(GetBufferMemoryRequirements) X(GetBufferDeviceAddress) X(InvalidateMappedMemoryRanges) \
    X(CreateCommandPool) X(DestroyCommandPool) X(ResetCommandPool) X(AllocateCommandBuffers) \
    X(BeginCommandBuffer) X(EndCommandBuffer) \
    X(CmdBindPipeline) X(CmdBindDescriptorSets) X(CmdPushConstants) X(CmdDispatch) X(CmdDispatchBase) X(CmdDispatchIndirect) \
    X(CmdPipelineBarrier) X(CmdFillBuffer) X(CmdCopyBuffer) X(CmdResetQueryPool) X(CmdWriteTimestamp) \
    X(CreateSemaphore) X(DestroySemaphore) X(GetSemaphoreCounterValue) X(WaitSemaphores) X(SignalSemaphore) \
    X(CreateShaderModule) X(DestroyShaderModule) X(CreateDescriptorSetLayout) X(DestroyDescriptorSetLayout) \
    X(CreatePipelineLayout) X(DestroyPipelineLayout) X(CreateComputePipelines) X(DestroyPipeline) \
    X(CreateQueryPool) X(DestroyQueryPool) X(GetQueryPoolResults) \
    X(CreatePipelineCache) X(DestroyPipelineCache) X(GetPipelineCacheData) \
    X(CreateDescriptorPool) X(DestroyDescriptorPool) X(ResetDescriptorPool) X(AllocateDescriptorSets) X(UpdateDescriptorSets)
// clang-format on

#define PUMICE_RT_MEMBER(name) PFN_vk##name name;
struct GlobalFunctions {
    PUMICE_RT_GLOBAL_FUNCTIONS(PUMICE_RT_MEMBER)
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
};
struct InstanceFunctions {
    PUMICE_RT_INSTANCE_FUNCTIONS(PUMICE_RT_MEMBER)
    PFN_vkCreateDebugUtilsMessengerEXT CreateDebugUtilsMessengerEXT;  ///< null without the extension
};
struct DeviceFunctions {
    PUMICE_RT_DEVICE_FUNCTIONS(PUMICE_RT_MEMBER)
    PFN_vkCmdPushDescriptorSetKHR CmdPushDescriptorSetKHR;  ///< null without the extension
};
#undef PUMICE_RT_MEMBER

/// An empty structure of this type.
template <class T> T structure(VkStructureType type, decltype(T::pNext) next = nullptr) {
    T made{};
    made.sType = type;
    made.pNext = next;
    return made;
}

/// The functions of the system's loader, which is loaded once and never unloaded. The caller holds a lock.
pumice_status load_global(GlobalFunctions& functions);
// Each returns the name of the first function that is missing, or null.
const char* load_instance(PFN_vkGetInstanceProcAddr get, VkInstance instance, InstanceFunctions& functions);
const char* load_device(const InstanceFunctions& instance, VkDevice device, DeviceFunctions& functions);

/// "VK_ERROR_DEVICE_LOST" and so on; "an unknown result" for others.
const char* name_of(VkResult result);

}  // namespace pumice_rt::vulkan
