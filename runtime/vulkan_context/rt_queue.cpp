// The command queue: records commands into batches, submits them in order, and tracks progress by one timeline semaphore.
//
//   begin(accesses), vkCmd..., end()    command 1 |
//   begin(accesses), vkCmd..., end()    command 2 | batch -> submit: signals value 7      wait(7): vkWaitSemaphores
//
// Barriers are automatic (rt_hazards.h). Batching trades latency for overhead: an idle device gets a command at once, a busy one
// gets batches whose size doubles with each submission, up to Batching::most_commands, and neither gets two submissions within
// Batching::interval_ns unless somebody waits. make_room() bounds the batches in flight. After a failed submission the host
// signals the promised value, so that no waiter hangs.
#include "runtime/vulkan_context/rt_queue.h"

#include <time.h>

namespace pumice_rt::vulkan {
namespace {

constexpr uint64_t wait_slice = 1'000'000'000;  // ns; a wait is a loop of these, since drivers may limit a single wait
constexpr uint32_t sets_of_a_pool = 128;

constexpr int64_t longest_spin = 50'000;  // ns; a sleeping thread takes half of that to wake up

int64_t clock_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// The stages and accesses of all commands that the queue records, but for the reads of indirect dispatches: a barrier towards
// these takes twice as long on NVIDIA's cards.
constexpr VkPipelineStageFlags commands_stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags commands_accesses =
    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;

/// One global memory barrier: drivers treat it no worse than many buffer barriers, and the tracker can forget everything before
/// it.
void memory_barrier(const Context& context, VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
                    VkPipelineStageFlags to, VkAccessFlags used) {
    const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, written, used};
    context.vk.CmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

pumice_status no_memory() { return fail(PUMICE_ERROR_MEMORY, "the host has no memory for Vulkan commands"); }

}  // namespace

pumice_status Queue::start() {
    auto type = structure<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    auto info = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type);
    RT_TRY(context.check(context.vk.CreateSemaphore(context.device, &info, nullptr, &timeline), "vkCreateSemaphore"));
    // An empty batch: drivers and layers construct static objects at their first use. The exit handler, which is registered after
    // them, runs before those are destroyed.
    {
        const Lock lock(mutex);
        RT_TRY(open_batch());
        RT_TRY(submit());
    }
    RT_TRY(wait(submitted));
    return enlist();
}

Queue::~Queue() {
    stop();
    if (context.queue) context.wait_idle();
    if (open) destroy_batch(open);
    for (Batch* list : {in_flight, unused})
        while (Batch* const batch = list) {
            list = batch->next;
            destroy_batch(batch);
        }
    if (timeline) context.vk.DestroySemaphore(context.device, timeline, nullptr);
}

void Queue::destroy_batch(Batch* batch) {
    for (const VkDescriptorPool pool : batch->sets) context.vk.DestroyDescriptorPool(context.device, pool, nullptr);
    context.vk.DestroyCommandPool(context.device, batch->pool, nullptr);
    destroy(context.hooks, batch);
}

/// A batch with a command buffer.
pumice_status Queue::new_batch(Batch*& batch) {
    if (!unused) collect();
    if (unused) {
        batch = unused;
        unused = batch->next;
        batch->next = nullptr;
        return PUMICE_OK;
    }
    batch = make<Batch>(context.hooks, context.hooks);
    if (!batch) return no_memory();
    auto info = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    info.queueFamilyIndex = context.plan.queue_family;
    VkResult result = context.vk.CreateCommandPool(context.device, &info, nullptr, &batch->pool);
    if (result == VK_SUCCESS) {
        auto allocation = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
        allocation.commandPool = batch->pool;
        allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
        allocation.commandBufferCount = 1;
        result = context.vk.AllocateCommandBuffers(context.device, &allocation, &batch->commands);
    }
    if (result == VK_SUCCESS) return PUMICE_OK;
    destroy_batch(batch);
    return context.check(result, "vkAllocateCommandBuffers");
}

pumice_status Queue::open_batch() {
    Batch* batch = nullptr;
    RT_TRY(new_batch(batch));
    auto begin = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    const VkResult result = context.vk.BeginCommandBuffer(batch->commands, &begin);
    if (result != VK_SUCCESS) {
        destroy_batch(batch);
        return context.check(result, "vkBeginCommandBuffer");
    }
    ++batches;
    bound = VK_NULL_HANDLE;
    open = batch;
    if (context.wrapped)
        memory_barrier(context, batch->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       commands_stages | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
                       commands_accesses | VK_ACCESS_INDIRECT_COMMAND_READ_BIT);
    return PUMICE_OK;
}

pumice_status Queue::begin(const BufferAccess* accesses, uint32_t count, VkCommandBuffer& to, bool indirect) {
    RT_TRY(context.alive());
    if (!open) RT_TRY(open_batch());
    if (hazards.needs_barrier(accesses, count, indirect)) {
        barrier(*open, false, indirect);
        hazards.ordered(indirect);
    }
    hazards.add(accesses, count);
    to = open->commands;
    return PUMICE_OK;
}

