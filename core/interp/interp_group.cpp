// The state of the running group: its preparation for a launch, and its indices.
#include "core/interp/interp_group.h"

#include <algorithm>
#include <cstring>

#include "core/ir/evaluate.h"
#include "core/support/error.h"

namespace pumice::interp {

using namespace ir;

InterpGroup::InterpGroup(const InterpProgram& ready, const Launch& what, std::vector<View> memories, Scratch& buffers)
    : program(ready), k(ready.kernel), launch(what), scratch(buffers), views(std::move(memories)) {
    group_items = int(launch.group[0] * launch.group[1] * launch.group[2]);
    for (size_t axis = 0; axis < 3; ++axis)
        group_count[axis] = (launch.extent[axis] + launch.group[axis] - 1) / launch.group[axis];
    epochs.launch = scratch.epoch + 1;
    scratch.group_starts.clear();
    prepare_items();
    prepare_memory();
    prepare_constants();
}

void InterpGroup::prepare_items() {
    const size_t n = size_t(group_items);
    const auto grow = [](auto& buffer, size_t size) { buffer.resize(std::max(buffer.size(), size)); };
    grow(scratch.values, program.value_bytes * n);
    grow(scratch.lists, n * size_t(3 * program.depth + 2));  // a construct takes three lists at most
    grow(scratch.fates, n);
    grow(scratch.offsets, n);
    values = scratch.values.data();
    fates = scratch.fates.data();
    offsets = scratch.offsets.data();
    for (auto& index : local) index.resize(n);
    const int width = int(launch.group[0]), height = int(launch.group[1]);
    for (int item = 0; item < group_items; ++item) {
        local[0][size_t(item)] = item % width;
        local[1][size_t(item)] = item / width % height;
        local[2][size_t(item)] = item / (width * height);
    }
}

/// Lays out the local and private arrays. Contents left by earlier groups are never visible: reading them is a fault.
void InterpGroup::prepare_memory() {
    int64_t bytes = 0, granules = 0, private_bytes = 0;
    for (int pass = 0; pass < 2; ++pass) {  // the first measures, the second places
        if (pass == 1) {
            scratch.local.resize(std::max(scratch.local.size(), size_t(bytes)));
            scratch.local_cells.resize(std::max(scratch.local_cells.size(), size_t(granules)));
            scratch.private_.resize(std::max(scratch.private_.size(), size_t(private_bytes)));
            scratch.private_written.resize(scratch.private_.size());
        }
        bytes = granules = private_bytes = 0;
        for (size_t m = 0; m < k.memories.size(); ++m) {
            const Memory& memory = k.memories[m];
            View& view = views[m];
            if (memory.kind == MemoryKind::array) continue;
            view.granule_shift = granule_shift(memory.element);
            view.elements = local_elements(k, memory, launch.group);
            view.extents = memory.extents.empty() ? std::vector<int64_t>{view.elements} : memory.extents;
            const int64_t size = view.elements * memory.element.size;
            if (memory.kind == MemoryKind::local) {
                if (pass == 1) view.data = scratch.local.data() + bytes, view.cells = scratch.local_cells.data() + granules;
                bytes += size;
                granules += size >> view.granule_shift;
            } else {
                if (pass == 1) {
                    view.data = scratch.private_.data() + private_bytes;
                    view.private_written = scratch.private_written.data() + private_bytes;
                }
                view.item_bytes = size;
                private_bytes += size * group_items;
            }
        }
    }
}

/// Computes the instructions whose results are the same for all groups, for all items of a group, wherever they stand in the
/// kernel.
void InterpGroup::prepare_constants() {
    uint16_t* const list = scratch.lists.data();
    for (int item = 0; item < group_items; ++item) list[item] = uint16_t(item);
    const Items all{list, group_items};
    for (const InstId id : program.constants) {
        const Inst& inst = k[id];
        const Value to = k.result(inst);
        const size_t axis = size_t(inst.immediate);
        if (inst.op == Op::constant)
            broadcast(to, inst.immediate, all);
        else if (inst.op == Op::argument)
            broadcast(to, launch.arguments[axis].bits, all);
        else if (inst.op == Op::global_size)
            broadcast(to, to_bits(int32_t(launch.extent[axis])), all);
        else if (inst.op == Op::group_size)
            broadcast(to, to_bits(int32_t(launch.group[axis])), all);
        else if (inst.op == Op::group_count)
            broadcast(to, to_bits(int32_t(group_count[axis])), all);
        else if (inst.op == Op::local_index)
            std::copy_n(local[axis].data(), group_items, at<int32_t>(to));
        else if (inst.op == Op::subgroup_size)
            broadcast(to, to_bits(int32_t(program.subgroup_size)), all);
        else if (inst.op == Op::subgroup_count)
            broadcast(to, to_bits(int32_t((group_items + program.subgroup_size - 1) / program.subgroup_size)), all);
        else if (inst.op == Op::subgroup_lane)
            each(all, [r = at<int32_t>(to), size = program.subgroup_size](int i) { r[i] = i % size; });
        else if (inst.op == Op::subgroup_index)
            each(all, [r = at<int32_t>(to), size = program.subgroup_size](int i) { r[i] = i / size; });
        else if (inst.op == Op::extent) {
            const auto& extents = views[inst.memory.id].extents;
            broadcast(to, to_bits(int32_t(extents[extents.size() - 1 - axis])), all);
        } else
            library_bug("an instruction that is not constant: " + print(k, inst));
    }
}

void InterpGroup::broadcast(Value to, uint64_t bits, Items items) {
    with_scalar(k.type_of(to), [&](auto type) {
        using T = decltype(type);
        T* r = at<T>(to);
        const T value = from_bits<T>(bits);
        each(items, [=](int i) { r[i] = value; });
    });
}

void InterpGroup::indices(const Inst& inst, Items items) {
    const size_t axis = size_t(inst.immediate);
    if (inst.op == Op::group_index) return broadcast(k.result(inst), to_bits(int32_t(group_index[axis])), items);
    if (inst.op == Op::global_index) {
        int32_t* r = at<int32_t>(k.result(inst));
        const int32_t* index = local[axis].data();
        const int32_t first = int32_t(launch.start[axis] + group_index[axis] * launch.group[axis]);
        return each(items, [=](int i) { r[i] = int32_t(uint32_t(first) + uint32_t(index[i])); });
    }
    bool* r = at<bool>(k.result(inst));
    each(items, [&](int i) { r[i] = in_range(i); });
}

bool InterpGroup::in_range(int item) const {
    for (size_t axis = 0; axis < 3; ++axis)
        if (group_index[axis] * launch.group[axis] + local[axis][size_t(item)] >= launch.extent[axis]) return false;
    return true;
}

void InterpGroup::next_epoch() {
    if (scratch.epoch == UINT32_MAX)
        fail("Kernel \"", k.name, "\" passes ", UINT32_MAX - epochs.launch + 1,
             " groups and barriers in one launch, which is the limit of interp.");
    epochs.now = ++scratch.epoch;
}

void InterpGroup::begin() {
    next_epoch();
    epochs.group = epochs.now;
    scratch.group_starts.push_back(scratch.epoch);
    present = {scratch.lists.data(), 0};
    for (int item = 0; item < group_items; ++item)
        if (k.whole_groups || in_range(item)) present.list[present.count++] = uint16_t(item);
    std::memset(fates, runs, size_t(group_items));
}

uint64_t InterpGroup::bits_of(Value v, int item) const {
    return with_scalar(k.type_of(v), [&](auto zero) { return to_bits(at<decltype(zero)>(v)[item]); });
}

void InterpGroup::set_bits(Value v, int item, uint64_t bits) {
    with_scalar(k.type_of(v), [&](auto zero) { at<decltype(zero)>(v)[item] = from_bits<decltype(zero)>(bits); });
}

}  // namespace pumice::interp
