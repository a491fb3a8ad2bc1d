// The commands of a launch. One of more work-groups along an axis than the device's maxComputeWorkGroupCount becomes several
// dispatches.
//
// In steady state a launch allocates nothing, and records only what differs from the previous launch of the batch.
#include "runtime/vulkan/rt_vulkan_launch.h"

namespace pumice_rt::vulkan {
namespace {

/// A scalar argument as its field holds it: sign-extended integers, all else zero-extended.
uint64_t widened(uint32_t type, uint64_t bits) {
    switch (type) {
        case PUMICE_I8: return uint64_t(int64_t(int8_t(bits)));
        case PUMICE_I16: return uint64_t(int64_t(int16_t(bits)));
        case PUMICE_I32: return uint64_t(int64_t(int32_t(bits)));
        default: return bits;
    }
}

size_t field_bytes(uint32_t type) { return type == PUMICE_I64 || type == PUMICE_U64 || type == PUMICE_F64 ? 8 : 4; }

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

}  // namespace

/// The part of a buffer that a binding of the launch gets.
LaunchRecorder::BoundRange LaunchRecorder::bound_range(const RecordedLaunch& r, const BindingRecord& binding) const {
    const auto whole = [](const VulkanMemory& one) {
        return BoundRange{one.range.block, one.range.offset, one.range.offset + one.bytes};
    };
    switch (binding.argument) {
        case BindingRecord::argument_block:
            return {arguments.block, r.block_offset, r.block_offset + int64_t(r.shader.module->block_bytes)};
        case BindingRecord::locks: return whole(*own.lock_words);
        case BindingRecord::ring: return whole(*own.ring);
        default: break;
    }
    const Launch::Argument& array = r.launch.arguments[binding.argument];
    if (!array.memory) return whole(*own.dummy);
    const MemoryRange& range = static_cast<const VulkanMemory*>(array.memory)->range;
    const int64_t begin = range.offset + array.offset, end = begin + array.bytes;
    if (!(r.shader.module->flags & ModuleRecord::shifted)) return {range.block, begin, end};
    const int64_t element_bytes = r.launch.parameter(uint32_t(binding.argument)).element_bytes;
    return {range.block, shifted_begin(begin, end, element_bytes, context.facts.basic.limits), end};
}

/// Lists the accesses: arrays reached by address, and the whole of each binding, as the validation layer counts it. The locks
/// count as read, since launches that share them need no order; argument blocks are written before the batch begins.
uint32_t LaunchRecorder::list_accesses(const RecordedLaunch& r) {
    const Bundle& bundle = *r.launch.bundle;
    const ModuleRecord& module = *r.shader.module;
    uint32_t count = 0;
    // Shaders may access small elements as whole words.
    const auto add = [&](const BoundRange& range, bool write) {
        accesses[count++] = {uint64_t(range.block->buffer), range.begin / 4 * 4, (range.end + 3) / 4 * 4, write};
    };
    for (uint32_t i = 0; i < module.bindings.count; ++i) {
        const BindingRecord& binding = bundle.bindings[module.bindings.first + i];
        if (binding.argument == BindingRecord::argument_block) continue;
        add(bound_range(r, binding), binding.argument != BindingRecord::locks && Access(binding.access) != Access::in);
    }
    for (const RecordRange* span : {&module.push, &module.block})
        for (uint32_t i = 0; i < span->count; ++i) {
            const FieldRecord& field = bundle.fields[span->first + i];
            if (FieldKind(field.kind) != FieldKind::address || !r.launch.arguments[field.index].memory) continue;
            const Launch::Argument& array = r.launch.arguments[field.index];
            const MemoryRange& range = static_cast<const VulkanMemory*>(array.memory)->range;
            const int64_t begin = range.offset + array.offset;
            add({range.block, begin, begin + array.bytes}, Access(r.launch.parameter(field.index).access) != Access::in);
        }
    return count;
}

pumice_status LaunchRecorder::record_part(RecordedLaunch& r, const GroupRange& part, bool timed) {
    if (r.shader.module->block_bytes > 0) RT_TRY(fill_block(r));
    const uint32_t count = list_accesses(r);
    VkCommandBuffer commands;
    RT_TRY(queue.begin(accesses, count, commands, r.launch.counted));
    queue.bind(r.pipeline.handle);
    if (bound.batch != queue.batch() || bound.shader != &r.shader) {
        bound.batch = queue.batch();
        bound.shader = nullptr;
        bound.push_count = 0;
    }
    RT_TRY(bind_arrays(commands, r));
    bound.shader = &r.shader;
    r.value = queue.value();
    Pace& pace = r.pipeline.pace;
    const bool times_it = timed && times.begin(commands, pace);
    dispatch(commands, r, part);
    if (times_it) {
        times.write(commands, 2 * pace.timing + 1);
        pace.is_timed = true, pace.value = r.value, pace.groups = part.groups();
    }
    for (uint32_t i = 0; i < r.launch.argument_count; ++i)
        if (pumice_memory one = r.launch.arguments[i].memory)
            touch(queue, *static_cast<VulkanMemory*>(one), Access(r.launch.parameter(i).access) != Access::in);
    if (r.shader.locks) touch(queue, *own.lock_words, true);
    if (r.shader.reports) touch(queue, *own.ring, true);
    if (r.shader.module->block_bytes > 0) arguments.until(r.value);
    streams.touch(queue, r.launch.stream);
    return queue.end();
}

/// Writes the fields that do not fit the push constants into mapped staging memory: no copy, and mostly no wait.
pumice_status LaunchRecorder::fill_block(RecordedLaunch& r) {
    const ModuleRecord& module = *r.shader.module;
    if (!arguments.block) RT_TRY(arguments.start(context.plan.upload_memory));
    RT_TRY(queue.await(arguments.needed(module.block_bytes), false));
    r.block_offset = arguments.take(module.block_bytes);
    for (uint32_t i = 0; i < module.block.count; ++i) {
        const FieldRecord& field = r.launch.bundle->fields[module.block.first + i];
        const uint64_t value = field_value(r, field);
        memcpy(arguments.block->mapped + r.block_offset + field.offset, &value, field_bytes(field.type));
    }
    return PUMICE_OK;
}

/// Binds the buffers, unless the previous launch has bound the same ones.
pumice_status LaunchRecorder::bind_arrays(VkCommandBuffer commands, const RecordedLaunch& r) {
    const ModuleRecord& module = *r.shader.module;
    bool same = bound.shader == &r.shader;
    for (uint32_t i = 0; i < module.bindings.count; ++i) {
        const BindingRecord& binding = r.launch.bundle->bindings[module.bindings.first + i];
        const BoundRange range = bound_range(r, binding);
        // Shaders may access small elements as whole words: the last one is within the range, whose size is rounded up.
        const VkDeviceSize bytes = VkDeviceSize((range.end - range.begin + 3) / 4 * 4);
        VkDescriptorBufferInfo& last = buffers[binding.binding];
        same = same && range.block->buffer == last.buffer && VkDeviceSize(range.begin) == last.offset && bytes == last.range;
        last = {range.block->buffer, VkDeviceSize(range.begin), bytes};
    }
    bound.shader = nullptr;  // until nothing can fail any more
    if (same || r.shader.bindings == 0) return PUMICE_OK;
    if (context.plan.push_descriptors) {
        context.vk.CmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, r.shader.layout, 0, r.shader.bindings,
                                           writes);
        return PUMICE_OK;
    }
    VkDescriptorSet set = VK_NULL_HANDLE;
    RT_TRY(queue.descriptor_set(r.shader.set_layout, r.shader.bindings, set));
    for (uint32_t i = 0; i < r.shader.bindings; ++i) writes[i].dstSet = set;
    context.vk.UpdateDescriptorSets(context.device, r.shader.bindings, writes, 0, nullptr);
    context.vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, r.shader.layout, 0, 1, &set, 0, nullptr);
    return PUMICE_OK;
}

