// The memory of arrays, and staging memory.
#include "runtime/vulkan/rt_arrays.h"

namespace pumice_rt::vulkan {

pumice_status Arrays::try_allocate(int64_t bytes, bool spare, MemoryRange& range) {
    const Lock lock(queue.mutex);
    collect();
    return memory.allocate(bytes, spare, range);
}

pumice_status Arrays::allocate_range(int64_t bytes, MemoryRange& range) {
    const int64_t most = context.plan.max_block_bytes;
    if (bytes > most)
        return fail(PUMICE_ERROR_MEMORY, "cannot allocate %lld bytes on %s: one array has at most %lld bytes there",
                    longest(bytes), context.name, longest(most));
    RT_TRY(try_allocate(bytes, false, range));
    if (range.block) return PUMICE_OK;
    // Released memory that is still in use, empty blocks and staging memory can be freed.
    RT_TRY(queue.finish());
    {
        const Lock up(uploading), down(downloading), lock(queue.mutex);
        collect();
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
                longest(bytes), context.name, longest(context.plan.memory_bytes));
}

pumice_status Arrays::allocate(int64_t bytes, VulkanMemory*& to) {
    VulkanMemory* const made = make<VulkanMemory>(context.hooks);
    if (!made)
        return fail(PUMICE_ERROR_MEMORY, "cannot allocate %lld bytes on %s: the host has no memory", longest(bytes),
                    context.name);
    made->device = &device;
    made->bytes = bytes;
    const pumice_status status = allocate_range(bytes, made->range);
    if (status != PUMICE_OK)
        destroy(context.hooks, made);
    else
        to = made;
    return status;
}

pumice_status Arrays::lend(VkBuffer buffer, int64_t offset, int64_t bytes, pumice_memory* to) {
    VulkanMemory* const made = make<VulkanMemory>(context.hooks);
    MemoryBlock* const block = make<MemoryBlock>(context.hooks, context.hooks, offset + bytes);
    if (!made || !block) {
        destroy(context.hooks, made);
        destroy(context.hooks, block);
        return fail(PUMICE_ERROR_MEMORY, "the host has no memory for an application's buffer");
    }
    block->buffer = buffer;
    made->device = &device;
    made->bytes = bytes;
    made->lent = true;
    made->range = {block, offset, bytes};
    *to = made;
    return PUMICE_OK;
}

void Arrays::release(VulkanMemory* one) {
    if (context.is_parents()) return;
    const Lock lock(queue.mutex);
    if (one->last_use <= queue.poll()) return free(one);
    one->next_released = released;
    released = one;
}

/// Frees released memory that the device no longer uses. The mutex is held.
void Arrays::collect() {
    if (!released) return;
    const uint64_t done = queue.poll();
    for (VulkanMemory** link = &released; *link;) {
        VulkanMemory* const one = *link;
        if (one->last_use > done) {
            link = &one->next_released;
            continue;
        }
        *link = one->next_released;
        free(one);
    }
}

void Arrays::free(VulkanMemory* one) {
    if (one->lent)
        destroy(context.hooks, one->range.block);
    else
        memory.release(one->range);
    destroy(context.hooks, one);
}

void Arrays::free_released() {
    while (VulkanMemory* const one = released) {
        released = one->next_released;
        free(one);
    }
}

pumice_status Arrays::need(StagingRing& ring, uint32_t memory_type) {
    RT_TRY(context.alive());
    if (ring.block || ring.start(memory_type) == PUMICE_OK) return PUMICE_OK;
    {
        const Lock lock(queue.mutex);
        collect();
        memory.release_empty();
    }
    return ring.start(memory_type);
}

void touch(const Queue& queue, VulkanMemory& one, bool write) {
    one.last_use = queue.value();
    if (write) one.last_write = one.last_use;
}

}  // namespace pumice_rt::vulkan
