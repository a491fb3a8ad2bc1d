// The command queue: records commands into batches, submits them in order, and tracks progress by one timeline semaphore.
//
// Each batch (a command buffer) signals the next value of the timeline; a wait, a query and the reuse of memory all compare
// values:
//
//   begin(accesses), vkCmd..., end()    command 1 |
//   begin(accesses), vkCmd..., end()    command 2 | batch -> submit: signals value 7      wait(7): vkWaitSemaphores
//
// Barriers are automatic (hazards.h). Batching trades latency for overhead: an idle device gets a command at once, a busy one
// gets batches whose size doubles with each submission, up to Batching::most_commands, and neither gets two submissions within
// Batching::interval unless somebody waits. On an NVIDIA H100 (driver 580) a submission takes the host 3 us and the device 16 us;
// a command takes 1 us and, without a barrier, 0.2 us. make_room() bounds the batches in flight
// (back-pressure). Host calls (call()) occupy a value of the timeline each and hold back what is recorded after them;
// queue_thread.cpp runs them. Objects are destroyed by retire(): deferred until the value of their last use is reached. Cost: a
// barrier, a submission and a semaphore value a batch. After a failed submission the host signals the promised value, so no
// waiter hangs. Limits: one queue family; in order but for commands that go ahead of a call.
#include "vulkan/queue.h"

#include <algorithm>
#include <utility>

#include "core/support/debug.h"
#include "core/support/error.h"
#include "core/support/trace.h"
#include "vulkan/command_recorder.h"

namespace pumice::vulkan {
namespace {

constexpr uint64_t wait_slice = 1'000'000'000;  // ns; a wait is a loop of these, since drivers may limit a single wait
constexpr uint64_t thread_slice = 20'000'000;   // ns; the longest time until the queue's thread notices that it must stop
constexpr uint32_t sets_of_a_pool = 64;
constexpr std::chrono::microseconds longest_spin{50};

// The stages and accesses of all commands that the queue records, but for the reads of indirect dispatches.
constexpr VkPipelineStageFlags commands_stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags commands_accesses =
    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;

}  // namespace

Queue::Queue(Context& c) : context(c) {
    auto type = structure<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    auto info = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type);
    context.check(context.vk.CreateSemaphore(context.device, &info, nullptr, &timeline), "vkCreateSemaphore");
    // Submit an empty batch: drivers and layers construct static objects at their first use, and the queue's exit handler must
    // run before those are destroyed, so it is registered after them.
    try {
        open_batch();
        submit();
        await(submitted);
    } catch (...) {
        for (auto& batch : in_flight) destroy(*batch);
        context.vk.DestroySemaphore(context.device, timeline, nullptr);
        throw;
    }
    end_at_exit();
}

Queue::~Queue() {
    // Recorded work that nobody waited for is still done. On a lost device that fails, and the objects are destroyed all the
    // same.
    try {
        finish();
    } catch (...) {}
    stop();
    context.wait_idle();
    for (Retired& item : retired) item.act();
    if (open) destroy(*open);
    if (front) destroy(*front);
    for (QueueItem& step : held)  // left over if a call destroys the queue
        if (step.batch) destroy(*step.batch);
    for (auto& batch : in_flight) destroy(*batch);
    for (auto& batch : unused) destroy(*batch);
    context.vk.DestroySemaphore(context.device, timeline, nullptr);
}

void Queue::destroy(Batch& batch) {
    for (VkDescriptorPool pool : batch.sets) context.vk.DestroyDescriptorPool(context.device, pool, nullptr);
    context.vk.DestroyCommandPool(context.device, batch.pool, nullptr);
}

void Queue::open_batch() {
    open = new_batch();
    bound = VK_NULL_HANDLE;
}

/// A batch that is ready for recording.
std::unique_ptr<Queue::Batch> Queue::new_batch() {
    std::unique_ptr<Batch> batch;
    if (unused.empty()) collect();
    if (!unused.empty()) {
        batch = std::move(unused.back());
        unused.pop_back();
    } else {
        batch = std::make_unique<Batch>();
        auto info = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
        info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
        info.queueFamilyIndex = context.plan.queue_family;
        context.check(context.vk.CreateCommandPool(context.device, &info, nullptr, &batch->pool), "vkCreateCommandPool");
        auto allocation = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
        allocation.commandPool = batch->pool;
        allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
        allocation.commandBufferCount = 1;
        const VkResult result = context.vk.AllocateCommandBuffers(context.device, &allocation, &batch->commands);
        if (result != VK_SUCCESS) destroy(*batch);
        context.check(result, "vkAllocateCommandBuffers");
    }
    auto begin = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    const VkResult result = context.vk.BeginCommandBuffer(batch->commands, &begin);
    if (result != VK_SUCCESS) destroy(*batch);
    context.check(result, "vkBeginCommandBuffer");
    number = next_batch();
    if (context.names.on()) context.names.begin(batch->commands, text("pumice batch ", number));
    if (context.wrapped)
        context.barrier(batch->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                        commands_stages | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
                        commands_accesses | VK_ACCESS_INDIRECT_COMMAND_READ_BIT);
    return batch;
}

