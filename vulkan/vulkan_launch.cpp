// Compiling kernels, and recording launches into command buffers. A launch of more work-groups along an axis than the device's
// maxComputeWorkGroupCount becomes several dispatches (`dispatch`).
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "codegen/artifact/source_debug_info.h"
#include "codegen/glsl/codegen.h"
#include "codegen/lowering/loop_limit.h"
#include "core/ir/named.h"
#include "core/passes/inlining.h"
#include "core/source/source_text.h"
#include "core/support/debug.h"
#include "core/support/error.h"
#include "vulkan/command_recorder.h"
#include "vulkan/vulkan_device.h"
#include "vulkan/vulkan_group_size.h"

namespace pumice::vulkan {
namespace {

/// The shader as it is, if the device takes debug information.
codegen::Shader for_debuggers(const Context& context, codegen::Shader shader) {
    if (!context.plan.non_semantic_info) shader.spirv = codegen::without_source_debug_info(shader.spirv);
    return shader;
}

}  // namespace

std::shared_ptr<Executable> VulkanDevice::compile(std::shared_ptr<const ir::Kernel> kernel) {
    if (const int64_t limit = context.plan.most_iterations)
        kernel = std::make_shared<const ir::Kernel>(codegen::require_loops(ir::inlining(*kernel), limit, context.name));
    const ir::Kernel* recorded = kernel.get();
    // The permutations keep the kernel, so the source may refer to it; the device outlives them.
    return compile(std::move(kernel), [this, recorded](const codegen::Options& options) -> codegen::Shader {
        // A dump needs a compilation.
        if (ir::source_debugging()) return for_debuggers(context, codegen::compile(*recorded, options));
        if (!cache.on() || !debug::value("PUMICE_DUMP").empty()) return codegen::compile(*recorded, options);
        const std::string entry = shader_key(cache_key, *recorded, options) + ".shader";
        if (const auto stored = cache.read(entry))
            if (auto shader = unpack(*stored)) {
                if (debug::time()) std::fprintf(stderr, "pumice: %s: from the disk cache\n", recorded->name.c_str());
                return std::move(*shader);
            }
        debug::log_line(text("the shader of kernel ", recorded->name, " is not in the disk cache"));
        codegen::Shader shader = codegen::compile(*recorded, options);
        cache.write(entry, pack(shader));
        return shader;
    });
}

std::shared_ptr<Executable> VulkanDevice::compile(std::shared_ptr<const ir::Kernel> kernel, ShaderPermutations::Source source) {
    context.require_alive();
    auto permutations = std::make_shared<ShaderPermutations>(std::move(kernel), std::move(source));
    permutations->prepare(context);
    {
        const std::lock_guard lock(queue.mutex);
        kernels.push_back(permutations);
    }
    return std::make_shared<VulkanProgram>(std::static_pointer_cast<VulkanDevice>(shared_from_this()), std::move(permutations));
}

std::array<int64_t, 3> VulkanDevice::choose_group(const ir::Kernel& kernel, const Launch& launch) const {
    GroupLimits with;
    with.limits = context.plan.limits;
    for (int axis = 0; axis < 3; ++axis) with.max_count[axis] = context.snapshot.limits.maxComputeWorkGroupCount[axis];
    with.rows = context.plan.row_groups;
    return vulkan::choose_group(kernel, launch.extent, launch.rank, with);
}

void VulkanDevice::launch(const std::shared_ptr<Executable>& executable, const Launch& launch) {
    CommandRecorder* const recorder = queue.recorder();
    if (recorder)
        context.require_alive();  // the batches are the application's
    else
        queue.make_room();
    if (trace::on()) {
        const std::lock_guard lock(queue.mutex);
        if (traced.many()) traced.collect(queue.poll());
    }
    if (launch_again(executable, launch, recorder)) return;
    const VulkanProgram& program = static_cast<const VulkanProgram&>(*executable);
    if (recorder) {
        const std::lock_guard lock(queue.mutex);
        recorder->keep(executable);
    }
    if (program.permutations->reports)
        launch_reporting(program, launch);
    else
        launch_now(program, launch);
}

void VulkanDevice::prepare(const std::shared_ptr<Executable>& executable, const Launch& launch) {
    context.require_alive();
    const VulkanProgram& program = static_cast<const VulkanProgram&>(*executable);
    if (program.permutations->choose(context, pipelines, launch).permutation->locks && !locks.made) make_locks();
}

/// Records a launch. Sets `last`, if given, to the value of its last command before that command is submitted.
void VulkanDevice::launch_now(const VulkanProgram& program, const Launch& launch, std::atomic<uint64_t>* last) {
    const auto [permutation, pipeline] = program.permutations->choose(context, pipelines, launch);
    if (context.wrapped) require_addresses(*program.permutations->kernel, *permutation, launch);
    const BufferRanges buffer_ranges = permutation->buffer_ranges(launch, context.snapshot.limits);
    std::optional<Staging::Piece> block = argument_block(*permutation, launch, buffer_ranges);
    if (permutation->locks && !locks.made) make_locks();
    const ShaderPermutation::RecordedLaunch recorded{*program.permutations, *permutation, pipeline, buffer_ranges,
                                                     block ? &*block : nullptr};
    const GroupRange groups{{}, groups_of(launch)};
    std::optional<std::array<GroupRange, 3>> others;
    std::unique_lock timed(pipeline.pace->mutex, std::defer_lock);
    const bool is_timed = has_pace(launch) && !pipeline.pace->is_brief(groups.groups(), context.plan.most_seconds);
    if (is_timed) {
        timed.lock();
        read_pace(*pipeline.pace);
        // An application's device may depend on work that is not submitted yet.
        const bool waits = !context.wrapped && !queue.held_back();
        if (waits && pipeline.pace->seconds_a_group == 0 && !pipeline.pace->timing.is_on)
            others = take_probe(recorded, launch, *pipeline.pace);
    }
    const std::span<const GroupRange> parts = others ? std::span<const GroupRange>(*others) : std::span(&groups, 1);
    record_slices(recorded, launch, parts, *pipeline.pace, is_timed, last);
}

/// True if the launch is sliced by its pace. The host does not know how many groups of an indirect launch run.
bool VulkanDevice::has_pace(const Launch& launch) const {
    return context.plan.most_seconds > 0 && !launch.counts.memory &&
           GroupRange{{}, groups_of(launch)}.groups() >= fewest_timed_groups && !queue.in_call() && !queue.recorder();
}

/// Records the groups of the parts in as many submissions as needed, and times the first if `timed`: the lock of the pace is held
/// then. Returns the value of the last.
uint64_t VulkanDevice::record_slices(const ShaderPermutation::RecordedLaunch& recorded, const Launch& launch,
                                     std::span<const GroupRange> parts, Pace& pace, bool timed, std::atomic<uint64_t>* last) {
    ShaderPermutation& permutation = recorded.permutation;
    const double most = timed && pace.seconds_a_group > 0 ? context.plan.most_seconds / pace.seconds_a_group : double(1LL << 62);
    if (timed) pace.unmeasured = 0;
    const std::lock_guard lock(queue.mutex);
    list_accesses(permutation, launch, recorded.buffer_ranges);
    const auto also_read = [this](const MemoryBlock& block, int64_t offset, int64_t bytes) {
        accesses.push_back({block.id, offset, offset + bytes, false});
    };
    if (recorded.block) also_read(*recorded.block->block, recorded.block->offset, recorded.block->bytes);
    if (launch.counts.memory) {
        const MemoryRange& range = static_cast<const Buffer*>(launch.counts.memory)->range;
        const int64_t begin = range.offset + launch.counts.offset;
        accesses.push_back({range.block->id, begin, begin + launch.counts.bytes, false, true});
    }
    // Counts as a read: launches that share the locks need no order.
    if (permutation.locks) also_read(*locks.words->range.block, locks.words->range.offset, locks.words->bytes);
    list_images(recorded, launch);
    uint64_t value = 0;
    const auto record = [&](const GroupRange& slice) {
        const bool is_first = value == 0;
        if (!is_first) queue.submit();
        Transitions transitions = transitions_for(permutation, launch);
        const bool ahead = queue.in_call() && may_go_ahead(permutation, launch);
        const VkCommandBuffer commands = queue.begin(accesses, ahead, transitions.barriers());
        transitions.done();
        const bool times = timed && is_first && !pace.timing.is_on;
        value = queue.value();
        const bool traces = !queue.recorder();
        if (traces && is_first) traced.begin(commands, queue.batch(), queue.recorded());
        const Query begin = times ? queries.write(commands) : Query();
        {
            const Label label(context.names, commands, permutation.label);
            queue.bind(recorded.pipeline.handle);
            bind_arrays(commands, permutation, launch, recorded.buffer_ranges, recorded.block);
            dispatch(commands, recorded, launch, slice);
        }
        if (times) pace.timing = {true, begin, queries.write(commands), value, slice.groups()};
        for (const ShaderPermutation::ArrayUse& use : permutation.uses)
            if (Allocation* memory = launch.arguments[size_t(use.argument)].array.memory)
                used(static_cast<Buffer&>(*memory), use.write);
        used_images(permutation, launch, transitions);
        if (recorded.block) recorded.block->until(value);
        if (traces && slice.end == parts.back().end) traced.end(commands, value);
        touched(launch.stream);
        queue.end();
    };
    for (const GroupRange& part : parts) for_each_slice(part, int64_t(std::min(most, double(part.groups()))), record);
    if (last) *last = value;
    keep_launch(recorded, launch);
    return value;
}

/// True if a launch inside a call depends on nothing that the call holds back.
bool VulkanDevice::may_go_ahead(const ShaderPermutation& permutation, const Launch& launch) const {
    uint64_t last = 0;
    for (const ShaderPermutation::ArrayUse& use : permutation.uses)
        if (const Allocation* memory = launch.arguments[size_t(use.argument)].array.memory)
            last = std::max(last, after(static_cast<const Buffer&>(*memory), use.write, launch.stream));
    if (permutation.locks) last = std::max(last, locks.words->last_write);
    last = std::max(last, after_images(permutation, launch));
    return queue.ahead(std::max(last, launch.stream > 0 ? streams.at(size_t(launch.stream)).last : 0));
}

void VulkanDevice::make_locks() {
    const CommandRecorder::Suspended outside;  // zeroed once, before any command buffer executes
    const std::vector<std::byte> zeros(codegen::Binding::lock_count * sizeof(uint32_t));
    // Not an owning reference, which would be a cycle.
    const std::shared_ptr<VulkanDevice> unowned(std::shared_ptr<VulkanDevice>(), this);
    auto words = std::make_unique<Buffer>(unowned, allocate_range(int64_t(zeros.size())), int64_t(zeros.size()));
    write(*words, 0, zeros.data(), int64_t(zeros.size()));
    const std::lock_guard lock(queue.mutex);
    if (!locks.words) locks.words.swap(words);  // another thread may have made them first
    locks.made = true;
    if (outside.suspends()) queue.submit();
}

/// Throws Error if an array's address is needed and missing: an application's buffer may have none.
void VulkanDevice::require_addresses(const ir::Kernel& kernel, const ShaderPermutation& permutation, const Launch& launch) const {
    for (const auto* fields : {&permutation.shader.push, &permutation.shader.block})
        for (const codegen::Field& field : *fields) {
            if (field.kind != codegen::Field::Kind::address) continue;
            const Launch::Array& array = launch.arguments[size_t(field.index)].array;
            if (!array.memory || static_cast<const Buffer*>(array.memory)->range.block->address) continue;
            fail(kernel.label(size_t(field.index)), " of kernel ", permutation.shader.name,
                 " has to be reached by its address, as it is too large for a "
                 "binding, begins at an odd place, or is one of too many, and the application's buffer has none "
                 "(Place::addressable)");
        }
}

/// Writes the arguments that do not fit the push constants into mapped staging memory: no copy, and no wait.
std::optional<Staging::Piece> VulkanDevice::argument_block(const ShaderPermutation& permutation, const Launch& launch,
                                                           const BufferRanges& buffer_ranges) {
    if (permutation.shader.block_bytes == 0) return std::nullopt;
    Staging::Piece piece = take_upload((int64_t(permutation.shader.block_bytes) + 3) / 4 * 4);
    for (const codegen::Field& field : permutation.shader.block) {
        const uint64_t value = field_value(permutation, field, launch, buffer_ranges);
        std::memcpy(piece.data() + field.offset, &value, size_t(size_of(field.type)));
    }
    return piece;
}

/// Lists the accesses: arrays reached by address, and the whole of each binding, as the validation layer counts it.
void VulkanDevice::list_accesses(const ShaderPermutation& permutation, const Launch& launch, const BufferRanges& buffer_ranges) {
    accesses.clear();
    // Shaders may access small elements as whole words.
    const auto add = [this](const MemoryBlock& block, int64_t begin, int64_t end, bool write) {
        accesses.push_back({block.id, begin / 4 * 4, (end + 3) / 4 * 4, write});
    };
    for (const ShaderPermutation::ArrayUse& use : permutation.uses) {
        const Launch::Array& array = launch.arguments[size_t(use.argument)].array;
        if (!array.memory || permutation.binding_of[size_t(use.argument)] >= 0) continue;
        const MemoryRange& range = static_cast<const Buffer*>(array.memory)->range;
        add(*range.block, range.offset + array.offset, range.offset + array.offset + array.bytes, use.write);
    }
    for (size_t i = 0; i < buffer_ranges.size(); ++i)
        if (buffer_ranges[i].block)
            add(*buffer_ranges[i].block, buffer_ranges[i].begin, buffer_ranges[i].end, permutation.bound[i].write);
}

void VulkanDevice::bind_arrays(VkCommandBuffer commands, ShaderPermutation& permutation, const Launch& launch,
                               const BufferRanges& buffer_ranges, const Staging::Piece* block) {
    bool is_bound = take_binding(permutation, queue.batch());
    const auto whole = [](const auto& range, int64_t bytes) {
        return ShaderPermutation::BufferRange{&*range.block, range.offset, range.offset + bytes};
    };
    if (bind_images(permutation, launch)) is_bound = false;
    descriptors.assign(permutation.buffers.size(), {});
    for (size_t i = 0; i < permutation.buffers.size(); ++i) {
        if (permutation.bound[i].arguments.empty()) continue;  // an image
        const int argument = permutation.bound[i].arguments.front();
        const ShaderPermutation::BufferRange range = argument == codegen::Binding::argument_block ? whole(*block, block->bytes)
                                                     : argument == codegen::Binding::locks
                                                         ? whole(locks.words->range, locks.words->bytes)
                                                     : buffer_ranges[i].block ? buffer_ranges[i]
                                                                              : whole(dummy, dummy.bytes);
        // Shaders may access small elements as whole words: the last one is within the range, whose size is rounded up.
        const int64_t bytes = (range.end - range.begin + 3) / 4 * 4;
        descriptors[i] = {range.block->buffer, VkDeviceSize(range.begin), VkDeviceSize(bytes)};
    }
    bind_buffers(commands, permutation, descriptors, is_bound);
}

/// True if the permutation's last descriptors are bound. bind_buffers() follows; until then none are.
bool VulkanDevice::take_binding(const ShaderPermutation& permutation, uint64_t batch) {
    const bool is_bound = bound.batch == batch && bound.permutation == &permutation;
    bound.permutation = nullptr;  // until nothing can fail any more
    if (is_bound) return true;
    bound.batch = batch;
    bound.push.clear();
    return false;
}

/// Binds the permutation's descriptors with these buffers. `is_bound`: those of its images, and its last buffers, are bound
/// already. `written`: a set that has them, if there is one.
void VulkanDevice::bind_buffers(VkCommandBuffer commands, ShaderPermutation& permutation,
                                std::span<const VkDescriptorBufferInfo> buffers, bool is_bound, VkDescriptorSet written) {
    for (size_t i = 0; i < buffers.size(); ++i) {
        const VkDescriptorBufferInfo& info = buffers[i];
        VkDescriptorBufferInfo& last = permutation.buffers[i];
        is_bound = is_bound && info.buffer == last.buffer && info.offset == last.offset && info.range == last.range;
        last = info;
    }
    const uint32_t count = uint32_t(permutation.writes.size());
    if (is_bound || count == 0) {
        bound.permutation = &permutation;
        return;
    }
    if (context.plan.push_descriptors) {
        context.vk.CmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, permutation.layout, 0, count,
                                           permutation.writes.data());
    } else {
        const VkDescriptorSet set = written ? written : queue.descriptor_set(permutation.set_layout, count);
        for (VkWriteDescriptorSet& write : permutation.writes) write.dstSet = set;
        if (!written) context.vk.UpdateDescriptorSets(context.device, count, permutation.writes.data(), 0, nullptr);
        context.vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, permutation.layout, 0, 1, &set, 0, nullptr);
    }
    bound.permutation = &permutation;
}

