#include "runtime/cpu/rt_sums.h"

namespace pumice_rt {
namespace {

/// Gap between copies: a load after a store with the same offset in its page would stall.
constexpr size_t apart = 17 * 64;
constexpr int64_t numbers_a_part = 16 << 10;

/// The sum of n numbers, by pairwise halving. Overwrites them.
template <class T> T total(T* numbers, uint32_t n) {
    for (uint32_t half = n / 2; half > 0; half /= 2)
        for (uint32_t l = 0; l < half; ++l) numbers[l] += numbers[l + half];
    return numbers[0];
}

template <class T> void add_to(T* to, T value, bool alone) {
    if (alone) {
        *to += value;
        return;
    }
    if (value == T()) return;
    T before, after;
    __atomic_load(to, &before, __ATOMIC_RELAXED);
    do after = before + value;
    while (!__atomic_compare_exchange(to, &before, &after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

}  // namespace

PrivateSums::PrivateSums(const Launch& of, const NativeRecord& code, const FrameArgument* given, bool exclusive,
                         ScratchBlocks& from)
    : launch(of), native(code), arguments(given), alone(exclusive), blocks(from) {
    uint32_t lanes = 1;
    for (uint32_t s = 0; s < native.sums.count; ++s) {
        const uint32_t p = record(s).parameter;
        elements[s] = launch.arguments[p].count() * int64_t(launch.parameter(p).element_bytes / field_bytes(record(s).type));
        offsets[s] = bytes;
        bytes += (size_t(elements[s]) * record(s).lanes * field_bytes(record(s).type) + 63) / 64 * 64 + apart;
        if (elements[s] > most_elements) most_elements = elements[s];
        if (record(s).lanes > lanes) lanes = record(s).lanes;
    }
    piece = numbers_a_part / lanes;
}

PrivateSums::~PrivateSums() {
    for (const ScratchBlocks::MemoryBlock& copy : copies) blocks.give(copy);
}

bool PrivateSums::arguments_of(int share, FrameArgument* own) {
    memcpy(own, arguments, launch.argument_count * sizeof *own);
    bool any = false;
    for (uint32_t s = 0; s < native.sums.count; ++s) any = any || !in_place(share, s);
    if (!any) return true;
    ScratchBlocks::MemoryBlock& copy = copies[share];
    if (!copy.data) {
        copy = blocks.take(bytes);
        if (!copy.data) return false;
        memset(copy.data, 0, bytes);
    }
    for (uint32_t s = 0; s < native.sums.count; ++s)
        if (!in_place(share, s)) own[record(s).parameter].bits = uint64_t(reinterpret_cast<uintptr_t>(copy.data + offsets[s]));
    return true;
}

void PrivateSums::add_up(ThreadPool& pool, int priority) {
    bool any = false;
    for (const ScratchBlocks::MemoryBlock& copy : copies) any = any || copy.data;
    if (!any || most_elements == 0) return;
    const int64_t parts = (most_elements + piece - 1) / piece;
    pool.run(int(parts), [](void* self, int part) { static_cast<const PrivateSums*>(self)->add_part(part); }, this, priority);
}

/// Adds the elements [part * piece, ...) of every sum.
void PrivateSums::add_part(int part) const {
    for (uint32_t s = 0; s < native.sums.count; ++s) {
        const int64_t first = part * piece, end = first + piece < elements[s] ? first + piece : elements[s];
        if (first >= end) continue;
        switch (record(s).type) {
            case PUMICE_F32: add<float>(s, first, end); break;
            case PUMICE_F64: add<double>(s, first, end); break;
            default: field_bytes(record(s).type) == 4 ? add<uint32_t>(s, first, end) : add<uint64_t>(s, first, end);
        }
    }
}

template <class T> void PrivateSums::add(uint32_t s, int64_t first, int64_t end) const {
    const uint32_t lanes = record(s).lanes;
    T* const to = reinterpret_cast<T*>(uintptr_t(arguments[record(s).parameter].bits));
    for (int64_t n = first; n < end; ++n) {
        T numbers[64] = {};
        for (int share = 0; share < most_shares; ++share) {
            if (!copies[share].data || in_place(share, s)) continue;
            const T* const from = reinterpret_cast<const T*>(copies[share].data + offsets[s]) + n * lanes;
            for (uint32_t l = 0; l < lanes; ++l) numbers[l] += from[l];
        }
        add_to(to + n, total(numbers, lanes), alone);
    }
}

}  // namespace pumice_rt
