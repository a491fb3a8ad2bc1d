// What compiled code is made for: the machine, and what of a launch the code depends on.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <tuple>

#include "core/ir/type.h"

namespace pumice::cpu {

/// The vector instructions of a machine, as far as the text depends on them.
enum class Isa { none, sse2, sse4, avx2, avx512, neon };

struct Target {
    int width = 1;  ///< items a packet: 1, 2, 4, 8 or 16. It is also the subgroup's size
    Isa isa = Isa::none;
    bool sleef = false;  ///< SLEEF's vector functions for `isa` can be called
    std::string triple;  ///< of the module; "" leaves it out
};

/// Where the code adds to arrays to which a kernel only adds (cpu/plan/reduction_privatisation.h).
enum class SumsIn : uint8_t {
    array,   ///< in the array, atomically
    copies,  ///< in a copy that is the thread's own
    lanes,   ///< in such a copy, in which elements may have a place for each lane of a packet
};

/// Such an array in compiled code, with the places that an element has side by side in a copy.
struct ArraySum {
    int argument = 0;
    Scalar type = Scalar::f32;
    int lanes = 1;
};

/// A line of memory has no more elements than a packet's vector, or this many.
inline constexpr int most_lead = 16;

/// What else a compiled kernel is made for. A launch with other values needs another variant.
struct Variant {
    std::array<int64_t, 3> group{1, 1, 1};  ///< items of a group along each axis
    bool wide_offsets = false;              ///< an array has 2^31 elements or more
    bool full = false;                      ///< the range is a multiple of the group: no group has items past it
    SumsIn sums = SumsIn::array;
    bool streaming = false;                 ///< the arrays are more than a cache holds: what is only written goes past it
    bool lead = false;                      ///< groups may begin less than most_lead items early along axis 0, for which there may be one more
    bool operator==(const Variant&) const = default;
};

// All fields, for cache keys (core/ir/cache_key.h): a new one does not compile before it stands here, too.
inline auto key_parts(const Target& t) {
    const auto& [width, isa, sleef, triple] = t;
    return std::tie(width, isa, sleef, triple);
}
inline auto key_parts(const Variant& v) {
    const auto& [group, wide_offsets, full, sums, streaming, lead] = v;
    return std::tie(group, wide_offsets, full, sums, streaming, lead);
}

}  // namespace pumice::cpu
