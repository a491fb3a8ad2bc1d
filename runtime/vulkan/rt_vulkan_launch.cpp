// Launches: the choice of group, module and pipeline, and the commands of a launch.
//
// In steady state a launch takes the queue's mutex once, allocates nothing, and records only what differs from the previous
// launch of the batch. A missing pipeline is made without the mutex.
#include "runtime/vulkan/rt_vulkan_device.h"

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

// ---- the choice of a pipeline ----

VulkanProgram* VulkanDevice::find_program(const Bundle& bundle, uint32_t kernel) {
    if (last_program && last_program->bundle == bundle.serial && last_program->kernel == kernel) return last_program;
    for (VulkanProgram* one = programs[(bundle.serial * 31 + kernel) % program_lists]; one; one = one->next)
        if (one->bundle == bundle.serial && one->kernel == kernel) return last_program = one;
    return nullptr;
}

/// Chooses the extents of groups if the launch does not, and checks them.
pumice_status VulkanDevice::set_group(Launch& launch) const {
    const VkPhysicalDeviceLimits& limits = context.facts.basic.limits;
    const KernelRecord& kernel = launch.record();
    if (launch.group[0] == 0 && kernel.group[0] == 0) {
        GroupLimits with{
            limits.maxComputeWorkGroupInvocations, {}, {}, limits.maxComputeSharedMemorySize, context.plan.row_groups};
        for (int axis = 0; axis < 3; ++axis) {
            with.max_extent[axis] = limits.maxComputeWorkGroupSize[axis];
            with.max_count[axis] = limits.maxComputeWorkGroupCount[axis];
        }
        choose_group(launch, with, launch.group);
        return PUMICE_OK;
    }
    for (int axis = 0; axis < 3; ++axis) {
        if (launch.group[0] == 0 || kernel.group[0] != 0) launch.group[axis] = kernel.group[axis];
        if (launch.group[axis] > limits.maxComputeWorkGroupSize[axis])
            return fail(PUMICE_ERROR_ARGUMENT,
                        "kernel \"%s\" (%s): its group has extent %lld along axis %d; the limit of %s is %u",
                        launch.kernel_name(), launch.bundle->text(kernel.source), longest(launch.group[axis]), axis, name,
                        limits.maxComputeWorkGroupSize[axis]);
    }
    const int64_t items = launch.group[0] * launch.group[1] * launch.group[2];
    if (items > limits.maxComputeWorkGroupInvocations)
        return fail(PUMICE_ERROR_ARGUMENT, "kernel \"%s\" (%s): its group has %lld work-items; the limit of %s is %u",
                    launch.kernel_name(), launch.bundle->text(kernel.source), longest(items), name,
                    limits.maxComputeWorkGroupInvocations);
    return PUMICE_OK;
}

/// Finds shader and pipeline; `missing` if they have to be made first. The queue's mutex is held.
pumice_status VulkanDevice::choose(const Launch& launch, Shader*& shader, Pipeline*& pipeline, bool& missing) {
    missing = true;
    const VulkanProgram* const program = find_program(*launch.bundle, launch.kernel);
    if (!program) return PUMICE_OK;
    RT_TRY(choose_shader(context, *program, launch, shader));
    pipeline = find_pipeline(*shader, variant_of(context, *shader, launch));
    missing = !pipeline || (shader->locks && !lock_words);
    return PUMICE_OK;
}

/// `building` is held.
pumice_status VulkanDevice::need_program(const Bundle& bundle, uint32_t kernel, VulkanProgram*& program) {
    {
        const Lock lock(queue.mutex);
        program = find_program(bundle, kernel);
    }
    if (program) return PUMICE_OK;
    RT_TRY(make_program(context, bundle, kernel, program));
    const Lock lock(queue.mutex);
    VulkanProgram*& list = programs[(bundle.serial * 31 + kernel) % program_lists];
    program->next = list;
    list = program;
    return PUMICE_OK;
}

