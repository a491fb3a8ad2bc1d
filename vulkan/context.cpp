#include "vulkan/context.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <utility>

#include "codegen/glsl/codegen.h"
#include "core/support/error.h"
#include "runtime/vulkan_rules/fork_rule.h"
#include "runtime/vulkan_rules/object_rules.h"

namespace pumice::vulkan {
namespace {

namespace rules = pumice_rt::vulkan;
using rules::validation_layer;

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
    if (!is_fault(data->pMessageIdName)) return VK_FALSE;
    std::fprintf(stderr, "pumice: Vulkan validation: %s\n", data->pMessage);
    static_cast<Messages*>(user)->add(data->pMessage);
    return VK_FALSE;
}

template <class Property, class Enumerate> std::vector<Property> enumerate(Enumerate&& call) {
    uint32_t count = 0;
    call(&count, nullptr);
    std::vector<Property> found(count);
    call(&count, found.data());
    found.resize(count);
    return found;
}

bool has_layer(const GlobalFunctions& vk, const char* name) {
    for (const auto& layer : enumerate<VkLayerProperties>(vk.EnumerateInstanceLayerProperties))
        if (std::strcmp(layer.layerName, name) == 0) return true;
    return false;
}

bool has_extension(const GlobalFunctions& vk, const char* name) {
    const auto all = [&](uint32_t* count, VkExtensionProperties* found) {
        return vk.EnumerateInstanceExtensionProperties(nullptr, count, found);
    };
    for (const auto& extension : enumerate<VkExtensionProperties>(all))
        if (std::strcmp(extension.extensionName, name) == 0) return true;
    return false;
}

}  // namespace

void Messages::add(std::string message) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(message));
}

std::string Messages::take() {
    const std::lock_guard lock(mutex);
    std::string all;
    for (const std::string& message : waiting) all += (all.empty() ? "" : "\n") + message;
    waiting.clear();
    return all;
}

Instance* Instance::get(bool validate, std::string& reason) {
    struct CachedInstance {
        Instance instance;
        std::string reason;
        bool made = false;
    };
    static std::mutex mutex;
    static CachedInstance* const entries = new CachedInstance[2];
    const std::lock_guard lock(mutex);
    CachedInstance& entry = entries[validate];
    if (!entry.made) {
        const GlobalFunctions* global = global_functions(entry.reason);
        if (global) entry.reason = entry.instance.create(*global, validate);
        entry.made = entry.reason.empty();
    }
    reason = entry.reason;
    return entry.made ? &entry.instance : nullptr;
}

