#include "vulkan/wrap.h"

#include <algorithm>

#include "codegen/glsl/codegen.h"
#include "vulkan/command_recorder.h"
#include "vulkan/enabled.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {

/// Throws unless the application has given all necessary data, and the queue is one that it made.
void check(const Application& application) {
    const auto require = [](bool given, const char* what) {
        if (!given) fail("an application's Vulkan device cannot be wrapped: Application::", what, " is not set");
    };
    require(application.instance, "instance");
    require(application.physical_device, "physical_device");
    require(application.device, "device");
    require(application.queue, "queue");
    if (!application.lock != !application.unlock)
        throw Error("an application's Vulkan device cannot be wrapped: of Application::lock and unlock only one is set");
    if (!application.allocate != !application.free)
        throw Error("an application's Vulkan device cannot be wrapped: of Application::allocate and free only one is set");
    if (!application.features && !application.created_with)
        throw Error("an application's Vulkan device cannot be wrapped: neither Application::features nor created_with is set");
    if (application.created_with && (application.features || !application.extensions.empty()))
        throw Error(
            "an application's Vulkan device cannot be wrapped: Application::created_with is set, and features or extensions, "
            "too");
    if (!application.created_with) return;
    const VkDeviceCreateInfo& created = *application.created_with;
    const auto* const queues = created.pQueueCreateInfos;
    if (std::none_of(queues, queues + created.queueCreateInfoCount,
                     [&](const VkDeviceQueueCreateInfo& q) { return q.queueFamilyIndex == application.queue_family; }))
        fail("an application's Vulkan device cannot be wrapped: it was made with no queue of family ", application.queue_family);
}

InstanceFunctions functions_of(const Application& application) {
    GlobalFunctions global;
    if (application.get_instance_proc_addr) {
        global.GetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(application.get_instance_proc_addr);
    } else {
        std::string reason;
        const GlobalFunctions* loaded = global_functions(reason);
        if (!loaded)
            fail("an application's Vulkan device cannot be wrapped: ", reason,
                 ", and Application::get_instance_proc_addr is not set");
        global = *loaded;
    }
    const InstanceFunctions functions = instance_functions(global, application.instance);
    std::string none = missing(functions);
    if (none.empty()) none = missing(device_functions(functions, application.device));
    if (!none.empty())
        fail("an application's Vulkan device cannot be wrapped: it has no ", none,
             "; instance and device have to be of Vulkan 1.2 or above (VkApplicationInfo::apiVersion)");
    return functions;
}

Enabled enabled_by(const Application& application) {
    if (application.created_with) return vulkan::enabled_by(*application.created_with);
    return {application.features, nullptr, application.extensions};
}

