// Records into command buffers of the application.
//
// A thread that records has a CommandRecorder; the queue's begin() and end() ask for it and let it do their work. Barriers come
// from the same hazard tracker as those of batches (hazards.h). The first command follows what the application says of the
// commands before, and the last barrier orders the commands after:
//
//   before -> barrier?   launch 1   barrier?   launch 2 ...   barrier -> after
//
// Arrays with scopes of their own get the first barrier at the first command that touches them, and none if both sides read. A
// barrier names only the stages and writes that were recorded so far. Commands keep what they use in the CommandRecorder:
// buffers, executables, descriptor pools, and blocks of mapped memory for values that commands read. Released pools and blocks
// are used again, so a frame like the last one makes no Vulkan object. Cost: the tracker's, and a descriptor set a launch on
// devices without push descriptors. Images follow the scopes for all arrays; their layouts are those that the application was
// promised. Limits: scopes are those of memory barriers; an image has none of its own.
#include "vulkan/command_recorder.h"

#include <algorithm>
#include <utility>

#include "core/support/error.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {

constexpr VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, transfer = VK_PIPELINE_STAGE_TRANSFER_BIT;
// Of all commands, but for the reads of indirect dispatches.
constexpr VkPipelineStageFlags commands_stages = compute | transfer;
constexpr VkAccessFlags commands_accesses =
    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags writes = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT |
                                 VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
                                 VK_ACCESS_HOST_WRITE_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
constexpr int64_t smallest_block = 64 << 10, alignment = 256;  // as Staging has it

[[gnu::tls_model("initial-exec")]] thread_local CommandRecorder* recording = nullptr;  // which each command reads
thread_local std::string first_message;

/// The writes of these stages.
VkAccessFlags writes_of(VkPipelineStageFlags stages) {
    return (stages & compute ? VK_ACCESS_SHADER_WRITE_BIT : 0) | (stages & transfer ? VK_ACCESS_TRANSFER_WRITE_BIT : 0);
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
    if (!recording || !is_fault(data->pMessageIdName)) return VK_FALSE;
    if (first_message.empty()) first_message = data->pMessage ? data->pMessage : "";
    return VK_TRUE;  // the validation layer leaves the call out, which the driver might not survive
}

const char* name_of(BufferState state) {
    switch (state) {
        case BufferState::recording: return "recording";
        case BufferState::initial: return "not begun";
        case BufferState::executable: return "ended";
        case BufferState::pending: return "being executed";
        case BufferState::in_render_pass: return "inside a render pass";
    }
    return "in an unknown state";
}

}  // namespace

CommandRecorder::CommandRecorder(std::shared_ptr<VulkanDevice> on) : device(std::move(on)), queue(&device->queue) {}

CommandRecorder::~CommandRecorder() { clear(); }

void CommandRecorder::report() {
    if (recording) refuse("the reports of recorded commands are asked for");
    device->take_recorded(*this, false);
    device->reports.deliver();
}

void CommandRecorder::clear() {
    try {
        device->take_recorded(*this, true);  // the next wait hands it out
    } catch (const Error&) {
        // The device is lost, and the next wait says so.
    }
    {
        const std::lock_guard lock(queue->mutex);
        for (VkDescriptorPool pool : pools) {
            device->context.vk.ResetDescriptorPool(device->context.device, pool, 0);
            device->unused_pools.push_back(pool);
        }
        for (KeptSet* set : sets) --set->recordings;
    }
    sets.clear();
    pools.clear();
    for (auto& block : blocks) device->recorded_blocks.give_back(std::move(block));
    blocks.clear();
    // Destructors take the queue's mutex.
    executables.clear();
    buffers.clear();
    images.clear();
}

CommandRecorder* CommandRecorder::current() { return recording; }

CommandRecorder::Suspended::Suspended() : before(std::exchange(recording, nullptr)) {}
CommandRecorder::Suspended::~Suspended() { recording = before; }

CommandRecorder* Queue::recorder() const {
    CommandRecorder* const current = CommandRecorder::current();
    return current && current->queue == this ? current : nullptr;
}

void CommandRecorder::refuse(const std::string& what) {
    fail("inside vulkan::record, ", what, ": a command buffer cannot hold that; it belongs before or after the recording");
}

