// The device: start and end, memory, launches, streams and events.
#include "runtime/vulkan/rt_vulkan_device.h"

namespace pumice_rt::vulkan {
namespace {

constexpr int64_t dummy_bytes = 256;

}  // namespace

VulkanDevice::VulkanDevice(const pumice_hooks& with)
    : pumice_device_t(with),
      context(hooks, name),
      queue(context),
      arrays(*this, context, queue),
      transfers(context, queue, arrays, streams),
      times(context, queue),
      recorder(context, queue, streams, own, times),
      slices(context, queue, times, recorder),
      kernels(*this, context, queue, transfers, own),
      ring(*this, queue, transfers, own, kernels, slices) {
    is_vulkan = true;
}

pumice_status VulkanDevice::start(const Origin& origin) {
    RT_TRY(context.open(origin));
    RT_TRY(queue.start());
    RT_TRY(kernels.start());
    RT_TRY(transfers.allocate(dummy_bytes, own.dummy));
    const DevicePlan& plan = context.plan;
    log("opened %s (%s): arrays %s, by %s, properties %llx", name, context.facts.driver_info,
        plan.arrays[0].mapped ? "mapped" : "staged", plan.push_descriptors ? "push descriptors" : "descriptor sets",
        static_cast<unsigned long long>(plan.properties));
    return PUMICE_OK;
}

void VulkanDevice::close() {
    if (context.is_parents()) return;
    if (queue.semaphore()) synchronize();  // recorded work that nobody waited for is still done, and what it prints is printed
    queue.stop();
    if (context.queue) context.wait_idle();
    times.stop();
    kernels.stop();
    {
        const Lock lock(queue.mutex);
        arrays.free_released();
        for (VulkanMemory* one : {own.dummy, own.lock_words, own.ring})
            if (one) arrays.free(one);
    }
    const pumice_hooks with = hooks;  // they must outlive the object
    VulkanDevice* const self = this;
    self->~VulkanDevice();
    pumice_rt::release(with, self, sizeof *self);
}

// ---- memory ----

pumice_status VulkanDevice::allocate(int64_t bytes, pumice_memory* to) {
    VulkanMemory* made = nullptr;
    RT_TRY(transfers.allocate(bytes, made));
    *to = made;
    return PUMICE_OK;
}

void VulkanDevice::release(pumice_memory one) { arrays.release(static_cast<VulkanMemory*>(one)); }

pumice_status VulkanDevice::write(pumice_memory to, int64_t offset, const void* from, int64_t bytes) {
    return transfers.write(*static_cast<VulkanMemory*>(to), offset, from, bytes);
}

pumice_status VulkanDevice::read(pumice_memory from, int64_t offset, void* to, int64_t bytes) {
    RT_TRY(transfers.read(*static_cast<VulkanMemory*>(from), offset, to, bytes));
    return ring.settle();
}

pumice_status VulkanDevice::fill(pumice_memory to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_bytes,
                                 pumice_stream stream) {
    return transfers.fill(*static_cast<VulkanMemory*>(to), offset, bytes, pattern, pattern_bytes, stream);
}

pumice_status VulkanDevice::copy(pumice_memory from, int64_t from_offset, pumice_memory to, int64_t to_offset, int64_t bytes,
                                 pumice_stream stream) {
    return transfers.copy(*static_cast<VulkanMemory*>(from), from_offset, *static_cast<VulkanMemory*>(to), to_offset, bytes,
                          stream);
}

// ---- launches ----

pumice_status VulkanDevice::prepare(const Bundle& bundle, const pumice_library& library, uint32_t kernel) {
    return kernels.prepare(bundle, library, kernel);
}

/// In steady state, takes the queue's mutex once.
pumice_status VulkanDevice::launch(const Launch& given) {
    Launch launch = given;
    RT_TRY(context.alive());
    RT_TRY(set_group(context, launch));
    for (;;) {
        bool missing = false;
        {
            const Lock lock(queue.mutex);
            Shader* shader = nullptr;
            Pipeline* pipeline = nullptr;
            RT_TRY(queue.make_room());
            RT_TRY(kernels.choose(launch, shader, pipeline, missing));
            if (!missing && !shader->reports) {
                RecordedLaunch recorded{launch, *shader, *pipeline};
                return slices.record(recorded);
            }
        }
        if (!missing) return ring.launch(launch);
        RT_TRY(kernels.build(launch));
    }
}

// ---- streams and events ----

pumice_status VulkanDevice::create_stream(int priority, pumice_stream* stream) {
    VulkanStream* const made = make<VulkanStream>(hooks);
    if (!made) return fail(PUMICE_ERROR_MEMORY, "the host has no memory for a stream of %s", name);
    made->device = this;
    made->priority = priority;
    *stream = made;
    return PUMICE_OK;
}

void VulkanDevice::release_stream(pumice_stream stream) { destroy(hooks, static_cast<VulkanStream*>(stream)); }

pumice_status VulkanDevice::record(pumice_stream stream, pumice_event* event) {
    VulkanEvent* const made = make<VulkanEvent>(hooks);
    if (!made) return fail(PUMICE_ERROR_MEMORY, "the host has no memory for an event of %s", name);
    made->device = this;
    const Lock lock(queue.mutex);
    if (stream) {
        const uint64_t last = streams.last(stream), default_last = streams.last(nullptr);
        made->value = last > default_last ? last : default_last;
    } else {
        made->value = queue.last();  // the default stream is ordered with all others
    }
    *event = made;
    return PUMICE_OK;
}

pumice_status VulkanDevice::wait_for(pumice_stream stream, pumice_event event) {
    // The queue is in order, so that only the stream's own value changes.
    const uint64_t value = static_cast<VulkanEvent*>(event)->value;
    const Lock lock(queue.mutex);
    uint64_t& last = streams.last(stream);
    if (last < value) last = value;
    return PUMICE_OK;
}

pumice_status VulkanDevice::wait(pumice_event event) {
    RT_TRY(queue.wait(static_cast<VulkanEvent*>(event)->value));
    return ring.settle();
}

bool VulkanDevice::done(pumice_event event) { return queue.reached(static_cast<VulkanEvent*>(event)->value); }

void VulkanDevice::release_event(pumice_event event) { destroy(hooks, static_cast<VulkanEvent*>(event)); }

pumice_status VulkanDevice::synchronize() {
    RT_TRY(queue.finish());
    return ring.settle();
}

}  // namespace pumice_rt::vulkan
