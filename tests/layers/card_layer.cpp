// A Vulkan layer, for tests alone, that makes a software driver look like a graphics card (discrete GPU) of cards.h: its memory
// heaps and types, limits and features. The driver still executes everything. The layer stands below the validation layer, which
// so sees the properties of the card.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/layers/cards.h"
#include "tests/layers/layer.h"

namespace {

using layer::ask, layer::card, layer::fault, layer::plain, layer::table_of, layer::take_link;

// ---- memory -------------------------------------------------------------------------------------------------------------------

constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr VkMemoryType types_of_window[] = {
    {local, 0},                                                             // for images alone
    {local, 0}, {visible, 1}, {visible | cached, 1}, {local | visible, 2},  // 256 MiB
};
constexpr VkMemoryPropertyFlags incoherent = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | cached;
constexpr VkMemoryType types_in_reach[] = {
    {local, 0},  // for images alone
    {local | visible, 0},
    {visible, 1},
    {incoherent, 1},
};
/// Memory for images alone is in the first heap.
std::span<const VkMemoryType> memory_types() {
    return card().in_reach ? std::span<const VkMemoryType>(types_in_reach) : std::span<const VkMemoryType>(types_of_window);
}
uint32_t types_of_buffers() { return (1u << memory_types().size()) - 2; }

/// Every memory type of the card maps to this type of the driver: the first that the host can map.
uint32_t driver_type(const VkPhysicalDeviceMemoryProperties& driver) {
    for (uint32_t i = 0; i < driver.memoryTypeCount; ++i)
        if ((driver.memoryTypes[i].propertyFlags & visible) == visible) return i;
    return 0;
}

VkPhysicalDeviceMemoryProperties card_memory(const VkPhysicalDeviceMemoryProperties& driver, const layer::Look& look) {
    VkPhysicalDeviceMemoryProperties m{};
    const VkDeviceSize size = driver.memoryHeaps[driver.memoryTypes[driver_type(driver)].heapIndex].size;
    m.memoryHeapCount = 3;
    m.memoryHeaps[0] = {look.bytes > 0 ? look.bytes : size, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    m.memoryHeaps[1] = {size, 0};
    m.memoryHeaps[2] = {VkDeviceSize(256) << 20, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    m.memoryTypeCount = uint32_t(memory_types().size());
    std::copy(memory_types().begin(), memory_types().end(), m.memoryTypes);
    return m;
}

// ---- the functions of the next layer or driver, by the loader's tables --------------------------------------------------------

struct Instance {
    VkInstance handle{};
    PFN_vkGetInstanceProcAddr get{};
    PFN_vkDestroyInstance destroy{};
    PFN_vkGetPhysicalDeviceProperties properties{};
    PFN_vkGetPhysicalDeviceProperties2 properties2{};
    PFN_vkGetPhysicalDeviceFeatures2 features2{};
    PFN_vkGetPhysicalDeviceMemoryProperties memory_properties{};
    PFN_vkGetPhysicalDeviceMemoryProperties2 memory_properties2{};
    PFN_vkEnumerateDeviceExtensionProperties extensions{};
    PFN_vkGetPhysicalDeviceQueueFamilyProperties families{};
    PFN_vkGetPhysicalDeviceQueueFamilyProperties2 families2{};
};
/// An allocation on the card.
struct Memory {
    uint32_t type = 0;
    VkDeviceSize bytes = 0;
    std::byte* driver_place = nullptr;  ///< where it is mapped
    std::vector<std::byte> host_copy;   ///< what the host sees of incoherent memory: as it was when it was last invalidated
};

struct Device {
    VkDevice handle{};
    PFN_vkGetDeviceProcAddr get{};
    PFN_vkDestroyDevice destroy{};
    PFN_vkGetBufferMemoryRequirements buffer_requirements{};
    PFN_vkGetBufferMemoryRequirements2 buffer_requirements2{};
    PFN_vkGetMemoryFdPropertiesKHR fd_properties{};
    PFN_vkAllocateMemory allocate{};
    PFN_vkFreeMemory release{};
    PFN_vkMapMemory map{};
    uint32_t driver_memory_type = 0;
    PFN_vkInvalidateMappedMemoryRanges invalidate{};
    PFN_vkQueueSubmit submit{};
    PFN_vkQueueWaitIdle wait_idle{};
    PFN_vkWaitSemaphores wait{};
    PFN_vkGetSemaphoreCounterValue counter{};
    bool is_lost = false;
    PFN_vkGetDeviceQueue get_queue{};
    PFN_vkGetDeviceQueue2 get_queue2{};
    PFN_vkCreateCommandPool make_pool{};
    PFN_vkCreateShaderModule make_module{};
    PFN_vkCreateComputePipelines make_pipelines{};
    std::map<VkDeviceMemory, Memory> memories;
    VkDeviceSize local_bytes = 0, host_bytes = 0;  ///< allocated of the card's own memory, and of the host's
    std::set<VkShaderModule> with_doubles;
};

std::mutex mutex;
std::map<void*, Instance> instances;
std::map<void*, Device> devices;

template <class Handle> Instance instance_of(Handle handle) {
    const std::lock_guard lock(mutex);
    return instances.at(table_of(handle));
}
template <class Handle> Device& device_of(Handle handle) {
    const std::lock_guard lock(mutex);
    return devices.at(table_of(handle));
}

// ---- properties and features of the card ----------------------------------------------------------------------------------

void describe(VkPhysicalDeviceProperties& p) {
    p.deviceType = layer::look_of(p.deviceName).type;
    VkPhysicalDeviceLimits& l = p.limits;
    if (card().storage_buffers) {
        l.maxPerStageDescriptorStorageBuffers = card().storage_buffers;
        l.maxDescriptorSetStorageBuffers = card().storage_buffers;
    }
    if (card().offset_alignment) l.minStorageBufferOffsetAlignment = card().offset_alignment;
    if (card().shared_bytes) l.maxComputeSharedMemorySize = card().shared_bytes;
    if (card().group_size) {
        l.maxComputeWorkGroupInvocations = card().group_size;
        const uint32_t extents[] = {card().group_size, card().group_size, 64};
        for (int axis = 0; axis < 3; ++axis)
            l.maxComputeWorkGroupSize[axis] = std::min(l.maxComputeWorkGroupSize[axis], extents[axis]);
    }
}
VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* p) {
    instance_of(device).properties(device, p);
    describe(*p);
}
VKAPI_ATTR void VKAPI_CALL properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* p) {
    instance_of(device).properties2(device, p);
    describe(p->properties);
    for (auto* next = static_cast<VkBaseOutStructure*>(p->pNext); next && card().allocation_bytes; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES)
            reinterpret_cast<VkPhysicalDeviceMaintenance3Properties*>(next)->maxMemoryAllocationSize = card().allocation_bytes;
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES)
            reinterpret_cast<VkPhysicalDeviceVulkan11Properties*>(next)->maxMemoryAllocationSize = card().allocation_bytes;
    }
}