std::string Instance::create(const GlobalFunctions& global, bool validate) {
    auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
    application.pEngineName = "pumice";
    application.apiVersion = VK_API_VERSION_1_3;  // the highest version used; devices of 1.2 work too

    std::vector<const char*> extensions, layers;
    auto info = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
    info.pApplicationInfo = &application;
    if (has_extension(global, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
        extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
        info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }
    // Synchronisation validation finds missing barriers that have no effect on software drivers.
    const VkValidationFeatureEnableEXT enable[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    auto features = structure<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
    features.enabledValidationFeatureCount = 1;
    features.pEnabledValidationFeatures = enable;
    VkDebugUtilsMessengerCreateInfoEXT debug = rules::messenger_info(on_message, &messages);
    if (validate) {
        if (!has_layer(global, validation_layer))
            return text("PUMICE_VALIDATE is set, but the Vulkan layer ", validation_layer,
                        " is not installed (Debian's package is vulkan-validationlayers)");
        layers.push_back(validation_layer);
        features.pNext = &debug;
        info.pNext = &features;
    }
    if (validate || (names_are_wanted() && has_extension(global, VK_EXT_DEBUG_UTILS_EXTENSION_NAME)))
        extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    info.enabledExtensionCount = uint32_t(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    info.enabledLayerCount = uint32_t(layers.size());
    info.ppEnabledLayerNames = layers.data();
    const VkResult result = global.CreateInstance(&info, nullptr, &handle);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) return "there is no Vulkan driver";
    if (result != VK_SUCCESS) return "vkCreateInstance fails with " + name_of(result);
    vk = instance_functions(global, handle);
    validates = validate;
    if (validate && vk.CreateDebugUtilsMessengerEXT) vk.CreateDebugUtilsMessengerEXT(handle, &debug, nullptr, &messenger);
    return "";
}

std::vector<VkPhysicalDevice> Instance::physical_devices() const {
    return enumerate<VkPhysicalDevice>(
        [&](uint32_t* count, VkPhysicalDevice* found) { return vk.EnumeratePhysicalDevices(handle, count, found); });
}

namespace {

std::atomic<int> open_contexts = 0;
std::atomic<bool> forked_while_open = false;  ///< drivers wait for threads that this process lacks

using rules::after_fork;

}  // namespace

Context::Context(const Origin& origin, Snapshot what, DevicePlan how, std::string name_)
    : name(std::move(name_)),
      snapshot(std::move(what)),
      plan(std::move(how)),
      validates(origin.messages),
      wrapped(origin.application),
      names(origin.vk),
      messages(origin.messages) {
    static const int watched =
        pthread_atfork(nullptr, nullptr, [] { forked_while_open = forked_while_open || open_contexts > 0; });
    if (watched != 0) fail("the device ", name, " cannot be opened: the process has no memory for a handler of forks");
    if (forked_while_open)
        fail("the device ", name, " is opened in a process that was forked while a Vulkan device was open", after_fork);
    if (const Application* application = origin.application) {
        device = application->device;
        queue = application->queue;
        lock = application->lock;
        unlock = application->unlock;
        pipeline_cache = application->pipeline_cache;
        allocate_memory = application->allocate;
        free_memory = application->free;
    } else {
        make_device(origin);
    }
    vk = device_functions(origin.vk, device);
    const auto refuse = [&](const std::string& reason) {
        if (!wrapped && vk.DestroyDevice) vk.DestroyDevice(device, nullptr);
        fail("the device ", name, " cannot be used: ", reason);
    };
    if (const std::string none = missing(vk); !none.empty()) refuse("its driver has no " + none);
    snapshot.buffer_memory_types = rules::memory_types_of(vk, device, buffer_info(plan.alignment));
    plan_memory(snapshot, plan);
    if (!plan.unusable.empty()) refuse(plan.unusable);
    if (!wrapped) vk.GetDeviceQueue(device, plan.queue_family, 0, &queue);
    calibrates = reads_both_clocks(origin);
    ++open_contexts;
}

/// True if VK_EXT_calibrated_timestamps is enabled and reads the host's steady clock.
bool Context::reads_both_clocks(const Origin& origin) const {
    const auto enabled = [&] {
        if (wrapped) return snapshot.has(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);  // of an application: what it has enabled
        return std::ranges::any_of(plan.extensions, [](const char* name) {
            return std::strcmp(name, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) == 0;
        });
    };
    const auto ask = origin.vk.GetPhysicalDeviceCalibrateableTimeDomainsEXT;
    if (!enabled() || !ask || !vk.GetCalibratedTimestampsEXT) return false;
    const auto domains =
        enumerate<VkTimeDomainEXT>([&](uint32_t* count, VkTimeDomainEXT* found) { return ask(origin.physical, count, found); });
    const auto has = [&](VkTimeDomainEXT one) { return std::ranges::find(domains, one) != domains.end(); };
    return has(VK_TIME_DOMAIN_DEVICE_EXT) && has(VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT);
}

void Context::make_device(const Origin& origin) {
    const VkDeviceQueueCreateInfo queue_info = rules::queue_info(plan.queue_family);
    auto atomics = structure<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT);
    atomics.shaderBufferFloat32Atomics = atomics.shaderBufferFloat32AtomicAdd = plan.options.float_atomics;
    atomics.shaderSharedFloat32Atomics = atomics.shaderSharedFloat32AtomicAdd = plan.options.local_float_atomics;
    auto sizes =
        structure<VkPhysicalDeviceSubgroupSizeControlFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
    sizes.subgroupSizeControl = true;
    sizes.computeFullSubgroups = plan.full_subgroups;
    auto v12 = structure<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    if (plan.options.float_atomics || plan.options.local_float_atomics) v12.pNext = &atomics;
    if (plan.required_subgroup_size > 0) sizes.pNext = std::exchange(v12.pNext, &sizes);
    v12.timelineSemaphore = true;
    v12.bufferDeviceAddress = plan.device_addresses;
    v12.scalarBlockLayout = plan.scalar_block_layout;
    v12.storageBuffer8BitAccess = plan.options.byte_storage;
    v12.shaderInt8 = plan.int8;
    v12.shaderFloat16 = plan.float16;
    v12.shaderSubgroupExtendedTypes = (plan.options.subgroups & codegen::Subgroups::int64) != 0;
    v12.shaderBufferInt64Atomics = plan.options.int64_atomics;
    v12.shaderSharedInt64Atomics = plan.options.local_int64_atomics;
    auto v11 = structure<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &v12);
    v11.storageBuffer16BitAccess = plan.options.short_storage;
    auto features = structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &v11);
    features.features.shaderStorageImageExtendedFormats = plan.extended_formats;
    features.features.shaderStorageImageReadWithoutFormat = plan.reads_any_format;
    features.features.shaderStorageImageWriteWithoutFormat = plan.writes_any_format;
    features.features.shaderInt16 = plan.int16;
    features.features.shaderInt64 = plan.int64;
    features.features.shaderFloat64 = plan.float64;

    auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features);
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue_info;
    info.enabledExtensionCount = uint32_t(plan.extensions.size());
    info.ppEnabledExtensionNames = plan.extensions.data();
    check(origin.vk.CreateDevice(origin.physical, &info, nullptr, &device), "vkCreateDevice");
}

