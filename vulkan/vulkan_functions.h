// Vulkan's entry points, looked up at run time.
//
// Nothing here links to libvulkan, so that a program starts without it. The tables are our own instead of volk's global
// variables: a library must not define symbols such as vkCreateInstance, which would replace functions that a host application
// links to. A table a device also lets a test replace an entry by a failing function.
#pragma once
#include <string>

#include "core/support/namespaces.h"
#include "runtime/vulkan_rules/vulkan_calls.h"

namespace pumice::vulkan {

using namespace internal;

using pumice_rt::vulkan::chain;
using pumice_rt::vulkan::structure;

// clang-format off
#define PUMICE_VULKAN_INSTANCE_FUNCTIONS(X) \
    PUMICE_VULKAN_SHARED_INSTANCE_FUNCTIONS(X) X(DestroyInstance) X(GetPhysicalDeviceFormatProperties)

// Only with VK_EXT_debug_utils.
#define PUMICE_VULKAN_DEBUG_FUNCTIONS(X) \
    X(CreateDebugUtilsMessengerEXT) X(DestroyDebugUtilsMessengerEXT) X(SetDebugUtilsObjectNameEXT) \
    X(CmdBeginDebugUtilsLabelEXT) X(CmdEndDebugUtilsLabelEXT)

// Only with VK_EXT_calibrated_timestamps.
#define PUMICE_VULKAN_CLOCK_FUNCTIONS(X) X(GetCalibratedTimestampsEXT)
#define PUMICE_VULKAN_CLOCK_INSTANCE_FUNCTIONS(X) X(GetPhysicalDeviceCalibrateableTimeDomainsEXT)

#define PUMICE_VULKAN_DEVICE_FUNCTIONS(X) \
    PUMICE_VULKAN_SHARED_DEVICE_FUNCTIONS(X) \
    X(CreateImage) X(DestroyImage) X(GetImageMemoryRequirements) X(BindImageMemory) X(CreateImageView) X(DestroyImageView) \
    X(CreateSampler) X(DestroySampler) X(CmdCopyBufferToImage) X(CmdCopyImageToBuffer) X(CmdCopyImage) X(CmdClearColorImage)

// Only with VK_KHR_push_descriptor.
#define PUMICE_VULKAN_PUSH_DESCRIPTOR_FUNCTIONS(X) X(CmdPushDescriptorSetKHR)
// clang-format on

#define PUMICE_VULKAN_MEMBER(name) PFN_vk##name name = nullptr;

struct GlobalFunctions {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
    PUMICE_VULKAN_GLOBAL_FUNCTIONS(PUMICE_VULKAN_MEMBER)
};

struct InstanceFunctions {
    PUMICE_VULKAN_INSTANCE_FUNCTIONS(PUMICE_VULKAN_MEMBER)
    PUMICE_VULKAN_DEBUG_FUNCTIONS(PUMICE_VULKAN_MEMBER)
    PUMICE_VULKAN_CLOCK_INSTANCE_FUNCTIONS(PUMICE_VULKAN_MEMBER)
};

struct DeviceFunctions {
    PUMICE_VULKAN_DEVICE_FUNCTIONS(PUMICE_VULKAN_MEMBER)
    PUMICE_VULKAN_PUSH_DESCRIPTOR_FUNCTIONS(PUMICE_VULKAN_MEMBER)
    PUMICE_VULKAN_CLOCK_FUNCTIONS(PUMICE_VULKAN_MEMBER)
};
#undef PUMICE_VULKAN_MEMBER

/// The loader's own functions, or null with `reason` set if there is no Vulkan loader. Loaded once a process, never unloaded.
const GlobalFunctions* global_functions(std::string& reason);
InstanceFunctions instance_functions(const GlobalFunctions& global, VkInstance instance);
DeviceFunctions device_functions(const InstanceFunctions& functions, VkDevice device);
/// Replaces all functions by ones that do nothing, for static objects of an application that are destroyed at exit after those of
/// drivers and layers. Those that return a VkResult give VK_ERROR_DEVICE_LOST, others zero. Null entries stay null.
void end_functions(DeviceFunctions& functions);
/// The name of the first missing function that is not optional as marked above; "" if none is missing.
std::string missing(const InstanceFunctions& functions);
std::string missing(const DeviceFunctions& functions);

/// "VK_ERROR_DEVICE_LOST" and so on; a number for unknown results.
std::string name_of(VkResult result);

}  // namespace pumice::vulkan