pumice_status Queue::end() {
    ++commands;
    const Batching& batching = context.plan.batching;
    if (++open->count >= batching.most_commands || (batching.when_idle && is_due())) return submit();
    if (batching.by_thread) attend();
    return PUMICE_OK;
}

/// True if the open batch should be submitted though nobody waits for it: it is large for the work in flight, or the device is
/// idle. A submission costs more than a command, on the host and on the device, so that none follows another one closely.
bool Queue::is_due() {
    if (clock_ns() - last_submission < context.plan.batching.interval_ns) return false;
    return open->count >= threshold || poll() == submitted;
}

/// Orders everything recorded before the barrier before everything after it, and makes writes visible; before an `indirect`
/// command also to its indirect read; at the end of a batch (`last`) also to the host, and, on an application's device, to the
/// rest of the application.
void Queue::barrier(const Batch& batch, bool last, bool indirect) {
    VkPipelineStageFlags to = commands_stages;
    VkAccessFlags used = commands_accesses;
    if (indirect) to |= VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, used |= VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
    if (last) to |= VK_PIPELINE_STAGE_HOST_BIT, used |= VK_ACCESS_HOST_READ_BIT;
    if (last && context.wrapped)
        to |= VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, used |= VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    memory_barrier(context, batch.commands, commands_stages, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, to, used);
}

pumice_status Queue::submit() {
    if (!open) return PUMICE_OK;
    RT_TRY(context.alive());
    barrier(*open, true, false);
    hazards.ordered(context.wrapped);  // there a batch begins with a barrier that covers everything
    Batch* const batch = open;
    open = nullptr;
    batch->value = submitted + 1;
    return hand_over(batch, context.vk.EndCommandBuffer(batch->commands), "vkEndCommandBuffer");
}

/// Submits a batch to the driver, unless `result` is a failure already. After a failure the batch's commands are lost, but the
/// host signals the promised value, so that no wait blocks forever, and the queue remains usable.
pumice_status Queue::hand_over(Batch* batch, VkResult result, const char* call) {
    if (result == VK_SUCCESS) {
        VkPipelineStageFlags stages[most_awaits];
        for (VkPipelineStageFlags& stage : stages) stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        auto values = structure<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        values.signalSemaphoreValueCount = 1;
        values.pSignalSemaphoreValues = &batch->value;
        values.waitSemaphoreValueCount = batch->await_count;
        values.pWaitSemaphoreValues = batch->awaited_values;
        auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO, &values);
        info.waitSemaphoreCount = batch->await_count;
        info.pWaitSemaphores = batch->awaits;
        info.pWaitDstStageMask = stages;
        info.commandBufferCount = 1;
        info.pCommandBuffers = &batch->commands;
        info.signalSemaphoreCount = 1;
        info.pSignalSemaphores = &timeline;
        result = context.submit(info);
        call = "vkQueueSubmit";
    }
    if (result == VK_SUCCESS) {
        submitted = batch->value;
        last_submission = clock_ns();
        (last_in_flight ? last_in_flight->next : in_flight) = batch;
        last_in_flight = batch;
        ++in_flight_count;
        threshold = threshold * 2 < context.plan.batching.most_commands ? threshold * 2 : context.plan.batching.most_commands;
        return PUMICE_OK;
    }
    const uint32_t count = batch->count;
    if (result != VK_ERROR_DEVICE_LOST && context.wait_idle() == VK_SUCCESS) {
        auto signal = structure<VkSemaphoreSignalInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO);
        signal.semaphore = timeline;
        signal.value = batch->value;
        if (context.vk.SignalSemaphore(context.device, &signal) == VK_SUCCESS) submitted = batch->value;
    }
    destroy_batch(batch);
    return within(context.check(result, call), "; the last %u commands given to the device are lost", count);
}

pumice_status Queue::wait_for(VkSemaphore semaphore, uint64_t value) {
    RT_TRY(context.alive());
    // Earlier commands must not wait for the semaphore.
    if (open && (open->count > 0 || open->await_count == most_awaits)) RT_TRY(submit());
    if (!open) RT_TRY(open_batch());
    open->awaits[open->await_count] = semaphore;
    open->awaited_values[open->await_count++] = value;
    awaiting = submitted + 1;
    if (context.plan.batching.by_thread) attend();
    return PUMICE_OK;
}