/// Makes what a launch needs and does not exist: program, pipeline, locks. Without the queue's mutex.
pumice_status VulkanDevice::build(const Launch& launch) {
    const Lock alone(building);
    VulkanProgram* program = nullptr;
    RT_TRY(need_program(*launch.bundle, launch.kernel, program));
    Shader* shader = nullptr;
    Pipeline variant{};
    bool exists;
    {
        const Lock lock(queue.mutex);
        RT_TRY(choose_shader(context, *program, launch, shader));
        variant = variant_of(context, *shader, launch);
        exists = find_pipeline(*shader, variant);
    }
    if (shader->locks && !lock_words) {
        pumice_memory words = nullptr;
        RT_TRY(allocate(int64_t(BindingRecord::lock_count) * 4, &words));
        const Lock lock(queue.mutex);
        lock_words = static_cast<VulkanMemory*>(words);
    }
    if (exists) return PUMICE_OK;
    RT_TRY(make_pipeline(context, pipelines, *shader, launch, variant));
    log("kernel %s: pipeline of module %u for groups of %lld x %lld x %lld", launch.kernel_name(), shader->number,
        longest(variant.group[0]), longest(variant.group[1]), longest(variant.group[2]));
    Pipeline* const made = make<Pipeline>(hooks, variant);
    if (!made) {
        context.vk.DestroyPipeline(context.device, variant.handle, nullptr);
        return fail(PUMICE_ERROR_MEMORY, "the host has no memory for the pipeline of kernel \"%s\"", launch.kernel_name());
    }
    const Lock lock(queue.mutex);
    made->next = shader->pipelines;
    shader->pipelines = made;
    return PUMICE_OK;
}

pumice_status VulkanDevice::prepare(const Bundle& bundle, const pumice_library& library, uint32_t number) {
    RT_TRY(context.alive());
    const KernelRecord& kernel = bundle.kernels[number];
    {
        const Lock alone(building);
        VulkanProgram* program = nullptr;
        RT_TRY(need_program(bundle, number, program));
    }
    if (kernel.parameters.count > most_arguments) return PUMICE_OK;
    // The pipeline of the most likely launch: arrays at good offsets, a large range, the kernel's groups or the default ones.
    Launch launch;
    Launch::Argument nothing[most_arguments];
    launch.bundle = &bundle;
    launch.library = &library;
    launch.kernel = number;
    launch.rank = kernel.rank > 0 ? int(kernel.rank) : 1;
    for (int axis = 0; axis < 3; ++axis)
        launch.extent[axis] = kernel.range[0] ? kernel.range[axis] : axis < launch.rank ? int64_t(1) << (20 / launch.rank) : 1;
    launch.arguments = nothing;
    launch.argument_count = kernel.parameters.count;
    RT_TRY(set_group(launch));
    return build(launch);
}

// ---- recording ----

pumice_status VulkanDevice::launch(const Launch& given) {
    Launch launch = given;
    RT_TRY(context.alive());
    RT_TRY(set_group(launch));
    for (;;) {
        bool missing = false;
        {
            const Lock lock(queue.mutex);
            Shader* shader = nullptr;
            Pipeline* pipeline = nullptr;
            RT_TRY(queue.make_room());
            RT_TRY(choose(launch, shader, pipeline, missing));
            if (!missing && !shader->reports) {
                RecordedLaunch recorded{launch, *shader, *pipeline};
                return record_launch(recorded);
            }
        }
        if (!missing) return launch_reporting(launch);
        RT_TRY(build(launch));
    }
}