void CommandRecorder::record(VkCommandBuffer into, const std::function<void()>& act, const Around& around) {
    device->context.require_alive();
    if (!into) throw Error("vulkan::record is called for no command buffer: the handle is null");
    if (around.state != BufferState::recording)
        fail("vulkan::record is called for a command buffer that is ", name_of(around.state),
             ": it has to be begun, and outside of a render pass");
    if (recording)
        throw Error("vulkan::record is called inside vulkan::record: a thread records into one command buffer at a time");
    if (queue->in_call()) throw Error("vulkan::record is called inside a function that a stream calls (Stream::call)");
    bool pending;
    {
        const std::lock_guard lock(queue->mutex);
        pending = queue->has_pending();
    }
    if (pending) queue->signal();
    first_message.clear();
    start(into, around);
    recording = this;
    struct End {
        ~End() { recording = nullptr; }
    } const end;
    try {
        act();
    } catch (...) {
        finish();  // what was recorded is ordered before the application's commands
        throw;
    }
    finish();
    raise_messages();
}

void CommandRecorder::start(VkCommandBuffer into, const Around& around) {
    commands = into;
    before = around.before;
    after = around.after;
    is_ordered = before.stages == 0;
    stages = writing = 0;
    bound = VK_NULL_HANDLE;
    is_reporting = false;
    hazards.clear();
    arrays.clear();
    for (const ArrayScope& one : around.arrays) {
        if (!one.array || !one.array->memory) continue;  // no elements
        if (one.array->released) throw Error("vulkan::record is given the scope of an array that was released");
        if (one.array->device->backend.get() != device.get())
            fail("vulkan::record is given the scope of an array on ", one.array->device->name, ", and records for ",
                 device->context.name);
        const MemoryRange& range = static_cast<const Buffer&>(*one.array->memory).range;
        const int64_t begin = range.offset + one.array->offset;
        arrays.push_back({{range.block->id, begin, begin + one.array->bytes, false}, one.before, one.after, false, false});
    }
    const std::lock_guard lock(queue->mutex);
    batch = queue->next_batch();
}

VkCommandBuffer CommandRecorder::begin(std::span<const BufferAccess> accesses,
                                       std::span<const VkImageMemoryBarrier> transitions) {
    VkPipelineStageFlags from = 0;
    VkAccessFlags written = 0;
    if (hazards.needs_barrier(accesses) || !transitions.empty()) from |= stages, written |= writes_of(writing);
    // Later commands may read indirectly what the application wrote.
    bool indirect = is_indirect(accesses);
    if (!is_ordered) {
        is_ordered = true;
        indirect |= (before.access & writes) != 0;
        from |= before.stages, written |= before.access & writes;
    }
    is_writing = is_dispatch = false;
    for (const BufferAccess& access : accesses) is_writing |= access.write;
    for (PendingAccess& array : arrays)
        for (const BufferAccess& access : accesses) {
            const BufferAccess any{array.range.buffer, array.range.begin, array.range.end, true};
            if (!conflict(any, access)) continue;
            array.is_used = true;
            if (array.is_ordered || (!access.write && !(array.before.access & writes))) continue;
            array.is_ordered = true;
            indirect |= (array.before.access & writes) != 0;
            from |= array.before.stages, written |= array.before.access & writes;
        }
    if (from || !transitions.empty()) {
        barrier(from ? from : VkPipelineStageFlags(VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT), written,
                commands_stages | (indirect ? VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT : 0),
                commands_accesses | (indirect ? VK_ACCESS_INDIRECT_COMMAND_READ_BIT : 0), transitions);
        hazards.ordered(indirect);
    }
    hazards.add(accesses);
    return commands;
}

void CommandRecorder::end() {
    const VkPipelineStageFlags stage = is_dispatch ? compute : transfer;
    stages |= stage;
    if (is_writing) writing |= stage;
    if (device->recording_messages) raise_messages();
}

void CommandRecorder::finish() {
    const std::lock_guard lock(queue->mutex);
    Transitions transitions;
    for (Image* image : borrowed) transitions.add(*image, image->lent->after);
    for (Image* image : borrowed) image->layout = image->lent->before;
    borrowed.clear();
    VkPipelineStageFlags to = after.stages;
    VkAccessFlags used = after.access;
    for (const PendingAccess& array : arrays)
        if (array.is_used) to |= array.after.stages, used |= array.after.access;
    if (is_reporting) to |= VK_PIPELINE_STAGE_HOST_BIT, used |= VK_ACCESS_HOST_READ_BIT;
    // Nothing was recorded, or nothing follows, or both sides read.
    if (transitions.barriers().empty() && (!stages || !to || (!writing && !(used & writes)))) return;
    barrier(stages ? stages : VkPipelineStageFlags(VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT), writes_of(writing),
            to ? to : VkPipelineStageFlags(VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT), to ? used : 0, transitions.barriers());
}