layer::Look look_of(VkPhysicalDevice device) {
    VkPhysicalDeviceProperties p;
    instance_of(device).properties(device, &p);
    return layer::look_of(p.deviceName);
}

VKAPI_ATTR void VKAPI_CALL features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* f) {
    instance_of(device).features2(device, f);
    f->features.shaderInt16 = f->features.shaderInt16 && card().short_arithmetic;
    for (auto* next = static_cast<VkBaseOutStructure*>(f->pNext); next; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) {
            auto& v12 = *reinterpret_cast<VkPhysicalDeviceVulkan12Features*>(next);
            v12.timelineSemaphore = v12.timelineSemaphore && look_of(device).usable;
            v12.bufferDeviceAddress = v12.bufferDeviceAddress && card().device_addresses;
            v12.shaderFloat16 = v12.shaderFloat16 && card().short_arithmetic;
            v12.shaderInt8 = v12.shaderInt8 && card().byte_arithmetic;
            v12.shaderBufferInt64Atomics = v12.shaderBufferInt64Atomics && card().buffer_int64_atomics;
            v12.shaderSharedInt64Atomics = v12.shaderSharedInt64Atomics && card().shared_int64_atomics;
        }
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT && !card().float_atomics) {
            auto& atomics = *reinterpret_cast<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT*>(next);
            atomics.shaderBufferFloat32AtomicAdd = atomics.shaderSharedFloat32AtomicAdd = false;
        }
    }
}

