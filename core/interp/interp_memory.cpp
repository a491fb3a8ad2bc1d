// Loads, stores and atomics of the reference interpreter, with their checks.
#include <algorithm>
#include <cstring>

#include "core/interp/interp_fault.h"
#include "core/interp/interp_group.h"
#include "core/interp/interp_instructions.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/support/error.h"

namespace pumice::interp {

using namespace ir;

namespace {

/// Calls f with an integer of the type's size, zero-initialised.
template <class F> void with_size(Scalar type, F&& f) {
    switch (size_of(type)) {
        case 1: return f(uint8_t());
        case 2: return f(uint16_t());
        case 4: return f(uint32_t());
        default: return f(uint64_t());
    }
}

template <class T> T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

/// The new value of an element: the op of ops.def with the atomic's name.
uint64_t updated(Atomic what, Scalar type, uint64_t old, uint64_t operand) {
    Op op = Op::add;
    switch (what) {
        case Atomic::add: op = Op::add; break;
        case Atomic::sub: op = Op::sub; break;
        case Atomic::min: op = Op::min; break;
        case Atomic::max: op = Op::max; break;
        case Atomic::and_: op = Op::and_; break;
        case Atomic::or_: op = Op::or_; break;
        case Atomic::xor_: op = Op::xor_; break;
        case Atomic::exchange: return operand;
    }
    const uint64_t operands[2] = {old, operand};
    uint64_t result = 0;
    if (!evaluate_scalar(op, type, operands, result)) library_bug(text("an atomic ", name_of(op), " of ", name_of(type)));
    return result;
}

/// Sets `offsets` of the items from the instruction's indices. An index out of bounds is a fault.
void find_offsets(InterpGroup& group, const Inst& inst, Items items) {
    const View& view = group.views[inst.memory.id];
    const Element& element = group.k[inst.memory].element;
    const auto indices = indices_of(group.k, inst);
    int64_t* const offset = group.offsets;
    bool outside = false;
    for (size_t n = 0; n < indices.size(); ++n) {
        const int64_t extent = indices.size() == 1 ? view.elements : view.extents[n];
        with_scalar(group.k.type_of(indices[n]), [&](auto type) {
            using T = decltype(type);
            if constexpr (is_int(*scalar_of<T>())) {
                const T* index = group.at<T>(indices[n]);
                uint64_t bad = 0;
                if (n == 0)
                    each(items, [=, &bad](int i) {
                        offset[i] = int64_t(index[i]);
                        bad |= uint64_t(offset[i] >= extent) | uint64_t(offset[i] < 0);
                    });
                else
                    each(items, [=, &bad](int i) {
                        const int64_t next = int64_t(index[i]);
                        bad |= uint64_t(next >= extent) | uint64_t(next < 0);
                        offset[i] = offset[i] * extent + next;
                    });
                outside = outside || bad;
            } else
                library_bug("an index that is no integer: " + print(group.k, inst));
        });
        if (outside) fault::out_of_bounds(group, inst, items);
    }
    const int64_t stride = element.size, leaf = element.leaves[inst.leaf].offset, item_bytes = view.item_bytes;
    each(items, [=](int i) { offset[i] = offset[i] * stride + leaf + i * item_bytes; });
}

void check_private(InterpGroup& group, const Inst& inst, Touch how, Items items) {
    const View& view = group.views[inst.memory.id];
    const int shift = view.granule_shift;
    const int64_t granules = size_of(group.k[inst.memory].element.leaves[inst.leaf].type) >> shift;
    for (int n = 0; n < items.count; ++n) {
        uint32_t* const first = view.private_written + (group.offsets[items.list[n]] >> shift);
        for (uint32_t* written = first; written < first + granules; ++written) {
            if (how != Touch::write && *written < group.epochs.group)
                fault::unset(group, inst, items.list[n], group.offsets[items.list[n]]);
            *written = group.epochs.now;
        }
    }
}

/// Checks reads of arrays that were made without contents (Device::empty), and notes writes.
void check_unset(InterpGroup& group, const Inst& inst, Touch how, Items items) {
    bool* const bytes = group.views[inst.memory.id].unset;
    const int size = size_of(group.k[inst.memory].element.leaves[inst.leaf].type);
    for (int n = 0; n < items.count; ++n) {
        bool* const first = bytes + group.offsets[items.list[n]];
        if (how != Touch::write && std::find(first, first + size, true) != first + size)
            fault::unset(group, inst, items.list[n], group.offsets[items.list[n]]);
        if (how != Touch::read) std::fill_n(first, size, false);
    }
}

/// Checks an access for races (Epochs::touch) and for reads of memory that was never written. Items are checked one after
/// another, so each one's store is made here at once: the next item that stores the same value there does not race.
void check(InterpGroup& group, const Inst& inst, uint32_t id, Touch how, Items items) {
    const View& view = group.views[inst.memory.id];
    if (view.private_written) return check_private(group, inst, how, items);
    if (view.unset) check_unset(group, inst, how, items);
    if (!view.cells) return;
    const bool local_memory = group.k[inst.memory].kind == MemoryKind::local;
    Epochs known = group.epochs;
    if (local_memory) known.launch = known.group;  // local memory belongs to one group
    const int shift = view.granule_shift;
    const size_t size = size_t(size_of(group.k[inst.memory].element.leaves[inst.leaf].type));
    const int64_t granules = int64_t(size) >> shift;
    const std::byte* const stored = how == Touch::write ? group.at<std::byte>(group.k.operands(inst).back()) : nullptr;
    for (int n = 0; n < items.count; ++n) {
        const int item = items.list[n];
        std::byte* const bytes = view.data + group.offsets[item];
        const bool unchanged = stored && std::memcmp(bytes, stored + size_t(item) * size, size) == 0;
        Cell* const first = view.cells + (group.offsets[item] >> shift);
        for (Cell* cell = first; cell < first + granules; ++cell) {
            if (local_memory && how != Touch::write && !known.of_this_group(cell->writes[0]))
                fault::unset(group, inst, item, group.offsets[item]);
            const ShadowAccess access{group.epochs.now, uint32_t(item) % max_items, id % max_insts};
            Touch other;
            if (const ShadowAccess* before = known.touch(*cell, how, access, unchanged, other))
                fault::race(group, inst, how, item, group.offsets[item], *before, other);
        }
        // The store happens here, item by item, so that the stores of later items are compared with it.
        if (stored) std::memcpy(bytes, stored + size_t(item) * size, size);
    }
}

void load(InterpGroup& group, const Inst& inst, Items items) {
    const std::byte* data = group.views[inst.memory.id].data;
    const int64_t* offset = group.offsets;
    const Value to = group.k.result(inst);
    if (inst.type == Scalar::boolean) {
        bool* r = group.at<bool>(to);
        return each(items, [=](int i) { r[i] = read<uint8_t>(data + offset[i]) != 0; });
    }
    with_size(inst.type, [&](auto type) {
        using T = decltype(type);
        std::byte* r = group.at<std::byte>(to);
        each(items, [=](int i) { std::memcpy(r + size_t(i) * sizeof(T), data + offset[i], sizeof(T)); });
    });
}

void store(InterpGroup& group, const Inst& inst, Items items) {
    std::byte* data = group.views[inst.memory.id].data;
    const int64_t* offset = group.offsets;
    with_size(inst.type, [&](auto type) {
        using T = decltype(type);
        const std::byte* value = group.at<std::byte>(group.k.operands(inst).back());
        each(items, [=](int i) { std::memcpy(data + offset[i], value + size_t(i) * sizeof(T), sizeof(T)); });
    });
}

/// Executes an atomic item by item, in ascending order: one of the orders that a device may take.
void atomic(InterpGroup& group, const Inst& inst, Items items) {
    std::byte* data = group.views[inst.memory.id].data;
    with_scalar(inst.type, [&](auto type) {
        using T = decltype(type);
        const T* operand = group.at<T>(group.k.operands(inst).back());
        T* r = group.at<T>(group.k.result(inst));
        for (int n = 0; n < items.count; ++n) {
            const int i = items.list[n];
            const T old = read<T>(data + group.offsets[i]);
            const T now = from_bits<T>(updated(Atomic(inst.immediate), inst.type, to_bits(old), to_bits(operand[i])));
            r[i] = old;
            std::memcpy(data + group.offsets[i], &now, sizeof(T));
        }
    });
}

/// Executes a compare-exchange item by item. Values are compared by their bits, as on devices.
void compare_exchange(InterpGroup& group, const Inst& inst, Items items) {
    std::byte* data = group.views[inst.memory.id].data;
    const auto operands = group.k.operands(inst);
    with_size(inst.type, [&](auto type) {
        using T = decltype(type);
        const std::byte* expected = group.at<std::byte>(operands[operands.size() - 2]);
        const std::byte* desired = group.at<std::byte>(operands[operands.size() - 1]);
        std::byte* r = group.at<std::byte>(group.k.result(inst));
        for (int n = 0; n < items.count; ++n) {
            const size_t i = items.list[n];
            const T old = read<T>(data + group.offsets[i]);
            if (old == read<T>(expected + i * sizeof(T)))
                std::memcpy(data + group.offsets[i], desired + i * sizeof(T), sizeof(T));
            std::memcpy(r + i * sizeof(T), &old, sizeof(T));
        }
    });
}

}  // namespace

void access_memory(InterpGroup& group, const Inst& inst, uint32_t id, Items items) {
    find_offsets(group, inst, items);
    check(group, inst, id, touch_of(inst.op), items);
    switch (inst.op) {
        case Op::load: return load(group, inst, items);
        case Op::store: return store(group, inst, items);
        case Op::atomic: return atomic(group, inst, items);
        default: return compare_exchange(group, inst, items);
    }
}

}  // namespace pumice::interp
