// Vulkan's functions, looked up at run time: nothing links to libvulkan, so that a program starts without it.
#pragma once
#include "runtime/support/status.h"
#include "runtime/vulkan_rules/vulkan_calls.h"

namespace pumice_rt::vulkan {

#define PUMICE_RT_MEMBER(name) PFN_vk##name name;
struct GlobalFunctions {
    PUMICE_VULKAN_GLOBAL_FUNCTIONS(PUMICE_RT_MEMBER)
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
};
struct InstanceFunctions {
    PUMICE_VULKAN_SHARED_INSTANCE_FUNCTIONS(PUMICE_RT_MEMBER)
    PFN_vkCreateDebugUtilsMessengerEXT CreateDebugUtilsMessengerEXT;  ///< null without the extension
};
struct DeviceFunctions {
    PUMICE_VULKAN_SHARED_DEVICE_FUNCTIONS(PUMICE_RT_MEMBER)
    PFN_vkCmdPushDescriptorSetKHR CmdPushDescriptorSetKHR;  ///< null without the extension
};
#undef PUMICE_RT_MEMBER

/// The functions of the system's loader, which is loaded once and never unloaded. The caller holds a lock.
pumice_status load_global(GlobalFunctions& functions);
// Each returns the name of the first function that is missing, or null.
const char* load_instance(PFN_vkGetInstanceProcAddr get, VkInstance instance, InstanceFunctions& functions);
const char* load_device(const InstanceFunctions& instance, VkDevice device, DeviceFunctions& functions);

/// "VK_ERROR_DEVICE_LOST" and so on; "an unknown result" for others.
const char* name_of(VkResult result);

}  // namespace pumice_rt::vulkan