/// The value of a field that is the same for all dispatches of a launch.
uint64_t VulkanDevice::field_value(const ShaderPermutation& permutation, const codegen::Field& field, const Launch& launch,
                                   const BufferRanges& buffer_ranges) const {
    using Kind = codegen::Field::Kind;
    const size_t axis = size_t(field.axis);
    switch (field.kind) {
        case Kind::end: return uint64_t(launch.start[axis] + launch.extent[axis]);
        case Kind::size: return uint64_t(launch.extent[axis]);
        case Kind::extent: return uint64_t(launch.arguments[size_t(field.index)].array.extents[axis]);
        case Kind::argument: return permutation.scalar(launch, size_t(field.index));
        case Kind::launch: return launch.arguments.back().bits;  // appended by launch_reporting
        case Kind::address: {
            const Launch::Array& array = launch.arguments[size_t(field.index)].array;
            const MemoryRange& range = array.memory ? static_cast<const Buffer*>(array.memory)->range : dummy;
            return range.block->address + uint64_t(range.offset + (array.memory ? array.offset : 0));
        }
        case Kind::first: {
            const Launch::Array& array = launch.arguments[size_t(field.index)].array;
            if (!array.memory) return 0;
            const int64_t begin = static_cast<const Buffer*>(array.memory)->range.offset + array.offset;
            return uint64_t(begin - buffer_ranges[size_t(permutation.binding_of[size_t(field.index)])].begin) /
                   uint64_t(permutation.element_bytes[size_t(field.index)]);
        }
        case Kind::start:
        case Kind::group_base:
        case Kind::group_count: break;
    }
    library_bug("a field that each dispatch has of its own is asked for of a launch");
}