/// The plan for the application's device: its queue, and only the features that it enabled.
DevicePlan plan_for(const Application& application, const Snapshot& snapshot, const std::string& name) {
    const auto refuse = [&](const auto&... why) { fail("the device ", name, " cannot be used: ", why...); };
    const Switches switches = Switches::from_environment();
    DevicePlan plan = make_plan(snapshot, switches);
    if (snapshot.api_version >= VK_API_VERSION_1_2 && !snapshot.timeline_semaphore)
        refuse("the feature timelineSemaphore is not enabled in its ",
               application.created_with ? "VkDeviceCreateInfo" : "features");
    if (!plan.unusable.empty()) refuse(plan.unusable);
    const uint32_t family = application.queue_family;
    if (family >= snapshot.queue_families.size())
        refuse("it has no queue family ", family, "; it has ", snapshot.queue_families.size());
    if (!(snapshot.queue_families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        refuse("its queue family ", family, " does not compute");
    plan_queue(snapshot, switches, family, plan);
    // The application decides when a frame is complete.
    plan.batching = {.when_idle = false, .by_thread = false, .spins = plan.batching.spins, .most_commands = 1024};
    return plan;
}

}  // namespace

VulkanDevice& wrapped(const pumice::Device& device, const char* what) {
    auto* const backend = dynamic_cast<VulkanDevice*>(device.state->backend.get());
    if (!backend || !backend->context.wrapped)
        fail("vulkan::", what, " is called for ", device.name(), ", which is no device of an application's (vulkan::wrap)");
    return *backend;
}

pumice::Device wrap(const Application& application) {
    check(application);
    const Origin origin{functions_of(application), application.physical_device, nullptr, &application};
    Snapshot snapshot =
        enabled(read_snapshot(origin.vk, application.physical_device), enabled_by(application), application.api_version);
    std::string name = "vulkan:application " + snapshot.name;
    DevicePlan plan = plan_for(application, snapshot, name);
    auto backend = std::make_shared<VulkanDevice>(origin, std::move(snapshot), std::move(plan), std::move(name));
    backend->interop = interop_functions(origin, backend->context.snapshot);
    backend->recording_messages = listen_while_recording(origin.vk, application.instance);
    pumice::Device device(std::move(backend));
    codegen::warm_up();
    return device;
}

Point submit(const pumice::Device& device, const Semaphores& semaphores) {
    VulkanDevice& backend = wrapped(device, "submit");
    if (backend.queue.recorder()) CommandRecorder::refuse("work is submitted (vulkan::submit)");
    std::vector<Queue::Signal> waits, signals;
    for (const auto& [points, list] : {std::pair(&semaphores.wait, &waits), std::pair(&semaphores.signal, &signals)})
        for (const Point& point : *points) {
            if (!point.semaphore) throw Error("vulkan::submit is called for a point without a semaphore");
            list->push_back({point.semaphore, point.value});
        }
    backend.give_back_images();
    const Queue::Signal signal = backend.queue.signal(waits, signals);
    return {signal.semaphore, signal.value};
}

void wait_for(const pumice::Device& device, const Point& point) {
    VulkanDevice& backend = wrapped(device, "wait_for");
    if (backend.queue.recorder()) CommandRecorder::refuse("a semaphore is waited for (vulkan::wait_for)");
    if (!point.semaphore) throw Error("vulkan::wait_for is called for a point without a semaphore");
    const std::lock_guard lock(backend.queue.mutex);
    backend.queue.wait_for({point.semaphore, point.value});
}

Place place_of(const detail::ArrayState& array) {
    VulkanDevice& backend = wrapped(pumice::Device(array.device), "place");
    if (array.released) throw Error("vulkan::place is called for an array that was released");
    if (!array.memory) return {};
    const auto& buffer = static_cast<const Buffer&>(*array.memory);
    // The application's submissions follow all commands on the array so far, including the one that zeroes it.
    uint64_t last_use;
    {
        const std::lock_guard lock(backend.queue.mutex);
        last_use = buffer.last_use;
    }
    backend.queue.reached(last_use);
    const MemoryRange& range = buffer.range;
    return {range.block->buffer, range.offset + array.offset, array.bytes, backend.context.plan.device_addresses};
}

std::shared_ptr<detail::ArrayState> lend(const pumice::Device& device, const Place& place, const int64_t* extents, int rank,
                                         const Element& element) {
    VulkanDevice& backend = wrapped(device, "array");
    int64_t bytes = element.size;
    bool too_large = false;
    for (int d = 0; d < rank; ++d) {
        if (extents[d] < 1)
            fail("an array of extent ", extents[d], " along dimension ", d, " is put into a buffer: extents are positive there");
        too_large = too_large || __builtin_mul_overflow(bytes, extents[d], &bytes);
    }
    if (!place.buffer) throw Error("an array is put into a buffer that is not there: Place::buffer is not set");
    if (place.offset < 0 || place.offset % 4 != 0 || place.bytes % 4 != 0)
        fail("an array is put at byte ", place.offset, " of a buffer, into ", place.bytes,
             " bytes: both have to be multiples of 4");
    if (place.bytes > INT64_MAX - place.offset)
        fail("an array is put at byte ", place.offset, " of a buffer, into ", place.bytes, " bytes: no buffer reaches that far");
    if (too_large || bytes > place.bytes)
        fail("an array of ", too_large ? text("more than 2^63") : text(bytes), " bytes is put into a place of ", place.bytes,
             " bytes");
    auto state = std::make_shared<detail::ArrayState>();
    state->device = device.state;
    state->memory = backend.lend(place.buffer, place.offset + place.bytes, place.addressable);
    state->offset = place.offset;
    state->bytes = bytes;
    state->element = &element;
    state->element_size = int(element.size);
    return state;
}

/// Arrays in one buffer share its memory object, so that overlaps are detected.
std::shared_ptr<Buffer> VulkanDevice::lend(VkBuffer buffer, int64_t bytes, bool addressable) {
    const std::lock_guard lock(queue.mutex);
    std::erase_if(lent, [](const auto& one) { return one.second.expired(); });
    std::shared_ptr<Buffer> there = lent[buffer].lock();
    if (!there) {
        // Distinct from the numbers of our own blocks.
        const uint64_t id = uint64_t(1) << 62 | uint64_t(buffer);
        there = std::make_shared<Buffer>(self(), std::make_unique<MemoryBlock>(context, id, bytes, buffer));
        lent[buffer] = there;
    }
    MemoryBlock& block = *there->lent;
    if (addressable && context.plan.device_addresses && !block.address) {
        const VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, nullptr, buffer};
        block.address = context.vk.GetBufferDeviceAddress(context.device, &info);
    }
    there->bytes = std::max(there->bytes, bytes);
    return there;
}

}  // namespace pumice::vulkan
