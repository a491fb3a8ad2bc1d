// A Vulkan layer that makes a usable device of RADV's null device: RADV with RADV_FORCE_FAMILY compiles shaders for a processor
// that the machine does not have. The null device has no memory types, records no commands and signals no semaphores. The layer
// adds them: memory is the host's, commands do nothing, and a submission is done at once. So programs open the device and run to
// their end. Nothing is computed; the tests look at the compiled code.
//
// PUMICE_TEST_PIPELINES names a file. For every compute pipeline the layer appends a line to it (tests/radv/pipelines.h reads
// them):
//     instructions=20 vgprs=8 sgprs=128 spilled_vgprs=0 spilled_sgprs=0 scratch=0 latency=850
#include <vulkan/vk_icd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/layers/layer.h"

namespace {

using layer::ask, layer::plain, layer::table_of, layer::take_link;

[[noreturn]] void stop(const char* why) {
    std::fprintf(stderr, "null_card_layer: %s\n", why);
    std::abort();
}

// ---- the functions of the driver, by the loader's tables ----------------------------------------------------------------------

struct Instance {
    VkInstance handle{};
    PFN_vkGetInstanceProcAddr get{};
    PFN_vkDestroyInstance destroy{};
    PFN_vkGetPhysicalDeviceMemoryProperties2 memory_properties2{};
};
struct Device {
    PFN_vkGetDeviceProcAddr get{};
    PFN_vkDestroyDevice destroy{};
    PFN_vkGetBufferMemoryRequirements buffer_requirements{};
    PFN_vkGetBufferMemoryRequirements2 buffer_requirements2{};
    PFN_vkCreateComputePipelines create_pipelines{};
    PFN_vkGetPipelineExecutablePropertiesKHR executables{};
    PFN_vkGetPipelineExecutableStatisticsKHR statistics{};
};

std::mutex mutex;
// Never destroyed: static objects of a program may destroy devices after the static objects of this library are gone.
std::map<void*, Instance>& instances = *new std::map<void*, Instance>;
std::map<void*, Device>& devices = *new std::map<void*, Device>;

template <class Handle> Instance instance_of(Handle handle) {
    const std::lock_guard lock(mutex);
    return instances.at(table_of(handle));
}
template <class Handle> Device device_of(Handle handle) {
    const std::lock_guard lock(mutex);
    return devices.at(table_of(handle));
}

/// The layer's own objects; their handles are their addresses.
template <class Handle, class Object> Handle handle_of(Object* object) { return reinterpret_cast<Handle>(object); }
template <class Object, class Handle> Object& object_of(Handle handle) { return *reinterpret_cast<Object*>(handle); }

// ---- memory -------------------------------------------------------------------------------------------------------------------

constexpr VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryType memory_types[] = {
    {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0},
    {visible, 1},
    {visible | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 1},
};
constexpr VkMemoryHeap heaps[] = {{VkDeviceSize(8) << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}, {VkDeviceSize(16) << 30, 0}};
constexpr uint32_t all_types = (1u << std::size(memory_types)) - 1;

/// The system provides pages when memory is mapped, and only those that are touched.
struct Memory {
    size_t bytes = 0;
    std::unique_ptr<void, decltype(&std::free)> pages{nullptr, std::free};
};

VKAPI_ATTR void VKAPI_CALL memory_properties(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* m) {
    *m = {};
    m->memoryTypeCount = std::size(memory_types);
    std::copy(std::begin(memory_types), std::end(memory_types), m->memoryTypes);
    m->memoryHeapCount = std::size(heaps);
    std::copy(std::begin(heaps), std::end(heaps), m->memoryHeaps);
}
VKAPI_ATTR void VKAPI_CALL memory_properties2(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2* m) {
    instance_of(device).memory_properties2(device, m);
    memory_properties(device, &m->memoryProperties);
}

VKAPI_ATTR void VKAPI_CALL buffer_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements* needs) {
    device_of(device).buffer_requirements(device, buffer, needs);
    needs->memoryTypeBits = all_types;
}
VKAPI_ATTR void VKAPI_CALL buffer_requirements2(VkDevice device, const VkBufferMemoryRequirementsInfo2* info,
                                                VkMemoryRequirements2* needs) {
    device_of(device).buffer_requirements2(device, info, needs);
    needs->memoryRequirements.memoryTypeBits = all_types;
}

VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                                        VkDeviceMemory* memory) {
    *memory = handle_of<VkDeviceMemory>(new Memory{.bytes = size_t(info->allocationSize)});
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL release(VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*) {
    if (memory) delete &object_of<Memory>(memory);
}
VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice, VkDeviceMemory handle, VkDeviceSize offset, VkDeviceSize, VkMemoryMapFlags,
                                   void** data) {
    auto& memory = object_of<Memory>(handle);
    if (!memory.pages) memory.pages.reset(std::calloc(1, memory.bytes));
    if (!memory.pages) return VK_ERROR_MEMORY_MAP_FAILED;
    *data = static_cast<char*>(memory.pages.get()) + offset;
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL unmap(VkDevice, VkDeviceMemory) {}
VKAPI_ATTR VkResult VKAPI_CALL flush(VkDevice, uint32_t, const VkMappedMemoryRange*) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL bind_buffer(VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize) { return VK_SUCCESS; }
/// Nobody reads at this address. It must differ between buffers, and from null.
VKAPI_ATTR VkDeviceAddress VKAPI_CALL buffer_address(VkDevice, const VkBufferDeviceAddressInfo* info) {
    return VkDeviceAddress(reinterpret_cast<uintptr_t>(info->buffer)) << 8;
}

// ---- commands: none is recorded -----------------------------------------------------------------------------------------------

struct CommandBuffer {
    VK_LOADER_DATA loader;  ///< the loader puts its table there
};
struct CommandPool {
    std::vector<std::unique_ptr<CommandBuffer>> buffers;
};

VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice, const VkCommandPoolCreateInfo*, const VkAllocationCallbacks*,
                                           VkCommandPool* pool) {
    *pool = handle_of<VkCommandPool>(new CommandPool);
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice, VkCommandPool pool, const VkAllocationCallbacks*) {
    if (pool) delete &object_of<CommandPool>(pool);
}
VKAPI_ATTR VkResult VKAPI_CALL reset_pool(VkDevice, VkCommandPool, VkCommandPoolResetFlags) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL allocate_commands(VkDevice, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* made) {
    auto& pool = object_of<CommandPool>(info->commandPool);
    for (uint32_t i = 0; i < info->commandBufferCount; ++i) {
        pool.buffers.push_back(std::make_unique<CommandBuffer>());
        set_loader_magic_value(pool.buffers.back().get());
        made[i] = handle_of<VkCommandBuffer>(pool.buffers.back().get());
    }
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL free_commands(VkDevice, VkCommandPool, uint32_t, const VkCommandBuffer*) {}  // they go with their pool
VKAPI_ATTR VkResult VKAPI_CALL begin_commands(VkCommandBuffer, const VkCommandBufferBeginInfo*) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL end_commands(VkCommandBuffer) { return VK_SUCCESS; }

/// The vkCmd function of a type, which does nothing.
template <class F> struct Nothing;
template <class... A> struct Nothing<void (*)(A...)> {
    static VKAPI_ATTR void VKAPI_CALL call(A...) {}
};
/// Reports to a program that needs another function that the driver lacks it.
PFN_vkVoidFunction command(std::string_view name) {
#define NOTHING(name) {"vk" #name, plain(Nothing<PFN_vk##name>::call)}
    static const std::map<std::string_view, PFN_vkVoidFunction> all = {
        NOTHING(CmdBindPipeline),     NOTHING(CmdBindDescriptorSets), NOTHING(CmdPushDescriptorSetKHR),
        NOTHING(CmdPushConstants),    NOTHING(CmdDispatch),           NOTHING(CmdDispatchBase),
        NOTHING(CmdDispatchIndirect), NOTHING(CmdPipelineBarrier),    NOTHING(CmdCopyBufferToImage),
        NOTHING(CmdCopyImage),        NOTHING(CmdCopyImageToBuffer),  NOTHING(CmdClearColorImage),
        NOTHING(CmdFillBuffer),       NOTHING(CmdCopyBuffer),         NOTHING(CmdUpdateBuffer),
        NOTHING(CmdResetQueryPool),   NOTHING(CmdWriteTimestamp),
    };
#undef NOTHING
    const auto found = all.find(name);
    return found == all.end() ? nullptr : found->second;
}

// ---- queue, semaphores, fences and queries: a submission is done at once ------------------------------------------------------

struct Semaphore {
    uint64_t value = 0;  ///< with semaphores_mutex
};
std::mutex semaphores_mutex;
std::condition_variable semaphores_changed;

void signal(VkSemaphore semaphore, uint64_t value) {
    const std::lock_guard lock(semaphores_mutex);
    object_of<Semaphore>(semaphore).value = value;
    semaphores_changed.notify_all();
}

VKAPI_ATTR VkResult VKAPI_CALL create_semaphore(VkDevice, const VkSemaphoreCreateInfo* info, const VkAllocationCallbacks*,
                                                VkSemaphore* semaphore) {
    auto made = std::make_unique<Semaphore>();
    for (auto* next = static_cast<const VkBaseInStructure*>(info->pNext); next; next = next->pNext)
        if (next->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
            made->value = reinterpret_cast<const VkSemaphoreTypeCreateInfo*>(next)->initialValue;
    *semaphore = handle_of<VkSemaphore>(made.release());
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL destroy_semaphore(VkDevice, VkSemaphore semaphore, const VkAllocationCallbacks*) {
    if (semaphore) delete &object_of<Semaphore>(semaphore);
}
VKAPI_ATTR VkResult VKAPI_CALL counter_value(VkDevice, VkSemaphore semaphore, uint64_t* value) {
    const std::lock_guard lock(semaphores_mutex);
    *value = object_of<Semaphore>(semaphore).value;
    return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL signal_from_host(VkDevice, const VkSemaphoreSignalInfo* info) {
    signal(info->semaphore, info->value);
    return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL wait(VkDevice, const VkSemaphoreWaitInfo* info, uint64_t nanoseconds) {
    constexpr uint64_t hour = 3'600'000'000'000;  // longer ones do not fit the clock
    const auto reached = [&](uint32_t i) { return object_of<Semaphore>(info->pSemaphores[i]).value >= info->pValues[i]; };
    const auto done = [&] {
        uint32_t count = 0;
        for (uint32_t i = 0; i < info->semaphoreCount; ++i) count += reached(i);
        return (info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) ? count > 0 : count == info->semaphoreCount;
    };
    std::unique_lock lock(semaphores_mutex);
    return semaphores_changed.wait_for(lock, std::chrono::nanoseconds(std::min(nanoseconds, hour)), done) ? VK_SUCCESS
                                                                                                          : VK_TIMEOUT;
}

/// Fences are only waited for after a submission, so that every fence counts as signalled.
struct Fence {};

VKAPI_ATTR VkResult VKAPI_CALL create_fence(VkDevice, const VkFenceCreateInfo*, const VkAllocationCallbacks*, VkFence* fence) {
    *fence = handle_of<VkFence>(new Fence);
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL destroy_fence(VkDevice, VkFence fence, const VkAllocationCallbacks*) {
    if (fence) delete &object_of<Fence>(fence);
}
VKAPI_ATTR VkResult VKAPI_CALL wait_for_fences(VkDevice, uint32_t, const VkFence*, VkBool32, uint64_t) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL reset_fences(VkDevice, uint32_t, const VkFence*) { return VK_SUCCESS; }

/// The result of every query is 0, and available at once.
struct QueryPool {};

VKAPI_ATTR VkResult VKAPI_CALL create_queries(VkDevice, const VkQueryPoolCreateInfo*, const VkAllocationCallbacks*,
                                              VkQueryPool* pool) {
    *pool = handle_of<VkQueryPool>(new QueryPool);
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL destroy_queries(VkDevice, VkQueryPool pool, const VkAllocationCallbacks*) {
    if (pool) delete &object_of<QueryPool>(pool);
}
VKAPI_ATTR VkResult VKAPI_CALL query_results(VkDevice, VkQueryPool, uint32_t, uint32_t, size_t bytes, void* results, VkDeviceSize,
                                             VkQueryResultFlags) {
    std::memset(results, 0, bytes);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue, uint32_t count, const VkSubmitInfo* submissions, VkFence) {
    for (const VkSubmitInfo& one : std::vector(submissions, submissions + count))
        for (auto* next = static_cast<const VkBaseInStructure*>(one.pNext); next; next = next->pNext) {
            if (next->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO) continue;
            const auto& values = *reinterpret_cast<const VkTimelineSemaphoreSubmitInfo*>(next);
            for (uint32_t i = 0; i < values.signalSemaphoreValueCount; ++i)
                signal(one.pSignalSemaphores[i], values.pSignalSemaphoreValues[i]);
        }
    return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL queue_idle(VkQueue) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL device_idle(VkDevice) { return VK_SUCCESS; }

// ---- pipelines: what the driver says of their code ----------------------------------------------------------------------------

struct Column {
    const char* name;       ///< in the file
    const char* statistic;  ///< RADV's
    uint64_t value = 0;
};

uint64_t number(const VkPipelineExecutableStatisticKHR& s) {
    switch (s.format) {
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: return s.value.u64;
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: return uint64_t(s.value.i64);
        default: stop("a statistic is no integer");
    }
}

/// The statistics of a compute pipeline, which is one executable.
std::vector<VkPipelineExecutableStatisticKHR> statistics_of(VkDevice handle, VkPipeline pipeline) {
    const Device device = device_of(handle);
    VkPipelineInfoKHR which{VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, nullptr, pipeline};
    uint32_t count = 0;
    device.executables(handle, &which, &count, nullptr);
    if (count != 1) stop("a compute pipeline is not one executable");
    VkPipelineExecutableInfoKHR executable{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, nullptr, pipeline, 0};
    device.statistics(handle, &executable, &count, nullptr);
    VkPipelineExecutableStatisticKHR empty{};
    empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    std::vector<VkPipelineExecutableStatisticKHR> all(count, empty);
    device.statistics(handle, &executable, &count, all.data());
    return all;
}

void record(VkDevice device, VkPipeline pipeline, const char* path) {
    Column columns[] = {{"instructions", "Instructions"},
                        {"vgprs", "VGPRs"},
                        {"sgprs", "SGPRs"},
                        {"spilled_vgprs", "Spilled VGPRs"},
                        {"spilled_sgprs", "Spilled SGPRs"},
                        {"scratch", "Scratch size"},
                        {"latency", "Latency"}};
    const auto statistics = statistics_of(device, pipeline);
    std::string line;
    for (Column& c : columns) {
        const auto found = std::find_if(statistics.begin(), statistics.end(),
                                        [&](const auto& s) { return std::strcmp(s.name, c.statistic) == 0; });
        if (found == statistics.end()) stop((std::string("the driver has no statistic \"") + c.statistic + "\"").c_str());
        line += std::string(line.empty() ? "" : " ") + c.name + "=" + std::to_string(number(*found));
    }
    const std::lock_guard lock(mutex);
    std::FILE* const file = std::fopen(path, "a");
    if (!file) stop("the file that PUMICE_TEST_PIPELINES names cannot be written");
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
}

VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* callbacks,
                                                VkPipeline* pipelines) {
    const char* const path = std::getenv("PUMICE_TEST_PIPELINES");
    std::vector<VkComputePipelineCreateInfo> with(infos, infos + count);
    for (auto& info : with) info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    const VkResult result = device_of(device).create_pipelines(device, cache, count, with.data(), callbacks, pipelines);
    for (uint32_t i = 0; i < count && path && *path && result == VK_SUCCESS; ++i) record(device, pipelines[i], path);
    return result;
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
    ask(get, *instance, made.memory_properties2, "vkGetPhysicalDeviceMemoryProperties2");
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

/// Enables what statistics of pipelines need.
VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* callbacks, VkDevice* device) {
    const auto* next = take_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    const PFN_vkGetDeviceProcAddr get = next->pfnNextGetDeviceProcAddr;
    const auto create =
        reinterpret_cast<PFN_vkCreateDevice>(next->pfnNextGetInstanceProcAddr(instance_of(physical).handle, "vkCreateDevice"));

    std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                        info->ppEnabledExtensionNames + info->enabledExtensionCount);
    extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR feature{};
    feature.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
    feature.pNext = const_cast<void*>(info->pNext);
    feature.pipelineExecutableInfo = true;
    VkDeviceCreateInfo with = *info;
    with.pNext = &feature;
    with.enabledExtensionCount = uint32_t(extensions.size());
    with.ppEnabledExtensionNames = extensions.data();
    const VkResult result = create(physical, &with, callbacks, device);
    if (result != VK_SUCCESS) return result;

    Device made;
    made.get = get;
    ask(get, *device, made.destroy, "vkDestroyDevice");
    ask(get, *device, made.buffer_requirements, "vkGetBufferMemoryRequirements");
    ask(get, *device, made.buffer_requirements2, "vkGetBufferMemoryRequirements2");
    ask(get, *device, made.create_pipelines, "vkCreateComputePipelines");
    ask(get, *device, made.executables, "vkGetPipelineExecutablePropertiesKHR");
    ask(get, *device, made.statistics, "vkGetPipelineExecutableStatisticsKHR");
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

PFN_vkVoidFunction of_devices(std::string_view name) {
    static const std::map<std::string_view, PFN_vkVoidFunction> ours = {
        {"vkGetDeviceProcAddr", plain(device_function)},
        {"vkDestroyDevice", plain(destroy_device)},
        {"vkGetBufferMemoryRequirements", plain(buffer_requirements)},
        {"vkGetBufferMemoryRequirements2", plain(buffer_requirements2)},
        {"vkAllocateMemory", plain(allocate)},
        {"vkFreeMemory", plain(release)},
        {"vkMapMemory", plain(map)},
        {"vkUnmapMemory", plain(unmap)},
        {"vkFlushMappedMemoryRanges", plain(flush)},
        {"vkInvalidateMappedMemoryRanges", plain(flush)},
        {"vkBindBufferMemory", plain(bind_buffer)},
        {"vkGetBufferDeviceAddress", plain(buffer_address)},
        {"vkCreateCommandPool", plain(create_pool)},
        {"vkDestroyCommandPool", plain(destroy_pool)},
        {"vkResetCommandPool", plain(reset_pool)},
        {"vkAllocateCommandBuffers", plain(allocate_commands)},
        {"vkFreeCommandBuffers", plain(free_commands)},
        {"vkBeginCommandBuffer", plain(begin_commands)},
        {"vkEndCommandBuffer", plain(end_commands)},
        {"vkCreateSemaphore", plain(create_semaphore)},
        {"vkDestroySemaphore", plain(destroy_semaphore)},
        {"vkGetSemaphoreCounterValue", plain(counter_value)},
        {"vkSignalSemaphore", plain(signal_from_host)},
        {"vkWaitSemaphores", plain(wait)},
        {"vkCreateFence", plain(create_fence)},
        {"vkDestroyFence", plain(destroy_fence)},
        {"vkWaitForFences", plain(wait_for_fences)},
        {"vkResetFences", plain(reset_fences)},
        {"vkCreateQueryPool", plain(create_queries)},
        {"vkDestroyQueryPool", plain(destroy_queries)},
        {"vkGetQueryPoolResults", plain(query_results)},
        {"vkQueueSubmit", plain(submit)},
        {"vkQueueWaitIdle", plain(queue_idle)},
        {"vkDeviceWaitIdle", plain(device_idle)},
        {"vkCreateComputePipelines", plain(create_pipelines)},
    };
    const auto found = ours.find(name);
    return found == ours.end() ? nullptr : found->second;
}
bool is_command(std::string_view name) { return name.starts_with("vkCmd"); }
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
    if (is_command(name)) return command(name);
    if (const auto ours = of_devices(name)) return ours;
    return device_of(device).get(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
    static const std::map<std::string_view, PFN_vkVoidFunction> ours = {
        {"vkGetInstanceProcAddr", plain(instance_function)},
        {"vkCreateInstance", plain(create_instance)},
        {"vkDestroyInstance", plain(destroy_instance)},
        {"vkCreateDevice", plain(create_device)},
        {"vkGetPhysicalDeviceMemoryProperties", plain(memory_properties)},
        {"vkGetPhysicalDeviceMemoryProperties2", plain(memory_properties2)},
        {"vkGetPhysicalDeviceMemoryProperties2KHR", plain(memory_properties2)},
    };
    if (const auto found = ours.find(name); found != ours.end()) return found->second;
    if (is_command(name)) return command(name);
    if (const auto found = of_devices(name)) return found;
    return instance ? instance_of(instance).get(instance, name) : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
    return layer::negotiate(version, instance_function, device_function);
}