/// Computes the push constants for the dispatch whose first group is `base`, of `groups` in all.
void VulkanDevice::fill_push_constants(const ShaderPermutation& permutation, const Launch& launch,
                                       const BufferRanges& buffer_ranges, const Extents& groups, const Extents& base) {
    using Kind = codegen::Field::Kind;
    for (const codegen::Field& field : permutation.shader.push) {
        const size_t axis = size_t(field.axis);
        uint64_t value = 0;
        switch (field.kind) {
            case Kind::start: value = uint64_t(launch.start[axis] + base[axis] * launch.group[axis]); break;
            case Kind::group_base: value = uint64_t(base[axis]); break;
            case Kind::group_count: value = uint64_t(groups[axis]); break;
            default: value = field_value(permutation, field, launch, buffer_ranges);
        }
        std::memcpy(push.data() + field.offset, &value, size_t(size_of(field.type)));
    }
}

void VulkanDevice::push_constants(VkCommandBuffer commands, const ShaderPermutation& permutation) {
    const uint32_t bytes = permutation.push_bytes();
    if (bytes == 0) return;
    if (std::equal(bound.push.begin(), bound.push.end(), push.begin(), push.begin() + bytes)) return;
    bound.push.assign(push.begin(), push.begin() + bytes);
    context.vk.CmdPushConstants(commands, permutation.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, push.data());
}

