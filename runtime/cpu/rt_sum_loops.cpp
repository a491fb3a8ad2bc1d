// The loops of PrivateSums over elements: code for speed, where the rest of the runtime is compiled for size.
#include "runtime/cpu/rt_sums.h"

namespace pumice_rt {
namespace {

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

bool PrivateSums::never_decrease(const ParameterRecord& of) const {
    const uint32_t p = of.bounds - 1;
    const int64_t first = launch.start[0] + of.bounds_offset, count = launch.extent[0] + 1;
    if (first < 0 || first + count > launch.arguments[p].extents[0]) return false;  // the kernel reads beyond the array
    const int32_t* const bounds = reinterpret_cast<const int32_t*>(uintptr_t(arguments[p].bits)) + first;
    for (int64_t n = 1; n < count; ++n)
        if (bounds[n] < bounds[n - 1]) return false;
    return true;
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
    const T* from[most_shares];
    int count = 0;
    for (int share = 0; share < most_shares; ++share)
        if (copies[share].data && !in_place(share, s))
            from[count++] = reinterpret_cast<const T*>(copies[share].data + offsets[s]);
    if (count == 0) return;
    T* const to = reinterpret_cast<T*>(uintptr_t(arguments[record(s).parameter].bits));
    T numbers[64];
    const int64_t together = 64 / lanes;  // elements at once
    for (int64_t n = first; n < end; n += together) {
        const int64_t elements = end - n < together ? end - n : together, all = elements * lanes;
        memset(numbers, 0, sizeof numbers);
        for (int copy = 0; copy < count; ++copy)
            for (int64_t l = 0; l < all; ++l) numbers[l] += from[copy][n * lanes + l];
        for (int64_t e = 0; e < elements; ++e) add_to(to + n + e, total(numbers + e * lanes, lanes), alone);
    }
}

}  // namespace pumice_rt