void Queue::bind(VkPipeline pipeline) {
    if (pipeline == bound) return;
    context.vk.CmdBindPipeline(open->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    bound = pipeline;
}

pumice_status Queue::new_descriptor_pool(Batch& batch, uint32_t storage_buffers) {
    const uint32_t usual = sets_of_a_pool * 6;
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, storage_buffers > usual ? storage_buffers : usual};
    auto info = structure<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
    info.maxSets = sets_of_a_pool;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    if (!batch.sets.reserve(batch.sets.size() + 1)) return no_memory();
    VkDescriptorPool pool = VK_NULL_HANDLE;
    RT_TRY(context.check(context.vk.CreateDescriptorPool(context.device, &info, nullptr, &pool), "vkCreateDescriptorPool"));
    batch.sets.push(pool);
    return PUMICE_OK;
}

pumice_status Queue::descriptor_set(VkDescriptorSetLayout layout, uint32_t storage_buffers, VkDescriptorSet& set) {
    Batch& batch = *open;
    for (;;) {
        const bool fresh = batch.sets_used == batch.sets.size();
        if (fresh) RT_TRY(new_descriptor_pool(batch, storage_buffers));
        auto info = structure<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
        info.descriptorPool = batch.sets[batch.sets_used];
        info.descriptorSetCount = 1;
        info.pSetLayouts = &layout;
        const VkResult result = context.vk.AllocateDescriptorSets(context.device, &info, &set);
        if (result == VK_SUCCESS) return PUMICE_OK;
        // If a pool is full, takes the next one. A failure of a new pool is an error.
        if (fresh || (result != VK_ERROR_OUT_OF_POOL_MEMORY && result != VK_ERROR_FRAGMENTED_POOL))
            return context.check(result, "vkAllocateDescriptorSets");
        ++batch.sets_used;
    }
}

/// Recycles finished batches.
void Queue::collect() {
    const uint64_t now = poll();
    while (in_flight && in_flight->value <= now) {
        Batch* const batch = in_flight;
        in_flight = batch->next;
        if (!in_flight) last_in_flight = nullptr;
        --in_flight_count;
        const VkResult result = context.vk.ResetCommandPool(context.device, batch->pool, 0);
        for (size_t i = 0; i < batch->sets.size() && i <= batch->sets_used; ++i)
            context.vk.ResetDescriptorPool(context.device, batch->sets[i], 0);
        batch->sets_used = 0;
        batch->count = batch->await_count = 0;
        batch->next = unused;
        if (result == VK_SUCCESS)
            unused = batch;
        else
            destroy_batch(batch);
    }
}

uint64_t Queue::poll() {
    if (completed == submitted) return submitted;
    uint64_t now = 0;
    if (context.check(context.vk.GetSemaphoreCounterValue(context.device, timeline, &now), "vkGetSemaphoreCounterValue") ==
            PUMICE_OK &&
        now > completed)
        completed = now;
    if (completed == submitted) threshold = 1;
    return completed;
}

/// Blocks until the value is reached, which is submitted; with or without the mutex.
pumice_status Queue::await_submitted(uint64_t value) {
    auto info = structure<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
    info.semaphoreCount = 1;
    info.pSemaphores = &timeline;
    info.pValues = &value;
    VkResult result;
    if (context.plan.batching.spins)
        for (const int64_t end = clock_ns() + longest_spin; clock_ns() < end;) {
            uint64_t now = 0;
            if (context.vk.GetSemaphoreCounterValue(context.device, timeline, &now) != VK_SUCCESS) break;
            if (now >= value) return PUMICE_OK;
        }
    do {
        result = context.vk.WaitSemaphores(context.device, &info, wait_slice);
        RT_TRY(context.alive());  // another thread may have found it lost
    } while (result == VK_TIMEOUT);
    return context.check(result, "vkWaitSemaphores");
}

pumice_status Queue::await(uint64_t value, bool unlocked) {
    RT_TRY(context.alive());
    if (completed >= value) return PUMICE_OK;
    if (value > submitted) RT_TRY(submit());
    if (unlocked) mutex.unlock();
    const pumice_status status = await_submitted(value);
    if (unlocked) mutex.lock();
    RT_TRY(status);
    if (completed < value) completed = value;
    if (completed == submitted) threshold = 1;
    collect();
    return PUMICE_OK;
}

pumice_status Queue::make_room() {
    RT_TRY(context.alive());
    while (__builtin_expect(in_flight_count >= context.plan.batching.most_in_flight, false)) {
        collect();
        if (in_flight_count < context.plan.batching.most_in_flight) break;
        RT_TRY(await(in_flight->value, true));
    }
    return PUMICE_OK;
}

pumice_status Queue::wait(uint64_t value) {
    {
        const Lock lock(mutex);
        RT_TRY(await(value, true));
    }
    return context.messages();
}

bool Queue::reached(uint64_t value) {
    const Lock lock(mutex);
    if (completed >= value) return true;
    if (value > submitted) submit();
    return poll() >= value || context.is_lost();
}

pumice_status Queue::finish() {
    uint64_t value;
    {
        const Lock lock(mutex);
        value = last();
    }
    return wait(value);
}

}  // namespace pumice_rt::vulkan