/// The value of a field that is the same for all dispatches of a launch.
uint64_t LaunchRecorder::field_value(const RecordedLaunch& r, const FieldRecord& field) const {
    const Launch& launch = r.launch;
    switch (FieldKind(field.kind)) {
        case FieldKind::end: return uint64_t(launch.start[field.axis] + launch.extent[field.axis]);
        case FieldKind::size: return uint64_t(launch.extent[field.axis]);
        case FieldKind::extent: return uint64_t(launch.arguments[field.index].extents[field.axis]);
        case FieldKind::argument: return widened(launch.parameter(field.index).type, launch.arguments[field.index].bits);
        case FieldKind::launch: return r.number;
        case FieldKind::address: {
            const Launch::Argument& array = launch.arguments[field.index];
            const MemoryRange& range = array.memory ? static_cast<const VulkanMemory*>(array.memory)->range : own.dummy->range;
            return range.block->address + uint64_t(range.offset + (array.memory ? array.offset : 0));
        }
        case FieldKind::first: {
            const Launch::Argument& array = launch.arguments[field.index];
            if (!array.memory) return 0;
            const int64_t begin = static_cast<const VulkanMemory*>(array.memory)->range.offset + array.offset;
            const int64_t element_bytes = launch.parameter(field.index).element_bytes;
            const VkPhysicalDeviceLimits& limits = context.facts.basic.limits;
            return uint64_t((begin - shifted_begin(begin, begin + array.bytes, element_bytes, limits)) / element_bytes);
        }
        default: return 0;
    }
}

