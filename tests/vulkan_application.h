// A small Vulkan application for the tests of <pumice/vulkan.h>: an instance with validation, a device with one queue, and
// commands of its own.
#pragma once
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "core/support/error.h"
#include "vulkan/context.h"
#include "vulkan/vulkan_functions.h"
#include "vulkan/wrap.h"

namespace tests {

class VulkanApplication {
public:
    enum class Features { all, least, none };  ///< that the device has, or timeline semaphores alone

    /// Opens the device with this number in the loader's order. `version`: the Vulkan version of the instance. `last_family`: the
    /// queue is of the last family that computes, else of the first.
    explicit VulkanApplication(int index, Features features = Features::all, uint32_t version = VK_API_VERSION_1_2,
                               bool last_family = false)
        : version(version), last_family(last_family) {
        std::string reason;
        const pumice::vulkan::GlobalFunctions* global = pumice::vulkan::global_functions(reason);
        if (!global) pumice::fail(reason);
        make_instance(*global);
        uint32_t count = 0;
        functions.EnumeratePhysicalDevices(instance, &count, nullptr);
        std::vector<VkPhysicalDevice> found(count);
        functions.EnumeratePhysicalDevices(instance, &count, found.data());
        physical = found.at(size_t(index));
        make_device(features);
        VkCommandPoolCreateInfo pool_info{};
        pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        pool_info.queueFamilyIndex = queue_info.queueFamilyIndex;
        vk.CreateCommandPool(device, &pool_info, nullptr, &pool);
    }
    ~VulkanApplication() {
        vk.QueueWaitIdle(queue);
        vk.DestroyCommandPool(device, pool, nullptr);
        vk.DestroyDevice(device, nullptr);
        if (messenger) functions.DestroyDebugUtilsMessengerEXT(instance, messenger, nullptr);
        functions.DestroyInstance(instance, nullptr);
    }
    VulkanApplication(const VulkanApplication&) = delete;

    /// The argument of wrap(); the queue is shared.
    pumice::vulkan::Application application() {
        pumice::vulkan::Application a;
        a.instance = instance;
        a.physical_device = physical;
        a.device = device;
        a.queue = queue;
        a.queue_family = queue_info.queueFamilyIndex;
        a.created_with = &created;
        a.lock = [this] { mutex.lock(); };
        a.unlock = [this] { mutex.unlock(); };
        return a;
    }

    /// Records the commands and submits them, between the two timeline points if there are any. Does not wait.
    void submit(const std::function<void(VkCommandBuffer)>& record, const pumice::vulkan::Point& before = {},
                const pumice::vulkan::Point& after = {}) {
        VkCommandBufferAllocateInfo allocation{};
        allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        allocation.commandPool = pool;
        allocation.commandBufferCount = 1;
        VkCommandBuffer commands;
        vk.AllocateCommandBuffers(device, &allocation, &commands);
        VkCommandBufferBeginInfo begin{};
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        vk.BeginCommandBuffer(commands, &begin);
        record(commands);
        vk.EndCommandBuffer(commands);

        VkTimelineSemaphoreSubmitInfo values{};
        values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
        VkSubmitInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        info.pNext = &values;
        info.commandBufferCount = 1;
        info.pCommandBuffers = &commands;
        info.waitSemaphoreCount = values.waitSemaphoreValueCount = before.semaphore != VK_NULL_HANDLE;
        info.pWaitSemaphores = &before.semaphore;
        values.pWaitSemaphoreValues = &before.value;
        const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        info.pWaitDstStageMask = &all;
        info.signalSemaphoreCount = values.signalSemaphoreValueCount = after.semaphore != VK_NULL_HANDLE;
        info.pSignalSemaphores = &after.semaphore;
        values.pSignalSemaphoreValues = &after.value;
        const std::lock_guard lock(mutex);
        vk.QueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
    }
    void wait() {
        const std::lock_guard lock(mutex);
        vk.QueueWaitIdle(queue);
    }

    VkSemaphore timeline() {
        VkSemaphoreTypeCreateInfo type{};
        type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
        type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
        VkSemaphoreCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
        info.pNext = &type;
        VkSemaphore semaphore = VK_NULL_HANDLE;
        vk.CreateSemaphore(device, &info, nullptr, &semaphore);
        return semaphore;
    }

    /// The messages of the validation layer.
    std::vector<std::string> messages;
    pumice::vulkan::InstanceFunctions functions;
    pumice::vulkan::DeviceFunctions vk;
    VkInstance instance = nullptr;
    VkPhysicalDevice physical = nullptr;
    VkDevice device = nullptr;
    VkQueue queue = nullptr;
    std::mutex mutex;  ///< of the queue
    VkDeviceCreateInfo created{};

private:
    static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                                     const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
        if (!pumice::vulkan::is_fault(data->pMessageIdName)) return VK_FALSE;
        auto* const self = static_cast<VulkanApplication*>(user);
        const std::lock_guard lock(self->messages_mutex);
        self->messages.push_back(data->pMessage);
        return VK_FALSE;
    }