/// The part of a buffer that a binding of the launch gets.
VulkanDevice::BoundRange VulkanDevice::bound_range(const RecordedLaunch& r, const BindingRecord& binding) const {
    const auto whole = [](const VulkanMemory& one) {
        return BoundRange{one.range.block, one.range.offset, one.range.offset + one.bytes};
    };
    switch (binding.argument) {
        case BindingRecord::argument_block:
            return {arguments.block, r.block_offset, r.block_offset + int64_t(r.shader.module->block_bytes)};
        case BindingRecord::locks: return whole(*lock_words);
        case BindingRecord::ring: return whole(*ring_state.memory);
        default: break;
    }
    const Launch::Argument& array = r.launch.arguments[binding.argument];
    if (!array.memory) return whole(*dummy);
    const MemoryRange& range = static_cast<const VulkanMemory*>(array.memory)->range;
    const int64_t begin = range.offset + array.offset, end = begin + array.bytes;
    if (!(r.shader.module->flags & ModuleRecord::shifted)) return {range.block, begin, end};
    const int64_t element_bytes = r.launch.parameter(uint32_t(binding.argument)).element_bytes;
    return {range.block, shifted_begin(begin, end, element_bytes, context.facts.basic.limits), end};
}

/// Lists the accesses: arrays reached by address, and the whole of each binding, as the validation layer counts it. The locks
/// count as read, since launches that share them need no order; argument blocks are written before the batch begins.
uint32_t VulkanDevice::list_accesses(const RecordedLaunch& r) {
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

/// Records some groups of a launch, with the time that they take if `timed`. The mutex is held.
pumice_status VulkanDevice::record_part(RecordedLaunch& r, const GroupRange& part, bool timed) {
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
    const bool times_it = timed && begin_timing(commands, pace);
    dispatch(commands, r, part);
    if (times_it) {
        write_time(commands, 2 * pace.timing + 1);
        pace.is_timed = true, pace.value = r.value, pace.groups = part.groups();
    }
    for (uint32_t i = 0; i < r.launch.argument_count; ++i)
        if (pumice_memory one = r.launch.arguments[i].memory)
            touch(*static_cast<VulkanMemory*>(one), Access(r.launch.parameter(i).access) != Access::in);
    if (r.shader.locks) touch(*lock_words, true);
    if (r.shader.reports) touch(*ring_state.memory, true);
    if (r.shader.module->block_bytes > 0) arguments.until(r.value);
    touch(r.launch.stream);
    return queue.end();
}

/// Writes the fields that do not fit the push constants into mapped staging memory: no copy, and mostly no wait.
pumice_status VulkanDevice::fill_block(RecordedLaunch& r) {
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
pumice_status VulkanDevice::bind_arrays(VkCommandBuffer commands, const RecordedLaunch& r) {
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
uint64_t VulkanDevice::field_value(const RecordedLaunch& r, const FieldRecord& field) const {
    const Launch& launch = r.launch;
    switch (FieldKind(field.kind)) {
        case FieldKind::end: return uint64_t(launch.start[field.axis] + launch.extent[field.axis]);
        case FieldKind::size: return uint64_t(launch.extent[field.axis]);
        case FieldKind::extent: return uint64_t(launch.arguments[field.index].extents[field.axis]);
        case FieldKind::argument: return widened(launch.parameter(field.index).type, launch.arguments[field.index].bits);
        case FieldKind::launch: return r.number;
        case FieldKind::address: {
            const Launch::Argument& array = launch.arguments[field.index];
            const MemoryRange& range = array.memory ? static_cast<const VulkanMemory*>(array.memory)->range : dummy->range;
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
void VulkanDevice::push_fields(VkCommandBuffer commands, const RecordedLaunch& r, const int64_t (&base)[3]) {
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
        memcpy(push.bytes + field.offset, &value, field_bytes(field.type));
    }
    const uint32_t bytes = (module.push_bytes + 3) / 4 * 4;
    if (bound.push_count == bytes && memcmp(bound.push.bytes, push.bytes, bytes) == 0) return;
    memcpy(bound.push.bytes, push.bytes, bytes);
    bound.push_count = bytes;
    context.vk.CmdPushConstants(commands, r.shader.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, push.bytes);
}

/// Records one dispatch, or several if there are more groups along an axis than a dispatch may have.
void VulkanDevice::dispatch(VkCommandBuffer commands, const RecordedLaunch& r, const GroupRange& part) {
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
