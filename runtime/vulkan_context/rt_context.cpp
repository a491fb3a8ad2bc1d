// A logical device and its queue: made with the features and extensions of the plan, or an application's.
#include "runtime/vulkan_context/rt_context.h"

#include "runtime/vulkan_rules/fork_rule.h"
#include "runtime/vulkan_rules/object_rules.h"

namespace pumice_rt::vulkan {

pumice_status open_after_fork(const char* device) {
    return fail(PUMICE_ERROR_DEVICE, "the device %s is opened in a process that was forked while a Vulkan device was open%s",
                device, after_fork);
}

pumice_status Context::open(const Origin& origin) {
    if (const pumice_vulkan_device* application = origin.application) {
        wrapped = true;
        device = static_cast<VkDevice>(application->device);
        queue = static_cast<VkQueue>(application->queue);
        user = application->user;
        lock = application->lock;
        unlock = application->unlock;
    } else {
        RT_TRY(make_device(origin));
    }
    if (const char* none = load_device(origin.vk, device, vk))
        return fail(PUMICE_ERROR_DEVICE, "the device %s cannot be used: its driver has no %s", name, none);
    if (!wrapped) vk.GetDeviceQueue(device, plan.queue_family, 0, &queue);
    facts.buffer_memory_types = memory_types_of(vk, device, buffer_info(plan.alignment));
    plan_memory(facts, plan);
    if (plan.unusable[0]) return fail(PUMICE_ERROR_DEVICE, "the device %s cannot be used: %s", name, plan.unusable);
    return PUMICE_OK;
}

pumice_status Context::make_device(const Origin& origin) {
    const VkDeviceQueueCreateInfo queue_info = vulkan::queue_info(plan.queue_family);
    auto atomics = structure<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT);
    auto sizes =
        structure<VkPhysicalDeviceSubgroupSizeControlFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
    auto v12 = structure<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    auto v11 = structure<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &v12);
    auto features = structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &v11);
    if (plan.extensions & extension::atomic_float) v12.pNext = &atomics;
    if (plan.required_subgroup_size > 0) {
        sizes.pNext = v12.pNext;
        v12.pNext = &sizes;
    }
    switch_on(&features, plan.features);

    const char* extensions[extension::count];
    auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features);
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue_info;
    for (uint32_t bit = 0; bit < extension::count; ++bit)
        if (plan.extensions >> bit & 1) extensions[info.enabledExtensionCount++] = extension_name(1u << bit);
    info.ppEnabledExtensionNames = extensions;
    return check(origin.vk.CreateDevice(origin.physical, &info, nullptr, &device), "vkCreateDevice");
}

VkBufferCreateInfo Context::buffer_info(int64_t bytes) const {
    return vulkan::buffer_info(bytes, plan.features & feature::buffer_device_address, wrapped);
}

Context::~Context() {
    if (device && !wrapped && vk.DestroyDevice) vk.DestroyDevice(device, nullptr);
    // The validation layer believes that a lost device still works, and reports every object that is destroyed.
    if (is_lost()) messages();
}

VkResult Context::submit(const VkSubmitInfo& info) {
    if (lock) lock(user);
    const VkResult result = vk.QueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
    if (unlock) unlock(user);
    return result;
}

/// Not vkDeviceWaitIdle, which would need all of an application's queues.
VkResult Context::wait_idle() {
    if (lock) lock(user);
    const VkResult result = vk.QueueWaitIdle(queue);
    if (unlock) unlock(user);
    return result;
}

pumice_status Context::check(VkResult result, const char* call) {
    if (result == VK_SUCCESS) return PUMICE_OK;
    if (result == VK_ERROR_DEVICE_LOST) {
        __atomic_store_n(&state, lost, __ATOMIC_RELAXED);
        return lost_error();
    }
    const bool memory = result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY;
    return fail(memory ? PUMICE_ERROR_MEMORY : PUMICE_ERROR_SYSTEM, "%s fails on %s with %s", call, name, name_of(result));
}

pumice_status Context::lost_error() const {
    if (is_parents())
        return fail(PUMICE_ERROR_LOST, "the device %s was opened before this process was forked%s", name, after_fork);
    return fail(PUMICE_ERROR_LOST,
                "the device %s is lost: the driver has given it up (VK_ERROR_DEVICE_LOST), and its arrays with it; %s", name,
                wrapped ? "the application has to make a new one" : "it can be opened again");
}

}  // namespace pumice_rt::vulkan