// Its macro is behind VK_ENABLE_BETA_EXTENSIONS.
constexpr const char* portability_subset = "VK_KHR_portability_subset";

VKAPI_ATTR VkResult VKAPI_CALL device_extensions(VkPhysicalDevice device, const char* layer, uint32_t* count,
                                                 VkExtensionProperties* extensions) {
    const VkResult result = instance_of(device).extensions(device, layer, count, extensions);
    // Renamed instead of removed: the caller has made room for the reported number.
    const char* const in_its_place = card().portability_subset ? portability_subset : "VK_PUMICE_hidden";
    if (extensions && !card().push_descriptors)
        for (uint32_t i = 0; i < *count; ++i)
            if (std::strcmp(extensions[i].extensionName, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME) == 0)
                std::snprintf(extensions[i].extensionName, VK_MAX_EXTENSION_NAME_SIZE, "%s", in_its_place);
    return result;
}

VkPhysicalDeviceMemoryProperties driver_memory(VkPhysicalDevice device) {
    VkPhysicalDeviceMemoryProperties m;
    instance_of(device).memory_properties(device, &m);
    return m;
}
VKAPI_ATTR void VKAPI_CALL memory_properties(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* m) {
    *m = card_memory(driver_memory(device), look_of(device));
}
VKAPI_ATTR void VKAPI_CALL memory_properties2(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2* m) {
    instance_of(device).memory_properties2(device, m);
    m->memoryProperties = card_memory(m->memoryProperties, look_of(device));
}

// ---- its queue families -------------------------------------------------------------------------------------------------------

/// The driver's index of any queue family of the card: software drivers have one family.
constexpr uint32_t driver_family = 0;

/// The card's queue families: `next` gets the driver's, and `of` the properties of an element.
template <class Element, class Next, class Of> void card_families(uint32_t* count, Element* out, const Next& next, const Of& of) {
    uint32_t one = 1;
    const uint32_t first = card().copies_first, all = first + one + card().computes_last;
    if (!out) return void(*count = all);
    *count = std::min(*count, all);
    for (uint32_t i = 0; i < *count; ++i) {
        next(&one, &out[i]);
        if (!card().time_stamps) of(out[i]).timestampValidBits = 0;
        if (i < first) of(out[i]) = {VK_QUEUE_TRANSFER_BIT, 1, 64, {1, 1, 1}};
        if (i > first) of(out[i]) = {VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 1, 0, {1, 1, 1}};
    }
}
VKAPI_ATTR void VKAPI_CALL families(VkPhysicalDevice device, uint32_t* count, VkQueueFamilyProperties* out) {
    const auto next = [&](uint32_t* n, VkQueueFamilyProperties* p) { instance_of(device).families(device, n, p); };
    card_families(count, out, next, [](VkQueueFamilyProperties& p) -> VkQueueFamilyProperties& { return p; });
}
VKAPI_ATTR void VKAPI_CALL families2(VkPhysicalDevice device, uint32_t* count, VkQueueFamilyProperties2* out) {
    const auto next = [&](uint32_t* n, VkQueueFamilyProperties2* p) { instance_of(device).families2(device, n, p); };
    card_families(count, out, next,
                  [](VkQueueFamilyProperties2& p) -> VkQueueFamilyProperties& { return p.queueFamilyProperties; });
}
VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice device, uint32_t, uint32_t index, VkQueue* queue) {
    device_of(device).get_queue(device, driver_family, index, queue);
}
VKAPI_ATTR void VKAPI_CALL get_queue2(VkDevice device, const VkDeviceQueueInfo2* info, VkQueue* queue) {
    VkDeviceQueueInfo2 below = *info;
    below.queueFamilyIndex = driver_family;
    device_of(device).get_queue2(device, &below, queue);
}
VKAPI_ATTR VkResult VKAPI_CALL make_pool(VkDevice device, const VkCommandPoolCreateInfo* info,
                                         const VkAllocationCallbacks* callbacks, VkCommandPool* pool) {
    VkCommandPoolCreateInfo below = *info;
    below.queueFamilyIndex = driver_family;
    return device_of(device).make_pool(device, &below, callbacks, pool);
}

