// Entry points and properties for memory that a device shares.
#pragma once
#include "vulkan/context.h"
#include "vulkan/interop.h"

namespace pumice::vulkan {

/// The driver's functions of the extensions that the application has enabled; read once, by wrap().
struct InteropFunctions {
    Interop table;
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;
    PFN_vkGetMemoryFdKHR GetMemoryFd = nullptr;
    PFN_vkGetMemoryFdPropertiesKHR GetMemoryFdProperties = nullptr;
    PFN_vkGetSemaphoreFdKHR GetSemaphoreFd = nullptr;
    PFN_vkImportSemaphoreFdKHR ImportSemaphoreFd = nullptr;
    PFN_vkGetMemoryHostPointerPropertiesEXT GetMemoryHostPointerProperties = nullptr;
    PFN_vkGetPhysicalDeviceImageFormatProperties2 GetPhysicalDeviceImageFormatProperties2 = nullptr;
    PFN_vkGetPhysicalDeviceFormatProperties2 GetPhysicalDeviceFormatProperties2 = nullptr;
    PFN_vkGetImageDrmFormatModifierPropertiesEXT GetImageDrmFormatModifierProperties = nullptr;  ///< null: not enabled
    PFN_vkGetImageSubresourceLayout GetImageSubresourceLayout = nullptr;
    bool foreign = false;  ///< VK_EXT_queue_family_foreign

    /// The queue family to which memory of this kind is released: any other device's and driver's where the extension is enabled.
    uint32_t family_of_others(FdKind kind) const {
        return kind == FdKind::dma_buf && foreign ? VK_QUEUE_FAMILY_FOREIGN_EXT : VK_QUEUE_FAMILY_EXTERNAL;
    }
};
/// `snapshot`: with what is enabled alone.
InteropFunctions interop_functions(const Origin& origin, const Snapshot& snapshot);

inline VkExternalMemoryHandleTypeFlagBits type_of(FdKind kind) {
    return kind == FdKind::opaque ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT : VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
}
inline const char* name_of(FdKind kind) { return kind == FdKind::opaque ? "an opaque descriptor" : "a dma-buf"; }

}  // namespace pumice::vulkan
