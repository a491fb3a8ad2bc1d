// A fake Vulkan driver (ICD) that describes one capable GPU and then fails in vkCreateDevice: what a broken installation looks
// like.
#include <vulkan/vk_icd.h>
#include <vulkan/vulkan.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

struct Object {
    VK_LOADER_DATA loader = {ICD_LOADER_MAGIC};  // the loader puts its table here
};
Object instance_object, device_object;

VkResult create_instance(const VkInstanceCreateInfo*, const VkAllocationCallbacks*, VkInstance* out) {
    *out = reinterpret_cast<VkInstance>(&instance_object);
    return VK_SUCCESS;
}
void destroy_instance(VkInstance, const VkAllocationCallbacks*) {}
VkResult version(uint32_t* out) {
    *out = VK_API_VERSION_1_2;
    return VK_SUCCESS;
}
VkResult no_instance_extensions(const char*, uint32_t* count, VkExtensionProperties*) {
    *count = 0;
    return VK_SUCCESS;
}
VkResult no_device_extensions(VkPhysicalDevice, const char*, uint32_t* count, VkExtensionProperties*) {
    *count = 0;
    return VK_SUCCESS;
}
VkResult physical_devices(VkInstance, uint32_t* count, VkPhysicalDevice* out) {
    if (out && *count > 0) out[0] = reinterpret_cast<VkPhysicalDevice>(&device_object);
    *count = 1;
    return VK_SUCCESS;
}
void properties(VkPhysicalDevice, VkPhysicalDeviceProperties* p) {
    *p = {};
    p->apiVersion = VK_API_VERSION_1_2;
    p->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;  // preferred to every software driver
    std::snprintf(p->deviceName, sizeof p->deviceName, "Broken GPU");
    VkPhysicalDeviceLimits& l = p->limits;
    l.maxStorageBufferRange = 1u << 30;
    l.maxPushConstantsSize = 128;
    l.maxComputeSharedMemorySize = 32768;
    l.maxComputeWorkGroupInvocations = 256;
    l.minStorageBufferOffsetAlignment = 16;
    l.maxPerStageDescriptorStorageBuffers = l.maxDescriptorSetStorageBuffers = l.maxPerStageResources = 64;
    for (int axis = 0; axis < 3; ++axis) l.maxComputeWorkGroupCount[axis] = 65535, l.maxComputeWorkGroupSize[axis] = 256;
}
void properties2(VkPhysicalDevice d, VkPhysicalDeviceProperties2* p) {
    properties(d, &p->properties);
    for (auto* next = static_cast<VkBaseOutStructure*>(p->pNext); next; next = next->pNext)
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES)
            reinterpret_cast<VkPhysicalDeviceMaintenance3Properties*>(next)->maxMemoryAllocationSize = 1u << 30;
}
void features(VkPhysicalDevice, VkPhysicalDeviceFeatures* f) { *f = {}; }
void features2(VkPhysicalDevice d, VkPhysicalDeviceFeatures2* f) {
    features(d, &f->features);
    for (auto* next = static_cast<VkBaseOutStructure*>(f->pNext); next; next = next->pNext)
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
            reinterpret_cast<VkPhysicalDeviceVulkan12Features*>(next)->timelineSemaphore = VK_TRUE;
}
void memory_properties(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* m) {
    *m = {};
    m->memoryTypeCount = m->memoryHeapCount = 1;
    m->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    m->memoryHeaps[0] = {1u << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
}
void queue_families(VkPhysicalDevice, uint32_t* count, VkQueueFamilyProperties* out) {
    if (out && *count > 0) out[0] = {VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT, 1, 64, {1, 1, 1}};
    *count = 1;
}
// Images: the loader asks for these functions; nobody calls them.
void format_properties(VkPhysicalDevice, VkFormat, VkFormatProperties* p) { *p = {}; }
VkResult image_format_properties(VkPhysicalDevice, VkFormat, VkImageType, VkImageTiling, VkImageUsageFlags, VkImageCreateFlags,
                                 VkImageFormatProperties*) {
    return VK_ERROR_FORMAT_NOT_SUPPORTED;
}
void sparse_properties(VkPhysicalDevice, VkFormat, VkImageType, VkSampleCountFlagBits, VkImageUsageFlags, VkImageTiling,
                       uint32_t* count, VkSparseImageFormatProperties*) {
    *count = 0;
}
VkResult create_device(VkPhysicalDevice, const VkDeviceCreateInfo*, const VkAllocationCallbacks*, VkDevice*) {
    return VK_ERROR_INITIALIZATION_FAILED;
}
PFN_vkVoidFunction device_function(VkDevice, const char*) { return nullptr; }
PFN_vkVoidFunction instance_function(VkInstance, const char* name);

struct Entry {
    const char* name;
    PFN_vkVoidFunction function;
};
template <class F> PFN_vkVoidFunction erased(F* f) { return reinterpret_cast<PFN_vkVoidFunction>(f); }

PFN_vkVoidFunction instance_function(VkInstance, const char* name) {
    static const Entry entries[] = {
        {"vkCreateInstance", erased(create_instance)},
        {"vkDestroyInstance", erased(destroy_instance)},
        {"vkEnumerateInstanceVersion", erased(version)},
        {"vkEnumerateInstanceExtensionProperties", erased(no_instance_extensions)},
        {"vkEnumerateDeviceExtensionProperties", erased(no_device_extensions)},
        {"vkEnumeratePhysicalDevices", erased(physical_devices)},
        {"vkGetPhysicalDeviceProperties", erased(properties)},
        {"vkGetPhysicalDeviceProperties2", erased(properties2)},
        {"vkGetPhysicalDeviceFeatures", erased(features)},
        {"vkGetPhysicalDeviceFeatures2", erased(features2)},
        {"vkGetPhysicalDeviceMemoryProperties", erased(memory_properties)},
        {"vkGetPhysicalDeviceQueueFamilyProperties", erased(queue_families)},
        {"vkGetPhysicalDeviceFormatProperties", erased(format_properties)},
        {"vkGetPhysicalDeviceImageFormatProperties", erased(image_format_properties)},
        {"vkGetPhysicalDeviceSparseImageFormatProperties", erased(sparse_properties)},
        {"vkCreateDevice", erased(create_device)},
        {"vkGetDeviceProcAddr", erased(device_function)},
        {"vkGetInstanceProcAddr", erased(instance_function)},
    };
    for (const Entry& e : entries)
        if (std::strcmp(e.name, name) == 0) return e.function;
    return nullptr;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char* name) {
    return instance_function(instance, name);
}
EXPORTED PFN_vkVoidFunction vk_icdGetPhysicalDeviceProcAddr(VkInstance, const char*) { return nullptr; }
EXPORTED VkResult vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t* version) {
    *version = 5;
    return VK_SUCCESS;
}