// ---- its memory ---------------------------------------------------------------------------------------------------------------

VKAPI_ATTR void VKAPI_CALL buffer_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements* needs) {
    device_of(device).buffer_requirements(device, buffer, needs);
    needs->memoryTypeBits = types_of_buffers();
}
VKAPI_ATTR void VKAPI_CALL buffer_requirements2(VkDevice device, const VkBufferMemoryRequirementsInfo2* info,
                                                VkMemoryRequirements2* needs) {
    device_of(device).buffer_requirements2(device, info, needs);
    needs->memoryRequirements.memoryTypeBits = types_of_buffers();
}

/// Memory that the driver takes from a descriptor is memory of each type of the card.
VKAPI_ATTR VkResult VKAPI_CALL fd_properties(VkDevice handle, VkExternalMemoryHandleTypeFlagBits type, int fd,
                                             VkMemoryFdPropertiesKHR* memory) {
    Device& device = device_of(handle);
    const VkResult result = device.fd_properties(handle, type, fd, memory);
    if (result == VK_SUCCESS)
        memory->memoryTypeBits = memory->memoryTypeBits >> device.driver_memory_type & 1 ? types_of_buffers() : 0;
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice handle, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* callbacks,
                                        VkDeviceMemory* memory) {
    Device& device = device_of(handle);
    const bool is_local = memory_types()[info->memoryTypeIndex].propertyFlags & local;
    {
        const std::lock_guard lock(mutex);
        const VkDeviceSize most = is_local ? fault().local_bytes : fault().host_bytes;
        if (most > 0 && (is_local ? device.local_bytes : device.host_bytes) + info->allocationSize > most)
            return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    VkMemoryAllocateInfo below = *info;
    below.memoryTypeIndex = device.driver_memory_type;
    const VkResult result = device.allocate(handle, &below, callbacks, memory);
    if (result == VK_SUCCESS) {
        const std::lock_guard lock(mutex);
        device.memories[*memory] = {info->memoryTypeIndex, info->allocationSize, nullptr, {}};
        (is_local ? device.local_bytes : device.host_bytes) += info->allocationSize;
    }
    return result;
}
VKAPI_ATTR void VKAPI_CALL release(VkDevice handle, VkDeviceMemory memory, const VkAllocationCallbacks* callbacks) {
    Device& device = device_of(handle);
    if (memory) {
        const std::lock_guard lock(mutex);
        const Memory& gone = device.memories.at(memory);
        (memory_types()[gone.type].propertyFlags & local ? device.local_bytes : device.host_bytes) -= gone.bytes;
        device.memories.erase(memory);
    }
    device.release(handle, memory, callbacks);
}
VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice handle, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                                   VkMemoryMapFlags flags, void** data) {
    Device& device = device_of(handle);
    Memory* mapped;
    {
        const std::lock_guard lock(mutex);
        mapped = &device.memories.at(memory);
    }
    const VkMemoryPropertyFlags properties = memory_types()[mapped->type].propertyFlags;
    if (!(properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)) return VK_ERROR_MEMORY_MAP_FAILED;
    const VkResult result = device.map(handle, memory, offset, size, flags, data);
    if (result != VK_SUCCESS || (properties & visible) == visible) return result;
    mapped->driver_place = static_cast<std::byte*>(*data) - offset;
    mapped->host_copy.assign(mapped->bytes, std::byte(0xcd));
    *data = mapped->host_copy.data() + offset;
    return result;
}
VKAPI_ATTR VkResult VKAPI_CALL invalidate(VkDevice handle, uint32_t count, const VkMappedMemoryRange* ranges) {
    Device& device = device_of(handle);
    for (uint32_t i = 0; i < count; ++i) {
        Memory* mapped;
        {
            const std::lock_guard lock(mutex);
            mapped = &device.memories.at(ranges[i].memory);
        }
        const VkDeviceSize size = ranges[i].size == VK_WHOLE_SIZE ? mapped->bytes - ranges[i].offset : ranges[i].size;
        std::memcpy(mapped->host_copy.data() + ranges[i].offset, mapped->driver_place + ranges[i].offset, size);
    }
    return VK_SUCCESS;
}

