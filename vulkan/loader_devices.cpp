#include "vulkan/loader_devices.h"

#include <algorithm>
#include <numeric>

#include "codegen/glsl/codegen.h"
#include "core/support/error.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {

std::vector<PhysicalDevice> list() {
    const Switches switches = Switches::from_environment();
    std::string reason;
    Instance* instance = Instance::get(switches.validate, reason);
    std::vector<PhysicalDevice> found;
    if (!instance) return found;
    for (const VkPhysicalDevice physical : instance->physical_devices()) {
        const Snapshot snapshot = read_snapshot(instance->vk, physical);
        const DevicePlan plan = make_plan(snapshot, switches);
        PhysicalDevice one;
        one.index = int(found.size());
        one.name = snapshot.name;
        one.driver = snapshot.driver;
        one.usable = plan.unusable.empty();
        one.reason = plan.unusable;
        one.software = snapshot.software();
        one.integrated = snapshot.type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
        one.limits = plan.limits;
        for (const Feature feature : features)
            if (one.usable && plan.supports(feature)) one.features.push_back(feature);
        found.push_back(std::move(one));
    }
    return found;
}

std::vector<int> best_first(const std::vector<PhysicalDevice>& devices) {
    const auto kind = [](const PhysicalDevice& one) { return one.software ? 2 : one.integrated ? 1 : 0; };
    std::vector<int> order(devices.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int a, int b) {
        const PhysicalDevice &one = devices[size_t(a)], &other = devices[size_t(b)];
        return kind(one) != kind(other) ? kind(one) < kind(other) : one.limits.memory > other.limits.memory;
    });
    return order;
}

std::string unavailable_reason() {
    std::string reason;
    Instance* instance = Instance::get(Switches::from_environment().validate, reason);
    if (!instance) return "Vulkan is not available: " + reason;
    return instance->physical_devices().empty() ? "Vulkan is not available: no driver offers a device" : "";
}

std::shared_ptr<Backend> open(int index) {
    const Switches switches = Switches::from_environment();
    std::string reason;
    Instance* instance = Instance::get(switches.validate, reason);
    if (!instance) fail("the device vulkan:", index, " cannot be opened: ", reason);
    const std::vector<VkPhysicalDevice> devices = instance->physical_devices();
    if (index < 0 || size_t(index) >= devices.size())
        fail("there is no device vulkan:", index, ": Vulkan has ", devices.size(), devices.size() == 1 ? " device" : " devices");
    Snapshot snapshot = read_snapshot(instance->vk, devices[size_t(index)]);
    DevicePlan plan = make_plan(snapshot, switches);
    std::string name = text("vulkan:", index, " ", snapshot.name);
    if (!plan.unusable.empty()) fail("the device ", name, " cannot be used: ", plan.unusable);
    const Origin origin{instance->vk, devices[size_t(index)], instance->validates ? &instance->messages : nullptr};
    auto device = std::make_shared<VulkanDevice>(origin, std::move(snapshot), std::move(plan), std::move(name));
    codegen::warm_up();  // shaderc's slow first compilation, in the background
    return device;
}

}  // namespace pumice::vulkan
