// The device: start and end, memory, streams and events.
#include "runtime/vulkan/rt_vulkan_device.h"

namespace pumice_rt::vulkan {
namespace {

constexpr int64_t dummy_bytes = 256;
constexpr int64_t staging_bytes = int64_t(16) << 20, arguments_bytes = int64_t(4) << 20;

}  // namespace

VulkanDevice::VulkanDevice(const pumice_hooks& with)
    : pumice_device_t(with),
      context(hooks, name),
      queue(context),
      memory(context),
      pipelines(context),
      arguments(context, arguments_bytes),
      upload(context, staging_bytes),
      download(context, staging_bytes) {
    is_vulkan = true;
    for (uint32_t i = 0; i < most_buffers; ++i) {
        writes[i] = {};
        writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        writes[i].dstBinding = i;
        writes[i].descriptorCount = 1;
        writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[i].pBufferInfo = &buffers[i];
    }
}

pumice_status VulkanDevice::start(const Origin& origin) {
    RT_TRY(context.open(origin));
    RT_TRY(queue.start());
    RT_TRY(pipelines.start());
    pumice_memory made = nullptr;
    RT_TRY(allocate(dummy_bytes, &made));
    dummy = static_cast<VulkanMemory*>(made);
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
    pipelines.save();
    if (times.pool) context.vk.DestroyQueryPool(context.device, times.pool, nullptr);
    for (VulkanProgram*& list : programs)
        while (VulkanProgram* const program = list) {
            list = program->next;
            destroy_program(context, program);
        }
    {
        const Lock lock(queue.mutex);
        while (VulkanMemory* const one = released) {
            released = one->next_released;
            free_memory(one);
        }
        for (VulkanMemory* one : {dummy, lock_words, ring_state.memory})
            if (one) free_memory(one);
    }
    const pumice_hooks own = hooks;  // they must outlive the object
    VulkanDevice* const self = this;
    self->~VulkanDevice();
    pumice_rt::release(own, self, sizeof *self);
}

// ---- memory ----

pumice_status VulkanDevice::try_allocate(int64_t bytes, bool spare, MemoryRange& range) {
    const Lock lock(queue.mutex);
    collect_memory();
    return memory.allocate(bytes, spare, range);
}

pumice_status VulkanDevice::allocate_range(int64_t bytes, MemoryRange& range) {
    const int64_t most = context.plan.max_block_bytes;
    if (bytes > most)
        return fail(PUMICE_ERROR_MEMORY, "cannot allocate %lld bytes on %s: one array has at most %lld bytes there",
                    longest(bytes), name, longest(most));
    RT_TRY(try_allocate(bytes, false, range));
    if (range.block) return PUMICE_OK;
    // Released memory that is still in use, empty blocks and staging memory can be freed.
    RT_TRY(queue.finish());
    {
        const Lock up(uploading), down(downloading), lock(queue.mutex);
        collect_memory();
        memory.release_empty();
        const uint64_t done = queue.poll();
        if (upload.last() <= done) upload.release();
        if (download.last() <= done) download.release();
    }
    RT_TRY(try_allocate(bytes, false, range));
    if (!range.block) RT_TRY(try_allocate(bytes, true, range));
    if (range.block) return PUMICE_OK;
    return fail(PUMICE_ERROR_MEMORY,
                "cannot allocate %lld bytes on %s: the device has not that much memory left (it has %lld bytes in all)",
                longest(bytes), name, longest(context.plan.memory_bytes));
}

pumice_status VulkanDevice::allocate(int64_t bytes, pumice_memory* to) {
    RT_TRY(context.alive());
    VulkanMemory* const made = make<VulkanMemory>(hooks);
    if (!made) return fail(PUMICE_ERROR_MEMORY, "cannot allocate %lld bytes on %s: the host has no memory", longest(bytes), name);
    made->device = this;
    made->bytes = bytes;
    pumice_status status = allocate_range(bytes, made->range);
    if (status != PUMICE_OK) {
        destroy(hooks, made);
        return status;
    }
    // A new range is unused, so that mapped memory is cleared in place.
    if (char* const mapped = made->range.block->mapped)
        memset(mapped + made->range.offset, 0, size_t(bytes));
    else
        status = fill_words(*made, 0, (bytes + 3) / 4 * 4, 0, nullptr);
    if (status != PUMICE_OK)
        release(made);
    else
        *to = made;
    return status;
}

void VulkanDevice::release(pumice_memory of) {
    VulkanMemory* const one = static_cast<VulkanMemory*>(of);
    if (context.is_parents()) return;
    const Lock lock(queue.mutex);
    if (one->last_use <= queue.poll()) return free_memory(one);
    one->next_released = released;
    released = one;
}

/// Frees released memory that the device no longer uses. The mutex is held.
void VulkanDevice::collect_memory() {
    if (!released) return;
    const uint64_t done = queue.poll();
    for (VulkanMemory** link = &released; *link;) {
        VulkanMemory* const one = *link;
        if (one->last_use > done) {
            link = &one->next_released;
            continue;
        }
        *link = one->next_released;
        free_memory(one);
    }
}

void VulkanDevice::free_memory(VulkanMemory* one) {
    if (one->lent)
        destroy(hooks, one->range.block);
    else
        memory.release(one->range);
    destroy(hooks, one);
}

pumice_status VulkanDevice::lend(VkBuffer buffer, int64_t offset, int64_t bytes, pumice_memory* to) {
    VulkanMemory* const made = make<VulkanMemory>(hooks);
    MemoryBlock* const block = make<MemoryBlock>(hooks, hooks, offset + bytes);
    if (!made || !block) {
        destroy(hooks, made);
        destroy(hooks, block);
        return fail(PUMICE_ERROR_MEMORY, "the host has no memory for an application's buffer");
    }
    block->buffer = buffer;
    made->device = this;
    made->bytes = bytes;
    made->lent = true;
    made->range = {block, offset, bytes};
    *to = made;
    return PUMICE_OK;
}

/// Marks the memory as used by the command being recorded.
void VulkanDevice::touch(VulkanMemory& one, bool write) {
    one.last_use = queue.value();
    if (write) one.last_write = one.last_use;
}

// ---- streams and events ----

/// Assigns the command being recorded to the stream.
void VulkanDevice::touch(pumice_stream stream) {
    (stream ? static_cast<VulkanStream*>(stream)->last : default_last) = queue.value();
}

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
        const uint64_t last = static_cast<VulkanStream*>(stream)->last;
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
    uint64_t& last = stream ? static_cast<VulkanStream*>(stream)->last : default_last;
    if (last < value) last = value;
    return PUMICE_OK;
}

pumice_status VulkanDevice::wait(pumice_event event) {
    RT_TRY(queue.wait(static_cast<VulkanEvent*>(event)->value));
    return settle();
}

bool VulkanDevice::done(pumice_event event) { return queue.reached(static_cast<VulkanEvent*>(event)->value); }

void VulkanDevice::release_event(pumice_event event) { destroy(hooks, static_cast<VulkanEvent*>(event)); }

pumice_status VulkanDevice::synchronize() {
    RT_TRY(queue.finish());
    return settle();
}

}  // namespace pumice_rt::vulkan