VkCommandBuffer Queue::begin(std::span<const BufferAccess> accesses, bool ahead,
                             std::span<const VkImageMemoryBarrier> transitions) {
    context.require_alive();
    if (CommandRecorder* const r = recorder()) return r->begin(accesses, transitions);
    if (front) {  // an error prevented its end()
        destroy(*std::exchange(front, nullptr));
        number = next_batch();
    }
    if (ahead) {
        front = new_batch();
        front->value = submitted + 1;
        bound = VK_NULL_HANDLE;
        if (!transitions.empty() || is_indirect(accesses)) barrier(*front, follower(accesses), transitions);
        return front->commands;
    }
    if (!open) open_batch();
    if (!transitions.empty() || hazards.needs_barrier(accesses)) {
        barrier(*open, follower(accesses), transitions);
        hazards.ordered(is_indirect(accesses));
    }
    hazards.add(accesses);
    if (audit) audit->push_back({false, {accesses.begin(), accesses.end()}});
    return open->commands;
}

void Queue::end() {
    if (CommandRecorder* const r = recorder()) return r->end();
    ++commands;
    if (front) return submit_front();
    const Batching& batching = context.plan.batching;
    if (++open->count >= batching.most_commands || (batching.when_idle && is_due()))
        submit();
    else if (batching.by_thread)
        attend();
}

/// True if the open batch should be submitted though nobody waits for it: it is large for the work in flight, or the device is
/// idle. A submission costs more than a command, on the host and on the device, so that none follows another one closely.
bool Queue::is_due() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_submission < context.plan.batching.interval) return false;
    return open->count >= threshold || (held.empty() && poll() == submitted);
}

Queue::Follower Queue::follower(std::span<const BufferAccess> accesses) {
    return is_indirect(accesses) ? Follower::indirect : Follower::command;
}

/// Orders everything recorded before the barrier before everything after it, and makes writes visible: to the indirect read of an
/// indirect command; after the end of a batch to the host, and, on an application's device, to the rest of the application.
void Queue::barrier(const Batch& batch, Follower follower, std::span<const VkImageMemoryBarrier> transitions) {
    // The first scope includes the stages before those named, so that a write waits for earlier indirect reads.
    VkPipelineStageFlags to = commands_stages;
    VkAccessFlags used = commands_accesses;
    if (follower == Follower::indirect) to |= VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, used |= VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
    const bool last = follower == Follower::end_of_batch;
    if (last) to |= VK_PIPELINE_STAGE_HOST_BIT, used |= VK_ACCESS_HOST_READ_BIT;
    if (last && context.wrapped)
        to |= VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, used |= VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    context.barrier(batch.commands, commands_stages, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, to, used,
                    transitions);
    if (audit) audit->push_back({true, {}});
}

void Queue::order() {
    if (CommandRecorder* const r = recorder()) return r->order();
    barrier(front ? *front : *open, Follower::command);
}

/// Submits the batch that goes ahead of a call. The batches before it end with barriers, and so does this one.
void Queue::submit_front() {
    front->count = 1;
    barrier(*front, Follower::end_of_batch);
    bound = VK_NULL_HANDLE;  // the batch that is open has other bindings
    number = next_batch();
    context.names.end(front->commands);
    const VkResult result = context.vk.EndCommandBuffer(front->commands);
    hand_over(std::move(front), result, "vkEndCommandBuffer");
}

void Queue::submit() {
    if (!open) return;
    context.require_alive();
    barrier(*open, Follower::end_of_batch);
    hazards.ordered(context.wrapped);  // there a batch begins with a barrier that covers everything
    std::unique_ptr<Batch> batch = std::move(open);
    batch->value = signalled = ++assigned;
    context.names.end(batch->commands);
    const VkResult result = context.vk.EndCommandBuffer(batch->commands);
    if (held.empty()) return hand_over(std::move(batch), result, "vkEndCommandBuffer");
    if (result == VK_SUCCESS) {
        held.push_back({assigned, std::move(batch), {}});
        return;
    }
    held.push_back({assigned, nullptr, [] {}});  // a call that does nothing, so that the value is still reached
    destroy(*batch);
    context.check(result, "vkEndCommandBuffer");
}

void Queue::wait_for(const Signal& signal) {
    context.require_alive();
    if (open && open->count > 0) submit();  // earlier commands must not wait for the signal
    if (!open) open_batch();
    open->awaits.push_back(signal.semaphore);
    open->awaited_values.push_back(signal.value);
    awaiting = assigned + 1;
    if (context.plan.batching.by_thread) attend();
}