/// Pushes the fields for the dispatch whose first group is `base`, unless they are as before.
void LaunchRecorder::push_fields(VkCommandBuffer commands, const RecordedLaunch& r, const int64_t (&base)[3]) {
    const ModuleRecord& module = *r.shader.module;
    if (module.push_bytes == 0) return;
    const FieldRecord* const fields = r.launch.bundle->fields + module.push.first;
    for (uint32_t i = 0; i < module.push.count; ++i) {
        const FieldRecord& field = fields[i];
        uint64_t value = 0;
        switch (FieldKind(field.kind)) {
            case FieldKind::start:
                value = uint64_t(r.launch.start[field.axis] + base[field.axis] * r.launch.group[field.axis]);
                break;
            case FieldKind::group_base: value = uint64_t(base[field.axis]); break;
            case FieldKind::group_count: value = uint64_t(r.groups[field.axis]); break;
            default: value = field_value(r, field);
        }
        memcpy(push + field.offset, &value, field_bytes(field.type));
    }
    const uint32_t bytes = (module.push_bytes + 3) / 4 * 4;
    if (bound.push_count == bytes && memcmp(bound.push, push, bytes) == 0) return;
    memcpy(bound.push, push, bytes);
    bound.push_count = bytes;
    context.vk.CmdPushConstants(commands, r.shader.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, push);
}

/// Records one dispatch, or several if there are more groups along an axis than a dispatch may have.
void LaunchRecorder::dispatch(VkCommandBuffer commands, const RecordedLaunch& r, const GroupRange& part) {
    const uint32_t(&most)[3] = context.facts.basic.limits.maxComputeWorkGroupCount;
    uint32_t count[3];
    int64_t base[3] = {0, 0, 0};
    // More groups than a dispatch may have all run: those past the counts do nothing.
    if (r.launch.counted && r.groups[0] <= most[0] && r.groups[1] <= most[1] && r.groups[2] <= most[2]) {
        const Launch::Argument& counts = r.launch.arguments[r.launch.argument_count - 1];
        const MemoryRange& range = static_cast<const VulkanMemory*>(counts.memory)->range;
        push_fields(commands, r, base);
        return context.vk.CmdDispatchIndirect(commands, range.block->buffer,
                                              VkDeviceSize(range.offset + counts.offset) + sizeof(VkDispatchIndirectCommand));
    }
    if (r.pipeline.at_origin) {
        push_fields(commands, r, base);
        for (int axis = 0; axis < 3; ++axis) count[axis] = uint32_t(part.end[axis] - part.begin[axis]);
        if (part.begin[0] == 0 && part.begin[1] == 0 && part.begin[2] == 0)
            context.vk.CmdDispatch(commands, count[0], count[1], count[2]);
        else
            context.vk.CmdDispatchBase(commands, uint32_t(part.begin[0]), uint32_t(part.begin[1]), uint32_t(part.begin[2]),
                                       count[0], count[1], count[2]);
        return;
    }
    const bool shifted = r.shader.module->flags & ModuleRecord::shifted;
    bool first = true;
    for (base[2] = part.begin[2]; base[2] < part.end[2]; base[2] += most[2])
        for (base[1] = part.begin[1]; base[1] < part.end[1]; base[1] += most[1])
            for (base[0] = part.begin[0]; base[0] < part.end[0]; base[0] += most[0]) {
                // A shifted binding may contain other arrays of the launch, so that the validation layer sees a conflict.
                if (shifted && !first) queue.order();
                first = false;
                push_fields(commands, r, base);
                for (int axis = 0; axis < 3; ++axis) count[axis] = uint32_t(least(part.end[axis] - base[axis], most[axis]));
                context.vk.CmdDispatch(commands, count[0], count[1], count[2]);
            }
}

}  // namespace pumice_rt::vulkan
