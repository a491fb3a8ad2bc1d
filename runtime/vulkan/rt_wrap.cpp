// The C functions of an application's own Vulkan device.
#include <stdio.h>

#include "runtime/device/bundles.h"
#include "runtime/vulkan/rt_vulkan_device.h"

namespace pumice_rt::vulkan {
namespace {

const char* missing_member(const pumice_vulkan_device& application) {
    if (!application.instance) return "instance";
    if (!application.physical_device) return "physical_device";
    if (!application.device) return "device";
    if (!application.queue) return "queue";
    if (!application.features) return "features";
    if (application.lock && !application.unlock) return "unlock";
    if (application.unlock && !application.lock) return "lock";
    return nullptr;
}

/// Only what the application has enabled, and at most the Vulkan version that it has asked for.
void restrict_facts(const pumice_vulkan_device& application, Facts& facts) {
    if (application.api_version > 0 && application.api_version < facts.api_version) facts.api_version = application.api_version;
    facts.features &= features_in(application.features);
    uint32_t enabled = 0;
    for (uint32_t i = 0; i < application.extension_count; ++i)
        for (uint32_t bit = 0; bit < extension::count; ++bit)
            if (strcmp(application.extensions[i], extension_name(1u << bit)) == 0) enabled |= 1u << bit;
    facts.extensions &= enabled;
}

pumice_status plan_for(const pumice_vulkan_device& application, const Facts& facts, const char* name, DevicePlan& plan) {
    if (facts.api_version >= VK_API_VERSION_1_2 && !(facts.features & feature::timeline_semaphore))
        return fail(PUMICE_ERROR_DEVICE,
                    "the device %s cannot be used: the feature timelineSemaphore is not enabled in its features", name);
    const Switches switches = switches_from_environment();
    make_plan(facts, switches, plan);
    if (plan.unusable[0]) return fail(PUMICE_ERROR_DEVICE, "the device %s cannot be used: %s", name, plan.unusable);
    const uint32_t family = application.queue_family;
    if (family >= facts.family_count)
        return fail(PUMICE_ERROR_DEVICE, "the device %s cannot be used: it has no queue family %u; it has %u", name, family,
                    facts.family_count);
    if (!(facts.families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        return fail(PUMICE_ERROR_DEVICE, "the device %s cannot be used: its queue family %u does not compute", name, family);
    plan_queue(facts, switches, family, plan);
    plan.batching = {false, false, plan.batching.spins, 0, 1024, 64};  // the application decides when a frame is complete
    return PUMICE_OK;
}

pumice_status open_application(VulkanDevice& made, const pumice_vulkan_device& application) {
    Context& context = made.context;
    Origin origin;
    origin.physical = static_cast<VkPhysicalDevice>(application.physical_device);
    origin.application = &application;
    RT_TRY(functions_of(application, origin.vk));
    RT_TRY(read_facts(origin.vk, origin.physical, made.hooks, context.facts));
    snprintf(made.name, sizeof made.name, "vulkan:application %.200s", context.facts.basic.deviceName);
    restrict_facts(application, context.facts);
    RT_TRY(plan_for(application, context.facts, made.name, context.plan));
    return made.start(origin);
}

pumice_status wrap(const pumice_vulkan_device* application, const pumice_hooks& hooks, pumice_device* device) {
    if (!application || !device)
        return fail(PUMICE_ERROR_ARGUMENT, "an application's Vulkan device is wrapped, and there is none");
    if (const char* member = missing_member(*application))
        return fail(PUMICE_ERROR_ARGUMENT, "an application's Vulkan device cannot be wrapped: its %s is not set", member);
    if (forked_while_open()) return open_after_fork("vulkan:application");
    VulkanDevice* const made = make<VulkanDevice>(hooks, hooks);
    if (!made) return fail(PUMICE_ERROR_MEMORY, "the host has no memory for an application's Vulkan device");
    const pumice_status status = open_application(*made, *application);
    if (status == PUMICE_OK)
        *device = made;
    else
        made->close();
    return status;
}

/// The device as one of this back end; `wrapped`: it has to be an application's.
pumice_status as_vulkan(pumice_device device, const char* function, bool wrapped, VulkanDevice*& to) {
    if (!device || !device->is_vulkan)
        return fail(PUMICE_ERROR_ARGUMENT, "%s is called for a device that is not Vulkan's", function);
    to = static_cast<VulkanDevice*>(device);
    if (wrapped && !to->context.wrapped)
        return fail(PUMICE_ERROR_ARGUMENT, "%s is called for %s, which is no device of an application's (pumice_vulkan_wrap)",
                    function, device->name);
    return PUMICE_OK;
}

pumice_status lend(pumice_device device, uint64_t buffer, int64_t offset, int64_t bytes, pumice_memory* memory) {
    VulkanDevice* vulkan = nullptr;
    RT_TRY(as_vulkan(device, "pumice_vulkan_lend", true, vulkan));
    if (!buffer || !memory) return fail(PUMICE_ERROR_ARGUMENT, "memory is lent in a buffer that is not there");
    if (offset < 0 || bytes <= 0 || offset % 4 != 0 || bytes % 4 != 0 || bytes > INT64_MAX - offset)
        return fail(PUMICE_ERROR_ARGUMENT, "memory is lent at byte %lld of a buffer, of %lld bytes: both are multiples of 4",
                    longest(offset), longest(bytes));
    VkBuffer handle;
    memcpy(&handle, &buffer, sizeof(VkBuffer));
    return vulkan->arrays.lend(handle, offset, bytes, memory);
}

pumice_status place(pumice_memory memory, uint64_t* buffer, int64_t* offset) {
    if (!memory || !buffer || !offset) return fail(PUMICE_ERROR_ARGUMENT, "the place of memory is asked for, and there is none");
    VulkanDevice* vulkan = nullptr;
    RT_TRY(as_vulkan(memory->device, "pumice_vulkan_place", true, vulkan));
    const MemoryRange& range = static_cast<const VulkanMemory*>(memory)->range;
    *buffer = 0;
    memcpy(buffer, &range.block->buffer, sizeof(VkBuffer));
    *offset = range.offset;
    // The application's submissions follow all commands so far, including the one that zeroes the memory.
    const Lock lock(vulkan->queue.mutex);
    return vulkan->queue.submit();
}

pumice_status submit(pumice_device device, uint64_t* semaphore, uint64_t* value) {
    VulkanDevice* vulkan = nullptr;
    RT_TRY(as_vulkan(device, "pumice_vulkan_submit", true, vulkan));
    const Lock lock(vulkan->queue.mutex);
    RT_TRY(vulkan->context.alive());
    const uint64_t last = vulkan->queue.last();
    RT_TRY(vulkan->queue.submit());
    const VkSemaphore handle = vulkan->queue.semaphore();
    if (semaphore) *semaphore = 0, memcpy(semaphore, &handle, sizeof(VkSemaphore));
    if (value) *value = last;
    return PUMICE_OK;
}

pumice_status wait_for(pumice_device device, uint64_t semaphore, uint64_t value) {
    VulkanDevice* vulkan = nullptr;
    RT_TRY(as_vulkan(device, "pumice_vulkan_wait_for", true, vulkan));
    if (!semaphore) return fail(PUMICE_ERROR_ARGUMENT, "pumice_vulkan_wait_for is called without a semaphore");
    VkSemaphore handle;
    memcpy(&handle, &semaphore, sizeof(VkSemaphore));
    const Lock lock(vulkan->queue.mutex);
    return vulkan->queue.wait_for(handle, value);
}

}  // namespace
}  // namespace pumice_rt::vulkan

using namespace pumice_rt;

pumice_status pumice_vulkan_wrap(const pumice_vulkan_device* application, const pumice_hooks* hooks, pumice_device* device) {
    pumice_hooks own = {};
    if (hooks) own = *hooks;
    const pumice_status status = vulkan::wrap(application, own, device);
    if (status != PUMICE_OK && own.error) own.error(own.user, status, pumice_error());
    return status;
}
pumice_status pumice_vulkan_lend(pumice_device device, uint64_t buffer, int64_t offset, int64_t bytes, pumice_memory* memory) {
    return report(device, vulkan::lend(device, buffer, offset, bytes, memory));
}
pumice_status pumice_vulkan_place(pumice_memory memory, uint64_t* buffer, int64_t* offset) {
    return report(memory ? memory->device : nullptr, vulkan::place(memory, buffer, offset));
}
pumice_status pumice_vulkan_submit(pumice_device device, uint64_t* semaphore, uint64_t* value) {
    return report(device, vulkan::submit(device, semaphore, value));
}
pumice_status pumice_vulkan_wait_for(pumice_device device, uint64_t semaphore, uint64_t value) {
    return report(device, vulkan::wait_for(device, semaphore, value));
}