// ---- its faults ---------------------------------------------------------------------------------------------------------------

bool is_lost(const Device& device) {
    const std::lock_guard lock(mutex);
    return device.is_lost;
}
/// A lost device stays so. Another one that is made in its place works.
VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
    static std::atomic<int> submissions = 0;
    Device& device = device_of(queue);
    if (is_lost(device)) return VK_ERROR_DEVICE_LOST;
    if (++submissions == fault().lost_at) {
        const std::lock_guard lock(mutex);
        device.is_lost = true;
        if (!fault().found_by_wait) return VK_ERROR_DEVICE_LOST;
    }
    return device.submit(queue, count, infos, fence);
}
// The driver's work is waited for in any case, so that it is done when its objects are destroyed.
VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkQueue queue) {
    const Device& device = device_of(queue);
    const VkResult result = device.wait_idle(queue);
    return is_lost(device) ? VK_ERROR_DEVICE_LOST : result;
}
VKAPI_ATTR VkResult VKAPI_CALL wait(VkDevice handle, const VkSemaphoreWaitInfo* info, uint64_t time) {
    const Device& device = device_of(handle);
    const VkResult result = device.wait(handle, info, time);
    return is_lost(device) ? VK_ERROR_DEVICE_LOST : result;
}
VKAPI_ATTR VkResult VKAPI_CALL counter(VkDevice handle, VkSemaphore semaphore, uint64_t* value) {
    const Device& device = device_of(handle);
    return is_lost(device) ? VK_ERROR_DEVICE_LOST : device.counter(handle, semaphore, value);
}
VKAPI_ATTR VkResult VKAPI_CALL make_module(VkDevice handle, const VkShaderModuleCreateInfo* info,
                                           const VkAllocationCallbacks* callbacks, VkShaderModule* module) {
    Device& device = device_of(handle);
    const VkResult result = device.make_module(handle, info, callbacks, module);
    constexpr uint32_t header_words = 5, op_capability = 17, float64 = 10;
    for (size_t at = header_words;
         result == VK_SUCCESS && at + 1 < info->codeSize / 4 && (info->pCode[at] & 0xffff) == op_capability; at += 2)
        if (info->pCode[at + 1] == float64) {
            const std::lock_guard lock(mutex);
            device.with_doubles.insert(*module);
        }
    return result;
}
VKAPI_ATTR VkResult VKAPI_CALL make_pipelines(VkDevice handle, VkPipelineCache cache, uint32_t count,
                                              const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* callbacks,
                                              VkPipeline* pipelines) {
    Device& device = device_of(handle);
    for (uint32_t i = 0; i < count && fault().lies; ++i) {
        const std::lock_guard lock(mutex);
        if (!device.with_doubles.count(infos[i].stage.module)) continue;
        std::fill(pipelines, pipelines + count, VkPipeline(VK_NULL_HANDLE));
        return VK_ERROR_UNKNOWN;
    }
    return device.make_pipelines(handle, cache, count, infos, callbacks, pipelines);
}