    void make_instance(const pumice::vulkan::GlobalFunctions& global) {
        VkApplicationInfo about{};
        about.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
        about.apiVersion = version;
        const VkValidationFeatureEnableEXT enable[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
        VkValidationFeaturesEXT validation{};
        validation.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
        validation.enabledValidationFeatureCount = 1;
        validation.pEnabledValidationFeatures = enable;
        const char* const layer = "VK_LAYER_KHRONOS_validation";
        const char* const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
        VkInstanceCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        info.pNext = &validation;
        info.pApplicationInfo = &about;
        info.enabledLayerCount = info.enabledExtensionCount = 1;
        info.ppEnabledLayerNames = &layer;
        info.ppEnabledExtensionNames = &extension;
        if (global.CreateInstance(&info, nullptr, &instance) != VK_SUCCESS)
            pumice::fail("vkCreateInstance with validation fails");
        functions = pumice::vulkan::instance_functions(global, instance);
        VkDebugUtilsMessengerCreateInfoEXT debug{};
        debug.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
        debug.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
        debug.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
        debug.pfnUserCallback = on_message;
        debug.pUserData = this;
        functions.CreateDebugUtilsMessengerEXT(instance, &debug, nullptr, &messenger);
    }

    void make_device(Features wanted) {
        queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queue_info.queueFamilyIndex = computing_family();
        queue_info.queueCount = 1;
        queue_info.pQueuePriorities = &priority;
        v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
        v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
        features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
        features.pNext = &v11;
        v11.pNext = &v12;
        v12.timelineSemaphore = true;
        if (wanted == Features::all) {
            functions.GetPhysicalDeviceFeatures2(physical, &features);
            features.features.robustBufferAccess = false;
            const char* const modifiers = VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME;
            for (const char* name :
                 {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                  VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
                  VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, modifiers, VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME})
                if (has_extension(name) && (name != modifiers || lists_modifiers_twice())) extensions.push_back(name);
        }
        if (has_extension("VK_KHR_portability_subset")) extensions.push_back("VK_KHR_portability_subset");  // has to be enabled
        created.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        if (wanted != Features::none) created.pNext = &features;
        created.queueCreateInfoCount = 1;
        created.pQueueCreateInfos = &queue_info;
        created.enabledExtensionCount = uint32_t(extensions.size());
        created.ppEnabledExtensionNames = extensions.data();
        if (functions.CreateDevice(physical, &created, nullptr, &device) != VK_SUCCESS) pumice::fail("vkCreateDevice fails");
        vk = pumice::vulkan::device_functions(functions, device);
        vk.GetDeviceQueue(device, queue_info.queueFamilyIndex, 0, &queue);
    }

    uint32_t computing_family() const {
        uint32_t count = 0;
        functions.GetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
        std::vector<VkQueueFamilyProperties> found(count);
        functions.GetPhysicalDeviceQueueFamilyProperties(physical, &count, found.data());
        std::vector<uint32_t> computing;
        for (uint32_t family = 0; family < count; ++family)
            if (found[family].queueFlags & VK_QUEUE_COMPUTE_BIT) computing.push_back(family);
        if (computing.empty()) pumice::fail("no queue family computes");
        return last_family ? computing.back() : computing.front();
    }

    bool has_extension(const char* name) const {
        uint32_t count = 0;
        functions.EnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
        std::vector<VkExtensionProperties> found(count);
        functions.EnumerateDeviceExtensionProperties(physical, nullptr, &count, found.data());
        for (const VkExtensionProperties& one : found)
            if (std::strcmp(one.extensionName, name) == 0) return true;
        return false;
    }

    /// False for lavapipe of Mesa 25.0 with /dev/udmabuf. It has a list of modifiers, and leaves that of
    /// VK_KHR_format_feature_flags2 empty, by which the validation layer takes every image with a modifier for a fault.
    bool lists_modifiers_twice() const {
        if (!has_extension(VK_KHR_FORMAT_FEATURE_FLAGS_2_EXTENSION_NAME)) return true;
        std::string reason;
        const auto get = pumice::vulkan::global_functions(reason)->GetInstanceProcAddr;
        const auto properties =
            reinterpret_cast<PFN_vkGetPhysicalDeviceFormatProperties2>(get(instance, "vkGetPhysicalDeviceFormatProperties2"));
        VkDrmFormatModifierPropertiesList2EXT list{};
        list.sType = VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_2_EXT;
        VkFormatProperties2 of{};
        of.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2;
        of.pNext = &list;
        properties(physical, VK_FORMAT_R8G8B8A8_UNORM, &of);
        return list.drmFormatModifierCount > 0;
    }

    std::mutex messages_mutex;
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
    VkPhysicalDeviceVulkan11Features v11{};
    VkPhysicalDeviceVulkan12Features v12{};
    VkPhysicalDeviceFeatures2 features{};
    const uint32_t version;
    const bool last_family;
    const float priority = 1;
    VkDeviceQueueCreateInfo queue_info{};
    std::vector<const char*> extensions;
    VkCommandPool pool = VK_NULL_HANDLE;
};

}  // namespace tests