/// Submits a batch to the driver, unless `result` is a failure already. After a failure the batch's commands are lost, but the
/// host signals the promised value, so that no wait blocks forever, and the queue remains usable.
void Queue::hand_over(std::unique_ptr<Batch> batch, VkResult result, const char* call) {
    if (result == VK_SUCCESS) {
        auto values = structure<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        // The timeline comes last: drivers signal in this order, and a semaphore may be destroyed once the timeline has the
        // value.
        std::vector<VkSemaphore> signals = batch->signals;
        std::vector<uint64_t> signal_values = batch->signal_values;
        signals.push_back(timeline);
        signal_values.push_back(batch->value);
        values.signalSemaphoreValueCount = uint32_t(signals.size());
        values.pSignalSemaphoreValues = signal_values.data();
        values.waitSemaphoreValueCount = uint32_t(batch->awaits.size());
        values.pWaitSemaphoreValues = batch->awaited_values.data();
        const std::vector<VkPipelineStageFlags> stages(batch->awaits.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
        auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO, &values);
        info.waitSemaphoreCount = uint32_t(batch->awaits.size());
        info.pWaitSemaphores = batch->awaits.data();
        info.pWaitDstStageMask = stages.data();
        info.commandBufferCount = 1;
        info.pCommandBuffers = &batch->commands;
        info.signalSemaphoreCount = uint32_t(signals.size());
        info.pSignalSemaphores = signals.data();
        trace::Span span("host", "vkQueueSubmit");
        span.add("commands", batch->count);
        result = context.submit(info);
        call = "vkQueueSubmit";
    }
    const int count = batch->count;
    if (result == VK_SUCCESS) {
        submitted = on_timeline = batch->value;
        last_submission = std::chrono::steady_clock::now();
        if (debug::log() && count > 0)
            debug::log_line(text("batch ", batch->value, " has ", count, count == 1 ? " command" : " commands"));
        in_flight.push_back(std::move(batch));
        threshold = std::min(threshold * 2, context.plan.batching.most_commands);
        return;
    }
    if (result != VK_ERROR_DEVICE_LOST && context.wait_idle() == VK_SUCCESS) {
        signal_from_host(batch->value);
        submitted = batch->value;
    }
    destroy(*batch);
    try {
        context.check(result, call);
    } catch (const Error& error) { throw error.within(text("the last ", count, " commands given to the device are lost")); }
}

/// Signals a value of the timeline from the host. The driver's queue must be idle.
void Queue::signal_from_host(uint64_t value) {
    auto signal = structure<VkSemaphoreSignalInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO);
    signal.semaphore = timeline;
    signal.value = value;
    context.check(context.vk.SignalSemaphore(context.device, &signal), "vkSignalSemaphore");
    on_timeline = value;
}

uint64_t Queue::batch() const {
    const CommandRecorder* const r = recorder();
    return r ? r->batch : number;
}

void Queue::bind(VkPipeline pipeline) {
    if (CommandRecorder* const r = recorder()) return r->bind(pipeline);
    if (pipeline == bound) return;
    context.vk.CmdBindPipeline((front ? front : open)->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    bound = pipeline;
}

VkDescriptorPool Queue::new_descriptor_pool(uint32_t descriptors) {
    const VkDescriptorPoolSize sizes[] = {
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, std::max(descriptors, sets_of_a_pool * 6)},
        {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, std::max(descriptors, sets_of_a_pool)},
        {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, std::max(descriptors, sets_of_a_pool)},
        {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, std::max(descriptors, sets_of_a_pool)},
    };
    auto info = structure<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
    info.maxSets = sets_of_a_pool;
    info.poolSizeCount = uint32_t(std::size(sizes));
    info.pPoolSizes = sizes;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    context.check(context.vk.CreateDescriptorPool(context.device, &info, nullptr, &pool), "vkCreateDescriptorPool");
    return pool;
}

VkDescriptorSet Queue::descriptor_set(VkDescriptorSetLayout layout, uint32_t descriptors) {
    if (CommandRecorder* const r = recorder()) return r->descriptor_set(layout, descriptors);
    Batch& batch = front ? *front : *open;
    for (;;) {
        const bool fresh = batch.sets_used == batch.sets.size();
        if (fresh) batch.sets.push_back(new_descriptor_pool(descriptors));
        if (const VkDescriptorSet set = context.descriptor_set(batch.sets[batch.sets_used], layout, fresh)) return set;
        ++batch.sets_used;
    }
}

void Queue::retire(uint64_t value, std::function<void()> act) {
    if (value <= completed)
        act();
    else
        retired.push_back({value, std::move(act)});
}