// ---- making and ending, and the loader's questions ----------------------------------------------------------------------------

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* callbacks,
                                               VkInstance* instance) {
    const auto* next = take_link<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    const PFN_vkGetInstanceProcAddr get = next->pfnNextGetInstanceProcAddr;
    const VkResult result = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"))(info, callbacks, instance);
    if (result != VK_SUCCESS) return result;
    Instance made;
    made.handle = *instance;
    made.get = get;
    ask(get, *instance, made.destroy, "vkDestroyInstance");
    ask(get, *instance, made.properties, "vkGetPhysicalDeviceProperties");
    ask(get, *instance, made.properties2, "vkGetPhysicalDeviceProperties2");
    ask(get, *instance, made.features2, "vkGetPhysicalDeviceFeatures2");
    ask(get, *instance, made.memory_properties, "vkGetPhysicalDeviceMemoryProperties");
    ask(get, *instance, made.memory_properties2, "vkGetPhysicalDeviceMemoryProperties2");
    ask(get, *instance, made.extensions, "vkEnumerateDeviceExtensionProperties");
    ask(get, *instance, made.families, "vkGetPhysicalDeviceQueueFamilyProperties");
    ask(get, *instance, made.families2, "vkGetPhysicalDeviceQueueFamilyProperties2");
    const std::lock_guard lock(mutex);
    instances[table_of(*instance)] = made;
    return result;
}
VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks* callbacks) {
    if (!handle) return;
    const Instance instance = instance_of(handle);
    void* const table = table_of(handle);
    instance.destroy(handle, callbacks);
    const std::lock_guard lock(mutex);
    instances.erase(table);
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* callbacks, VkDevice* device) {
    const auto* next = take_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    const PFN_vkGetDeviceProcAddr get = next->pfnNextGetDeviceProcAddr;
    const auto create =
        reinterpret_cast<PFN_vkCreateDevice>(next->pfnNextGetInstanceProcAddr(instance_of(physical).handle, "vkCreateDevice"));
    VkDeviceCreateInfo below = *info;
    std::vector<VkDeviceQueueCreateInfo> queues;
    for (uint32_t i = 0; i < info->queueCreateInfoCount; ++i) {
        VkDeviceQueueCreateInfo queue = info->pQueueCreateInfos[i];
        queue.queueFamilyIndex = driver_family;
        const auto same = [&](const VkDeviceQueueCreateInfo& one) { return one.queueFamilyIndex == queue.queueFamilyIndex; };
        if (std::none_of(queues.begin(), queues.end(), same)) queues.push_back(queue);
    }
    below.queueCreateInfoCount = uint32_t(queues.size());
    below.pQueueCreateInfos = queues.data();
    std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                        info->ppEnabledExtensionNames + info->enabledExtensionCount);
    std::erase_if(extensions, [](const char* name) { return std::strcmp(name, portability_subset) == 0; });
    below.enabledExtensionCount = uint32_t(extensions.size());
    below.ppEnabledExtensionNames = extensions.data();
    const VkResult result = create(physical, &below, callbacks, device);
    if (result != VK_SUCCESS) return result;
    Device made;
    made.handle = *device;
    made.get = get;
    ask(made.get, *device, made.destroy, "vkDestroyDevice");
    ask(made.get, *device, made.buffer_requirements, "vkGetBufferMemoryRequirements");
    ask(made.get, *device, made.buffer_requirements2, "vkGetBufferMemoryRequirements2");
    ask(made.get, *device, made.fd_properties, "vkGetMemoryFdPropertiesKHR");
    ask(made.get, *device, made.allocate, "vkAllocateMemory");
    ask(made.get, *device, made.release, "vkFreeMemory");
    ask(made.get, *device, made.map, "vkMapMemory");
    ask(made.get, *device, made.invalidate, "vkInvalidateMappedMemoryRanges");
    ask(made.get, *device, made.submit, "vkQueueSubmit");
    ask(made.get, *device, made.wait_idle, "vkQueueWaitIdle");
    ask(made.get, *device, made.wait, "vkWaitSemaphores");
    ask(made.get, *device, made.counter, "vkGetSemaphoreCounterValue");
    ask(made.get, *device, made.get_queue, "vkGetDeviceQueue");
    ask(made.get, *device, made.get_queue2, "vkGetDeviceQueue2");
    ask(made.get, *device, made.make_pool, "vkCreateCommandPool");
    ask(made.get, *device, made.make_module, "vkCreateShaderModule");
    ask(made.get, *device, made.make_pipelines, "vkCreateComputePipelines");
    made.driver_memory_type = driver_type(driver_memory(physical));
    const std::lock_guard lock(mutex);
    devices[table_of(*device)] = made;
    return result;
}
VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* callbacks) {
    if (!handle) return;
    void* const table = table_of(handle);
    device_of(handle).destroy(handle, callbacks);
    const std::lock_guard lock(mutex);
    devices.erase(table);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name);

