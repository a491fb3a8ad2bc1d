// The description of objects that both the library and the runtime make: messengers, queues, buffers.
#pragma once
#include <string.h>

#include "runtime/vulkan_rules/vulkan_calls.h"

namespace pumice_rt::vulkan {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

/// True if a message of the validation layer reports a fault, by the name of its rule; may be null. Allocations above
/// maxMemoryAllocationSize are valid (memory_plan). The layer reports them all the same, as a recommendation of its authors:
/// since January 2025 by the first name, for a month before by the second (Vulkan-ValidationLayers, pull requests 9231 and 9052).
inline bool is_fault(const char* rule) {
    return !rule || (strcmp(rule, "UNASSIGNED-vkAllocateMemory-maxMemoryAllocationSize") != 0 &&
                     strcmp(rule, "WARNING-CoreValidation-AllocateMemory-maxMemoryAllocationSize") != 0);
}

/// A messenger for warnings and errors of the validation layer. Not of the general type, by which the loader reports other
/// vendors' drivers that find no device.
inline VkDebugUtilsMessengerCreateInfoEXT messenger_info(PFN_vkDebugUtilsMessengerCallbackEXT callback, void* user = nullptr) {
    auto info = structure<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
    info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
    info.pfnUserCallback = callback;
    info.pUserData = user;
    return info;
}

/// The one queue of a device.
inline VkDeviceQueueCreateInfo queue_info(uint32_t family) {
    static const float priority = 1.0f;
    auto info = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
    info.queueFamilyIndex = family;
    info.queueCount = 1;
    info.pQueuePriorities = &priority;
    return info;
}

/// A buffer for arrays or staging. `addresses`: shaders reach it by its address. `wrapped`: of an application's device, which may
/// use it in any way.
inline VkBufferCreateInfo buffer_info(int64_t bytes, bool addresses, bool wrapped) {
    auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
    info.size = VkDeviceSize(bytes);
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    if (addresses) info.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    if (wrapped)
        info.usage |= VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT;
    return info;
}

/// A bit for each memory type that such a buffer may have. By the specification, it depends only on a buffer's usage and flags,
/// not on its size. All bits if the driver does not say.
template <class Functions> uint32_t memory_types_of(const Functions& vk, VkDevice device, const VkBufferCreateInfo& info) {
    VkBuffer buffer{};
    if (vk.CreateBuffer(device, &info, nullptr, &buffer) != VK_SUCCESS) return ~0u;
    VkMemoryRequirements needs{};
    vk.GetBufferMemoryRequirements(device, buffer, &needs);
    vk.DestroyBuffer(device, buffer, nullptr);
    return needs.memoryTypeBits;
}

}  // namespace pumice_rt::vulkan