void Queue::collect() {
    const uint64_t now = poll();
    while (!in_flight.empty() && in_flight.front()->value <= now) {
        std::unique_ptr<Batch> batch = std::move(in_flight.front());
        in_flight.pop_front();
        const VkResult result = context.vk.ResetCommandPool(context.device, batch->pool, 0);
        for (size_t i = 0; i < batch->sets.size() && i <= batch->sets_used; ++i)
            context.vk.ResetDescriptorPool(context.device, batch->sets[i], 0);
        batch->sets_used = 0;
        batch->count = 0;
        batch->awaits.clear();
        batch->awaited_values.clear();
        batch->signals.clear();
        batch->signal_values.clear();
        if (result == VK_SUCCESS)
            unused.push_back(std::move(batch));
        else
            destroy(*batch);
    }
    // Values ascend, except those of objects whose last use is before that of an object retired earlier; these wait a little
    // longer.
    while (!retired.empty() && retired.front().value <= now) {
        const std::function<void()> act = std::move(retired.front().act);
        retired.pop_front();
        act();
    }
}

uint64_t Queue::poll() {
    if (completed == submitted) return submitted;
    uint64_t now = 0;
    context.check(context.vk.GetSemaphoreCounterValue(context.device, timeline, &now), "vkGetSemaphoreCounterValue");
    if (now > completed) completed = now;  // the value of a call is not on the timeline
    if (completed == submitted) threshold = 1;
    return completed;
}

/// True if the value is reached within the time that a sleeping thread takes to wake up: 24 us on an NVIDIA H100.
bool Queue::spin(uint64_t value) {
    const auto end = std::chrono::steady_clock::now() + longest_spin;
    do {
        uint64_t now = 0;
        if (context.vk.GetSemaphoreCounterValue(context.device, timeline, &now) != VK_SUCCESS) return false;
        if (now >= value) return true;
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

/// Blocks until the value is reached, which must be submitted now or later; with or without the mutex. False if the thread must
/// stop before that.
bool Queue::await(uint64_t value, bool until_stopped) {
    if (context.plan.batching.spins && !until_stopped && spin(value)) return true;
    auto info = structure<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
    info.semaphoreCount = 1;
    info.pSemaphores = &timeline;
    info.pValues = &value;
    VkResult result;
    do {
        if (until_stopped && stopping) return false;
        result = context.vk.WaitSemaphores(context.device, &info, until_stopped ? thread_slice : wait_slice);
        context.require_alive();  // another thread may have found it lost
    } while (result == VK_TIMEOUT);
    context.check(result, "vkWaitSemaphores");
    return true;
}

void Queue::make_room() {
    context.require_alive();
    if (recorder()) return;  // the batches are the application's
    for (;;) {
        uint64_t oldest;
        {
            const std::lock_guard lock(mutex);
            if (in_flight.size() < context.plan.batching.most_in_flight) return;
            collect();
            if (in_flight.size() < context.plan.batching.most_in_flight) return;
            oldest = in_flight.front()->value;
        }
        await(oldest);
    }
}

void Queue::wait(uint64_t value) {
    context.require_alive();
    if (completed < value) {
        const trace::Span span("host", "wait");
        bool calls;
        {
            const std::lock_guard lock(mutex);
            if (value > assigned) submit();
            calls = !held.empty();
        }
        if (calls) run_calls(value);
        if (completed < value) await(value);
        const std::lock_guard lock(mutex);
        if (completed < value) completed = value;
        if (completed == submitted) threshold = 1;
        collect();
    }
    if (faulty) rethrow();
    if (context.validates) context.raise_messages();
}

Queue::Signal Queue::signal(std::span<const Signal> waits, std::span<const Signal> also) {
    context.require_alive();
    uint64_t value;
    {
        const std::lock_guard lock(mutex);
        // The value of a call is not on the timeline.
        if (!open && (signalled < assigned || !waits.empty() || !also.empty())) open_batch();
        for (const Signal& one : waits) {
            open->awaits.push_back(one.semaphore);
            open->awaited_values.push_back(one.value);
            awaiting = assigned + 1;
        }
        for (const Signal& one : also) {
            open->signals.push_back(one.semaphore);
            open->signal_values.push_back(one.value);
        }
        submit();
        value = assigned;
    }
    run_calls(value);
    return {timeline, value};
}

bool Queue::reached(uint64_t value) {
    if (completed >= value) return true;
    const std::lock_guard lock(mutex);
    if (value > assigned) submit();
    if (!held.empty()) attend();  // in case no thread could be started before
    return poll() >= value;
}

void Queue::finish_unheld() {
    uint64_t value;
    {
        const std::lock_guard lock(mutex);
        if (held.empty()) submit();
        value = submitted;
    }
    wait(value);
}

void Queue::finish() {
    uint64_t value;
    {
        const std::lock_guard lock(mutex);
        value = last();
    }
    wait(value);
}

}  // namespace pumice::vulkan
