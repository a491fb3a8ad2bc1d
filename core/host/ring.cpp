#include "core/host/ring.h"

#include <algorithm>

#include "core/ir/evaluate.h"

namespace pumice::ring {
namespace {

uint32_t add(uint32_t& word, uint32_t by) { return __atomic_fetch_add(&word, by, __ATOMIC_RELAXED); }

}  // namespace

void clear(std::span<uint32_t> ring) {
    std::fill_n(ring.begin(), records, 0u);
    ring[capacity] = uint32_t(ring.size() - records);
}

void write(uint32_t* ring, bool failure, uint32_t launch, uint32_t format, const int32_t (&index)[3],
           std::span<const uint32_t> values) {
    const auto put_at = [&](uint32_t* to) {
        *to++ = launch;
        *to++ = format;
        for (const int32_t along : index) *to++ = uint32_t(along);
        std::ranges::copy(values, to);
    };
    if (failure && add(ring[failed], 1) == 0) put_at(ring + first_failure);
    const uint32_t n = uint32_t(head + values.size());
    if (__atomic_load_n(&ring[used], __ATOMIC_RELAXED) > ring[capacity]) {
        add(ring[lost], 1);
        return;
    }
    const uint32_t at = add(ring[used], n);
    if (at + n <= ring[capacity]) {
        put_at(ring + records + at);
    } else {
        add(ring[lost], 1);
        if (at < ring[capacity]) ring[records + at] = 0;
    }
}

void put(std::vector<uint32_t>& to, Scalar type, uint64_t bits) {
    if (is_narrow_float(type)) bits = cast_bits(type, Scalar::f32, bits);
    if (is_signed_int(type)) bits = cast_bits(type, Scalar::i64, bits);
    to.push_back(uint32_t(bits));
    if (words_of(type) == 2) to.push_back(uint32_t(bits >> 32));
}

uint64_t get(const uint32_t* from, Scalar type) {
    if (words_of(type) == 2) return from[0] | uint64_t(from[1]) << 32;
    if (is_narrow_float(type)) return cast_bits(Scalar::f32, type, from[0]);
    return is_int(type) ? cast_bits(Scalar::u32, type, from[0]) : from[0];
}

}  // namespace pumice::ring
