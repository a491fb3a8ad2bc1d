// Memoisation of launches: a program launches the same kernels on the same arrays again and again, frame by frame or step by
// step.
//
// Key: the range, the group, and every array argument (buffer, offset, bytes, extents). Value: permutation, pipeline, accesses,
// descriptors, push constants. Scalars are no part of the key, since many change with each launch: they are written into the push
// constants each time. A buffer's number, not its address, tells buffers apart: an allocation may get the address of a freed one.
//
//   relax(cells, b, a, d)    computed, and kept
//   relax(cells, a, b, d)    computed, and kept
//   relax(cells, b, a, d)    found: barrier, descriptors, push constants, dispatch
//
// Devices without push descriptors bind a descriptor set that was written for the launch when it was kept (KeptSet). A set is
// written again, for another launch, once neither the queue nor a recording uses it.
//
// Cost: a comparison of some words an array and launch. Limits: 1,024 launches a kernel (recent_table.h); launches of one
// dispatch, whose arguments fit the push constants, without images, locks, reports and indirect ranges (launch_now in
// vulkan_launch.cpp does those).
#include "vulkan/repeated_launch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "vulkan/command_recorder.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {

bool same(const Launch::Array& a, const Launch::Array& b) {
    int64_t other = (a.offset ^ b.offset) | (a.bytes ^ b.bytes);
    for (size_t d = 0; d < a.extents.size(); ++d) other |= a.extents[d] ^ b.extents[d];
    return a.memory == b.memory && other == 0;
}
bool same(const std::array<int64_t, 3>& a, const std::array<int64_t, 3>& b) {
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2])) == 0;
}

/// Writes the scalars into the push constants.
void fill_scalars(const RepeatedLaunch& again, const Launch& launch, std::byte* push) {
    for (const codegen::Field& field : again.scalars) {
        const uint64_t value = again.permutation->scalar(launch, size_t(field.index));
        std::memcpy(push + field.offset, &value, size_t(size_of(field.type)));
    }
}

}  // namespace

bool RepeatedLaunch::is_like(const Launch& launch) const {
    if (!same(launch.extent, extent) || !same(launch.group, group) || !same(launch.start, start)) return false;
    for (const ArrayArgument& argument : arrays) {
        const Launch::Array& array = launch.arguments[argument.index].array;
        if (!same(array, argument.array)) return false;
        if (array.memory && static_cast<const Buffer*>(array.memory)->number != argument.buffer) return false;
    }
    return true;
}

bool RepeatedLaunch::has_same_buffers(const Launch& launch) const {
    for (const ArrayArgument& argument : arrays) {
        const Allocation* const memory = launch.arguments[argument.index].array.memory;
        if (memory && static_cast<const Buffer*>(memory)->number != argument.buffer) return false;
    }
    return true;
}

bool RepeatedLaunch::is_stale(const Launch& launch) const {
    return std::ranges::any_of(arrays, [&](const ArrayArgument& argument) {
        const Allocation* const memory = launch.arguments[argument.index].array.memory;
        return memory && memory == argument.array.memory && static_cast<const Buffer*>(memory)->number != argument.buffer;
    });
}

uint64_t RepeatedLaunches::hash(const Launch& launch) {
    uint64_t all = 0;
    for (const int64_t extent : launch.extent) all = hash_with(all, uint64_t(extent));
    for (const Launch::Argument& a : launch.arguments)
        all = hash_with(all, uint64_t(reinterpret_cast<uintptr_t>(a.array.memory)) + uint64_t(a.array.offset));
    return all;
}

const RepeatedLaunch* RepeatedLaunches::find(const Launch& launch) {
    return launches.find(hash(launch), [&](RepeatedLaunch& one) {
        if (launch.number != 0 && one.number == launch.number) return one.has_same_buffers(launch);
        if (!one.is_like(launch)) return false;
        one.number = launch.number;
        return true;
    });
}

bool RepeatedLaunches::takes_more(const Launch& launch) {
    const uint64_t of = hash(launch);
    while (const auto gone = launches.take(of, [&](const RepeatedLaunch& one) { return one.is_stale(launch); }))
        if (gone->set) gone->set->is_kept = false;
    return launches.takes_more(of);
}

void RepeatedLaunches::add(const Launch& launch, RepeatedLaunch made) {
    const std::optional<RepeatedLaunch> out = launches.add(hash(launch), std::move(made));
    if (out && out->set) out->set->is_kept = false;
}