PFN_vkVoidFunction of_devices(const std::string& name) {
    static const std::map<std::string, PFN_vkVoidFunction> ours = {
        {"vkGetDeviceProcAddr", plain(device_function)},
        {"vkDestroyDevice", plain(destroy_device)},
        {"vkGetBufferMemoryRequirements", plain(buffer_requirements)},
        {"vkGetBufferMemoryRequirements2", plain(buffer_requirements2)},
        {"vkGetBufferMemoryRequirements2KHR", plain(buffer_requirements2)},
        {"vkGetMemoryFdPropertiesKHR", plain(fd_properties)},
        {"vkAllocateMemory", plain(allocate)},
        {"vkFreeMemory", plain(release)},
        {"vkMapMemory", plain(map)},
        {"vkInvalidateMappedMemoryRanges", plain(card().in_reach ? invalidate : nullptr)},
        {"vkQueueSubmit", plain(submit)},
        {"vkQueueWaitIdle", plain(wait_idle)},
        {"vkWaitSemaphores", plain(wait)},
        {"vkGetSemaphoreCounterValue", plain(counter)},
        {"vkGetDeviceQueue", plain(get_queue)},
        {"vkGetDeviceQueue2", plain(get_queue2)},
        {"vkCreateCommandPool", plain(make_pool)},
        {"vkCreateShaderModule", plain(make_module)},
        {"vkCreateComputePipelines", plain(make_pipelines)},
    };
    const auto found = ours.find(name);
    return found == ours.end() ? nullptr : found->second;
}
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
    const PFN_vkVoidFunction drivers = device_of(device).get(device, name), ours = of_devices(name);
    return drivers && ours ? ours : drivers;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
    static const std::map<std::string, PFN_vkVoidFunction> ours = {
        {"vkGetInstanceProcAddr", plain(instance_function)},
        {"vkCreateInstance", plain(create_instance)},
        {"vkDestroyInstance", plain(destroy_instance)},
        {"vkCreateDevice", plain(create_device)},
        {"vkGetPhysicalDeviceProperties", plain(properties)},
        {"vkGetPhysicalDeviceProperties2", plain(properties2)},
        {"vkGetPhysicalDeviceProperties2KHR", plain(properties2)},
        {"vkGetPhysicalDeviceFeatures2", plain(features2)},
        {"vkGetPhysicalDeviceFeatures2KHR", plain(features2)},
        {"vkGetPhysicalDeviceMemoryProperties", plain(memory_properties)},
        {"vkGetPhysicalDeviceMemoryProperties2", plain(memory_properties2)},
        {"vkGetPhysicalDeviceMemoryProperties2KHR", plain(memory_properties2)},
        {"vkEnumerateDeviceExtensionProperties", plain(device_extensions)},
        {"vkGetPhysicalDeviceQueueFamilyProperties", plain(families)},
        {"vkGetPhysicalDeviceQueueFamilyProperties2", plain(families2)},
        {"vkGetPhysicalDeviceQueueFamilyProperties2KHR", plain(families2)},
    };
    if (const auto found = ours.find(name); found != ours.end()) return found->second;
    if (const auto found = of_devices(name)) return found;
    return instance ? instance_of(instance).get(instance, name) : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
    return layer::negotiate(version, instance_function, device_function);
}
