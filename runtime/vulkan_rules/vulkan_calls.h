// The functions of Vulkan that both the library and the runtime call, and helpers for the structures that they take.
#pragma once
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

namespace pumice_rt::vulkan {

// clang-format off
#define PUMICE_VULKAN_GLOBAL_FUNCTIONS(X) \
    X(CreateInstance) X(EnumerateInstanceExtensionProperties) X(EnumerateInstanceLayerProperties) X(EnumerateInstanceVersion)

#define PUMICE_VULKAN_SHARED_INSTANCE_FUNCTIONS(X) \
    X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties) X(GetPhysicalDeviceProperties2) \
    X(GetPhysicalDeviceFeatures2) X(GetPhysicalDeviceMemoryProperties) X(GetPhysicalDeviceQueueFamilyProperties) \
    X(EnumerateDeviceExtensionProperties) X(CreateDevice) X(GetDeviceProcAddr)

#define PUMICE_VULKAN_SHARED_DEVICE_FUNCTIONS(X) \
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

/// An empty structure of this type.
template <class T> T structure(VkStructureType type, decltype(T::pNext) next = nullptr) {
    T made{};
    made.sType = type;
    made.pNext = next;
    return made;
}

/// Prepends `item` to a pNext chain. All chained structures begin as VkBaseOutStructure does.
template <class Item> void chain(void*& head, Item& item) {
    item.pNext = head;
    head = &item;
}

/// "VK_ERROR_DEVICE_LOST" and so on; null for unknown results.
inline const char* known_name(VkResult result) {
    switch (int(result)) {
#define PUMICE_VULKAN_RESULT(name) \
    case name: return #name;
        PUMICE_VULKAN_RESULT(VK_SUCCESS)
        PUMICE_VULKAN_RESULT(VK_NOT_READY)
        PUMICE_VULKAN_RESULT(VK_TIMEOUT)
        PUMICE_VULKAN_RESULT(VK_INCOMPLETE)
        PUMICE_VULKAN_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY)
        PUMICE_VULKAN_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        PUMICE_VULKAN_RESULT(VK_ERROR_INITIALIZATION_FAILED)
        PUMICE_VULKAN_RESULT(VK_ERROR_DEVICE_LOST)
        PUMICE_VULKAN_RESULT(VK_ERROR_MEMORY_MAP_FAILED)
        PUMICE_VULKAN_RESULT(VK_ERROR_LAYER_NOT_PRESENT)
        PUMICE_VULKAN_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT)
        PUMICE_VULKAN_RESULT(VK_ERROR_FEATURE_NOT_PRESENT)
        PUMICE_VULKAN_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER)
        PUMICE_VULKAN_RESULT(VK_ERROR_TOO_MANY_OBJECTS)
        PUMICE_VULKAN_RESULT(VK_ERROR_FRAGMENTED_POOL)
        PUMICE_VULKAN_RESULT(VK_ERROR_UNKNOWN)
        PUMICE_VULKAN_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY)
        PUMICE_VULKAN_RESULT(VK_ERROR_INVALID_EXTERNAL_HANDLE)
        PUMICE_VULKAN_RESULT(VK_ERROR_FRAGMENTATION)
        PUMICE_VULKAN_RESULT(VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT)
        PUMICE_VULKAN_RESULT(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
        PUMICE_VULKAN_RESULT(VK_ERROR_VALIDATION_FAILED_EXT)
        PUMICE_VULKAN_RESULT(VK_ERROR_INVALID_SHADER_NV)
        PUMICE_VULKAN_RESULT(VK_ERROR_NOT_PERMITTED_KHR)
#undef PUMICE_VULKAN_RESULT
        default: return nullptr;
    }
}

/// True if a block of memory cannot be made now, and a smaller one or one of another type may be.
inline bool out_of_memory(VkResult result) {
    return result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY ||
           result == VK_ERROR_TOO_MANY_OBJECTS;
}

}  // namespace pumice_rt::vulkan