/// Keeps a launch that was just recorded, if it is one that launch_again() can do. The queue's mutex is held.
void VulkanDevice::keep_launch(const ShaderPermutation::RecordedLaunch& recorded, const Launch& launch) {
    const ShaderPermutation& permutation = recorded.permutation;
    ShaderPermutations& permutations = recorded.permutations;
    const GroupRange groups{{}, groups_of(launch)};
    if (recorded.block || permutation.locks || permutation.shares_bindings || !permutation.images.empty() ||
        permutations.reports || launch.counts.memory || !is_one_dispatch(launch, context.snapshot.limits) ||
        permutations.repeated.find(launch) || !permutations.repeated.takes_more(launch))
        return;
    RepeatedLaunch again;
    again.number = launch.number;
    again.start = launch.start, again.extent = launch.extent, again.group = launch.group;
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
        if (i >= permutation.element_bytes.size() || permutation.element_bytes[i] == 0) continue;
        const Launch::Array& array = launch.arguments[i].array;
        again.arrays.push_back({i, array, array.memory ? static_cast<const Buffer*>(array.memory)->number : 0});
    }
    again.permutation = &recorded.permutation;
    again.pipeline = recorded.pipeline.handle;
    for (size_t axis = 0; axis < 3; ++axis) again.groups[axis] = uint32_t(groups.end[axis]);
    again.all_groups = groups.groups();
    if (context.plan.most_seconds > 0 && again.all_groups >= fewest_timed_groups) again.pace = recorded.pipeline.pace;
    list_accesses(permutation, launch, recorded.buffer_ranges);
    again.accesses = accesses;
    again.buffers = permutation.buffers;
    fill_push_constants(permutation, launch, recorded.buffer_ranges, groups.end, {});
    again.push.assign(push.begin(), push.begin() + permutation.push_bytes());
    for (const codegen::Field& field : permutation.shader.push)
        if (field.kind == codegen::Field::Kind::argument) again.scalars.push_back(field);
    if (!context.plan.push_descriptors && !permutation.buffers.empty()) again.set = take_set(recorded.permutation);
    permutations.repeated.add(launch, std::move(again));
}

/// A set with the permutation's last buffers; null if too many are in use. The queue's mutex is held.
KeptSet* VulkanDevice::take_set(ShaderPermutation& permutation) {
    const auto is_free = [this](const KeptSet& set) {
        return !set.is_kept && set.recordings == 0 && queue.is_past(set.last_use);
    };
    const auto there = std::ranges::find_if(permutation.kept_sets, [&](const auto& set) { return is_free(*set); });
    KeptSet* const set = there == permutation.kept_sets.end() ? permutation.new_set(context) : there->get();
    if (!set) return nullptr;
    set->is_kept = true;
    for (VkWriteDescriptorSet& write : permutation.writes) write.dstSet = set->handle;
    context.vk.UpdateDescriptorSets(context.device, uint32_t(permutation.writes.size()), permutation.writes.data(), 0, nullptr);
    return set;
}

/// Records a launch like an earlier one. Returns false, and does nothing, if none was like it.
bool VulkanDevice::launch_again(const std::shared_ptr<Executable>& executable, const Launch& launch, CommandRecorder* recorder) {
    ShaderPermutations& permutations = *static_cast<VulkanProgram&>(*executable).permutations;
    if (launch.counts.memory || permutations.reports || queue.in_call()) return false;
    const std::lock_guard lock(queue.mutex);
    const RepeatedLaunch* const again = permutations.repeated.find(launch);
    if (!again) return false;
    if (again->pace && !recorder && !again->pace->is_brief(again->all_groups, context.plan.most_seconds)) return false;
    ShaderPermutation& permutation = *again->permutation;
    if (recorder) recorder->keep(executable);
    const VkCommandBuffer commands = recorder ? recorder->begin(again->accesses, {}) : queue.begin(again->accesses);
    const bool traces = !recorder && trace::on();
    if (traces) traced.begin(commands, queue.batch(), queue.recorded());
    {
        const Label label(context.names, commands, permutation.label);
        if (recorder)
            recorder->bind(again->pipeline);
        else
            queue.bind(again->pipeline);
        const bool is_bound = take_binding(permutation, recorder ? recorder->batch : queue.batch());
        bind_buffers(commands, permutation, again->buffers, is_bound, again->set ? again->set->handle : VK_NULL_HANDLE);
        if (!again->push.empty()) {
            std::memcpy(push.data(), again->push.data(), again->push.size());
            fill_scalars(*again, launch, push.data());
            push_constants(commands, permutation);
        }
        context.vk.CmdDispatch(commands, again->groups[0], again->groups[1], again->groups[2]);
    }
    for (const ShaderPermutation::ArrayUse& use : permutation.uses) {
        Allocation* const memory = launch.arguments[size_t(use.argument)].array.memory;
        if (!memory) continue;
        if (recorder)
            recorder->keep(static_cast<Buffer&>(*memory));
        else
            used(static_cast<TimelineUse&>(static_cast<Buffer&>(*memory)), use.write);
    }
    if (recorder) {
        if (again->set) recorder->keep(*again->set);
        recorder->end();
    } else {
        if (again->set) again->set->last_use = queue.value();
        if (traces) traced.end(commands, queue.value());
        touched(launch.stream);
        queue.end();
    }
    return true;
}

}  // namespace pumice::vulkan