void VulkanDevice::push_fields(VkCommandBuffer commands, const ShaderPermutation& permutation, const Launch& launch,
                               const BufferRanges& buffer_ranges, const Extents& groups, const Extents& base) {
    fill_push_constants(permutation, launch, buffer_ranges, groups, base);
    push_constants(commands, permutation);
}

/// Records one dispatch, or several if there are more groups along an axis than a dispatch may have.
void VulkanDevice::dispatch(VkCommandBuffer commands, const ShaderPermutation::RecordedLaunch& recorded, const Launch& launch,
                            const GroupRange& part) {
    const ShaderPermutation& permutation = recorded.permutation;
    const Extents groups = groups_of(launch);
    // An indirect launch of more groups than a dispatch may have runs all groups of the limits: those past the extents do
    // nothing.
    if (launch.counts.memory && is_one_dispatch(launch, context.snapshot.limits)) {
        const MemoryRange& range = static_cast<const Buffer*>(launch.counts.memory)->range;
        push_fields(commands, permutation, launch, recorded.buffer_ranges, groups, {});
        context.vk.CmdDispatchIndirect(commands, range.block->buffer,
                                       VkDeviceSize(range.offset + launch.counts.offset) + sizeof(VkDispatchIndirectCommand));
        return;
    }
    if (recorded.pipeline.at_origin) {
        push_fields(commands, permutation, launch, recorded.buffer_ranges, groups, {});
        std::array<uint32_t, 3> begin, count;
        for (size_t axis = 0; axis < 3; ++axis) {
            begin[axis] = uint32_t(part.begin[axis]);
            count[axis] = uint32_t(part.end[axis] - part.begin[axis]);
        }
        if (begin == std::array<uint32_t, 3>{})
            context.vk.CmdDispatch(commands, count[0], count[1], count[2]);
        else
            context.vk.CmdDispatchBase(commands, begin[0], begin[1], begin[2], count[0], count[1], count[2]);
        return;
    }
    Extents most;
    for (size_t axis = 0; axis < 3; ++axis) most[axis] = context.snapshot.limits.maxComputeWorkGroupCount[axis];
    Extents base;
    for (base[2] = part.begin[2]; base[2] < part.end[2]; base[2] += most[2])
        for (base[1] = part.begin[1]; base[1] < part.end[1]; base[1] += most[1])
            for (base[0] = part.begin[0]; base[0] < part.end[0]; base[0] += most[0]) {
                // A shared binding contains inputs and outputs of the launch, so that the validation layer sees a conflict of its
                // dispatches.
                if (permutation.shares_bindings && base != part.begin) queue.order();
                push_fields(commands, permutation, launch, recorded.buffer_ranges, groups, base);
                uint32_t count[3];
                for (size_t axis = 0; axis < 3; ++axis) count[axis] = uint32_t(std::min(part.end[axis] - base[axis], most[axis]));
                context.vk.CmdDispatch(commands, count[0], count[1], count[2]);
            }
}

}  // namespace pumice::vulkan