void CommandRecorder::order() { barrier(stages | compute, writes_of(writing | compute), commands_stages, commands_accesses); }

void CommandRecorder::barrier(VkPipelineStageFlags from, VkAccessFlags written, VkPipelineStageFlags to, VkAccessFlags used,
                              std::span<const VkImageMemoryBarrier> transitions) {
    device->context.barrier(commands, from, written, to, used, transitions);
}

void CommandRecorder::bind(VkPipeline pipeline) {
    is_dispatch = true;
    if (pipeline == bound) return;
    device->context.vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    bound = pipeline;
}

VkDescriptorSet CommandRecorder::descriptor_set(VkDescriptorSetLayout layout, uint32_t storage_buffers) {
    for (bool is_full = pools.empty(), is_new = false;; is_full = true) {
        if (is_full) {
            is_new = device->unused_pools.empty();
            if (is_new) device->unused_pools.push_back(queue->new_descriptor_pool(storage_buffers));
            pools.push_back(device->unused_pools.back());
            device->unused_pools.pop_back();
        }
        if (const VkDescriptorSet set = device->context.descriptor_set(pools.back(), layout, is_new)) return set;
    }
}

void CommandRecorder::keep(Buffer& buffer) {
    if (std::exchange(buffer.recorded_in, batch) == batch) return;
    if (auto shared = buffer.weak_from_this().lock()) buffers.push_back(std::move(shared));  // else a part of the device
}

void CommandRecorder::borrow(Image& image) {
    if (std::ranges::find(borrowed, &image) != borrowed.end()) return;
    const bool is_pumices = !image.lent;
    if (is_pumices) image.lent = LentImage{image.handle, image.usage, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL};
    if (is_pumices || image.is_borrowed) {  // it may be in another layout: changed in the queue, before the application's buffer
        const Suspended suspended;
        device->give_back(image);
        queue->submit();
    }
    borrowed.push_back(&image);
    if (std::exchange(image.recorded_in, batch) != batch) images.push_back(image.shared_from_this());
}

void CommandRecorder::keep(const std::shared_ptr<Executable>& executable) {
    if (std::exchange(static_cast<VulkanProgram&>(*executable).recorded_in, batch) != batch) executables.push_back(executable);
}

void CommandRecorder::keep(KeptSet& set) {
    if (std::exchange(set.recorded_in, batch) == batch) return;
    sets.push_back(&set);
    ++set.recordings;
}

Staging::Piece CommandRecorder::take(int64_t bytes) {
    const int64_t first = (taken + alignment - 1) / alignment * alignment;
    if (blocks.empty() || first + bytes > blocks.back()->bytes) {
        auto block = device->recorded_blocks.take(std::max(bytes, smallest_block));
        if (!block)
            fail("cannot allocate ", bytes, " bytes on ", device->context.name, " for values that recorded commands read");
        blocks.push_back(std::move(block));
        taken = bytes;
        return {blocks.back(), 0, bytes};
    }
    taken = first + bytes;
    return {blocks.back(), first, bytes};
}

void CommandRecorder::abandon() {
    device->abandon_recorded(*this);
    const std::lock_guard lock(queue->mutex);
    for (const auto& buffer : buffers) buffer->is_abandoned = true;
    for (const auto& image : images) image->is_abandoned = true;
    for (const auto& executable : executables) static_cast<VulkanProgram&>(*executable).is_abandoned = true;
    device->abandoned_pools.insert(device->abandoned_pools.end(), pools.begin(), pools.end());
    device->abandoned_blocks.insert(device->abandoned_blocks.end(), blocks.begin(), blocks.end());
    sets.clear();  // which stay in use
    pools.clear();
    blocks.clear();
}

void CommandRecorder::raise_messages() {
    if (first_message.empty()) return;
    fail("the Vulkan validation layer finds a fault in commands that are recorded for the application: ",
         std::exchange(first_message, ""));
}

std::shared_ptr<void> listen_while_recording(const InstanceFunctions& functions, VkInstance instance) {
    if (!functions.CreateDebugUtilsMessengerEXT || !functions.DestroyDebugUtilsMessengerEXT) return nullptr;
    auto info = structure<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
    info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    info.pfnUserCallback = on_message;
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
    if (functions.CreateDebugUtilsMessengerEXT(instance, &info, nullptr, &messenger) != VK_SUCCESS) return nullptr;
    const auto destroy = functions.DestroyDebugUtilsMessengerEXT;
    return {messenger, [destroy, instance](VkDebugUtilsMessengerEXT m) { destroy(instance, m, nullptr); }};
}

}  // namespace pumice::vulkan
