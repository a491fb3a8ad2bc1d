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
};
/// `snapshot`: with what is enabled alone.
InteropFunctions interop_functions(const Origin& origin, const Snapshot& snapshot);

}  // namespace pumice::vulkan