VkBufferCreateInfo Context::buffer_info(int64_t bytes) const { return rules::buffer_info(bytes, plan.device_addresses, wrapped); }

Context::~Context() {
    --open_contexts;
    if (device && !wrapped) vk.DestroyDevice(device, nullptr);
    // The validation layer believes that a lost device still works, and reports every object that is destroyed.
    if (lost && messages) messages->take();
}

VkResult Context::submit(const VkSubmitInfo& info) {
    if (lock) lock();
    const VkResult result = vk.QueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
    if (unlock) unlock();
    return result;
}

/// Not vkDeviceWaitIdle, which would need all of an application's queues.
VkResult Context::wait_idle() {
    if (lock) lock();
    const VkResult result = vk.QueueWaitIdle(queue);
    if (unlock) unlock();
    return result;
}

void Context::barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written, VkPipelineStageFlags to,
                      VkAccessFlags used, std::span<const VkImageMemoryBarrier> transitions) const {
    auto memory = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    memory.srcAccessMask = written;
    memory.dstAccessMask = used;
    std::vector<VkImageMemoryBarrier> images(transitions.begin(), transitions.end());
    for (VkImageMemoryBarrier& image : images) image.srcAccessMask = written, image.dstAccessMask = used;
    vk.CmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, nullptr, uint32_t(images.size()), images.data());
}

VkDescriptorSet Context::descriptor_set(VkDescriptorPool pool, VkDescriptorSetLayout layout, bool fresh) {
    auto info = structure<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    info.descriptorPool = pool;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult result = vk.AllocateDescriptorSets(device, &info, &set);
    if (result == VK_SUCCESS) return set;
    if (fresh || (result != VK_ERROR_OUT_OF_POOL_MEMORY && result != VK_ERROR_FRAGMENTED_POOL))
        check(result, "vkAllocateDescriptorSets");
    return VK_NULL_HANDLE;
}

void Context::check(VkResult result, const char* call) {
    if (result == VK_SUCCESS) return;
    if (result == VK_ERROR_DEVICE_LOST) {
        lost = true;
        require_alive();
    }
    fail(call, " fails on ", name, " with ", name_of(result));
}

void Context::require_alive() const {
    if (forked_while_open) fail("the device ", name, " was opened before this process was forked", after_fork);
    if (lost)
        fail("the device ", name, " is lost: the driver has given it up (VK_ERROR_DEVICE_LOST), and its arrays with it; ",
             wrapped ? "the application has to make a new one" : "it can be opened again");
}

void Context::raise_messages() {
    const std::string all = messages->take();
    if (!all.empty()) fail("the Vulkan validation layer finds a fault on ", name, ": ", all);
}

}  // namespace pumice::vulkan
