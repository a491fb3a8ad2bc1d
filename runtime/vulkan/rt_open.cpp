// Opening of Vulkan devices: by number, by a part of the name, or the best one.
#include <stdio.h>
#include <stdlib.h>

#include "runtime/vulkan/rt_vulkan_device.h"

namespace pumice_rt {
namespace vulkan {
namespace {

constexpr uint32_t most_devices = 16;

struct Candidate {
    uint32_t index;
    int rank;        ///< by type: cards, devices that share the host's memory, virtual ones, others, software drivers
    int64_t memory;  ///< of two devices of one type, the one with more is better
    bool is_software;
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    char unusable[160];
};

int rank_of(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
        case VK_PHYSICAL_DEVICE_TYPE_CPU: return 4;
        default: return 3;
    }
}

/// `known`: the facts of the device if they were read already, else null.
pumice_status open_index(const InstanceFunctions& vk, VkPhysicalDevice physical, const Switches& switches, uint32_t index,
                         const pumice_hooks& hooks, const Facts* known, pumice_device* device) {
    VulkanDevice* const made = make<VulkanDevice>(hooks, hooks);
    if (!made) return fail(PUMICE_ERROR_MEMORY, "the host has no memory for the device vulkan:%u", index);
    Context& context = made->context;
    if (known) context.facts = *known;
    pumice_status status = known ? PUMICE_OK : read_facts(vk, physical, hooks, context.facts);
    if (status == PUMICE_OK) {
        make_plan(context.facts, switches, context.plan);
        snprintf(made->name, sizeof made->name, "vulkan:%u %.200s", index, context.facts.basic.deviceName);
        context.validates = switches.validate;
        Origin origin;
        origin.vk = vk;
        origin.physical = physical;
        status = context.plan.unusable[0]
                     ? fail(PUMICE_ERROR_DEVICE, "the device %s cannot be used: %s", made->name, context.plan.unusable)
                     : made->start(origin);
    }
    if (status != PUMICE_OK) {
        made->close();
        return status;
    }
    *device = made;
    return PUMICE_OK;
}

/// Reads what the choice depends on, sorted with the best device first, and the facts of that device.
pumice_status list_candidates(const InstanceFunctions& vk, const VkPhysicalDevice* devices, uint32_t count,
                              const Switches& switches, const pumice_hooks& hooks, Candidate* list, Facts& best) {
    Facts facts;
    DevicePlan plan;
    for (uint32_t i = 0; i < count; ++i) {
        RT_TRY(read_facts(vk, devices[i], hooks, facts));
        make_plan(facts, switches, plan);
        Candidate one;
        one.index = i;
        one.rank = rank_of(facts.basic.deviceType);
        one.memory = plan.memory_bytes;
        one.is_software = facts.basic.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
        memcpy(one.name, facts.basic.deviceName, sizeof one.name);
        memcpy(one.unusable, plan.unusable, sizeof one.unusable);
        uint32_t at = i;
        for (; at > 0 && (one.rank < list[at - 1].rank || (one.rank == list[at - 1].rank && one.memory > list[at - 1].memory));
             --at)
            list[at] = list[at - 1];
        list[at] = one;
        if (at == 0) best = facts;
    }
    return PUMICE_OK;
}

bool is_number(const char* text) { return *text && text[strspn(text, "0123456789")] == 0; }

/// The error of a spec that no device fits.
pumice_status no_device(const char* which, const Candidate* list, uint32_t count) {
    if (strcmp(which, "gpu") == 0)
        fail(PUMICE_ERROR_DEVICE, "there is no Vulkan device of the kind gpu; Vulkan has");
    else if (*which)
        fail(PUMICE_ERROR_DEVICE, "there is no device vulkan:%s; Vulkan has", which);
    else
        fail(PUMICE_ERROR_DEVICE, "there is no usable Vulkan device; Vulkan has");
    for (uint32_t i = 0; i < count; ++i)
        within(PUMICE_ERROR_DEVICE, "%s vulkan:%u (%s%s%s)", i > 0 ? "," : "", list[i].index, list[i].name,
               list[i].unusable[0] ? ", not usable: " : "", list[i].unusable);
    return PUMICE_ERROR_DEVICE;
}

}  // namespace
}  // namespace vulkan

using namespace vulkan;

pumice_status open_vulkan(const char* which, const pumice_hooks& hooks, pumice_device* device) {
    if (forked_while_open()) return open_after_fork("vulkan");
    const Switches switches = switches_from_environment();
    InstanceFunctions vk{};
    VkPhysicalDevice devices[most_devices];
    uint32_t count = 0;
    RT_TRY(instance_devices(switches.validate, vk, devices, most_devices, count));
    if (count == 0) return fail(PUMICE_ERROR_DEVICE, "no Vulkan driver offers a device");
    if (is_number(which)) {
        const unsigned long index = strtoul(which, nullptr, 10);
        if (index >= count)
            return fail(PUMICE_ERROR_DEVICE, "there is no device vulkan:%s: Vulkan has %u device%s", which, count,
                        count == 1 ? "" : "s");
        return open_index(vk, devices[index], switches, uint32_t(index), hooks, nullptr, device);
    }
    Candidate list[most_devices];
    Facts best;
    RT_TRY(list_candidates(vk, devices, count, switches, hooks, list, best));
    const bool gpu = strcmp(which, "gpu") == 0;
    pumice_status status = PUMICE_OK;
    for (uint32_t i = 0; i < count; ++i) {
        const Candidate& one = list[i];
        if (one.unusable[0] || (gpu ? one.is_software : !strstr(one.name, which))) continue;
        status = open_index(vk, devices[one.index], switches, one.index, hooks, i == 0 ? &best : nullptr, device);
        if (status == PUMICE_OK) return status;
    }
    return status == PUMICE_OK ? no_device(which, list, count) : status;
}

}  // namespace pumice_rt
