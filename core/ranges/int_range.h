// Ranges of integers: which numbers can a value be?
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>

#include "core/ir/ir.h"

namespace pumice::ir {

/// The interval [low, high] contains every number that the value can have: an integer of at most 32 bits, or a bool.
struct IntRange {
    int64_t low, high;
};

/// The numbers that the type has.
IntRange range_of(Scalar type);

/// The ranges of the integers of a kernel, each computed once. `most_extents`: the largest extent of each memory along a
/// dimension; without it, extents are any i32.
class IntRanges {
public:
    explicit IntRanges(const Kernel& kernel, std::span<const int64_t> most_extents = {})
        : k(kernel), most_extents(most_extents) {}
    IntRange operator()(Value v) { return range(v, most_depth); }

private:
    static constexpr int most_depth = 200;  // of operands of operands
    IntRange range(Value v, int depth);
    IntRange computed(Value v, int depth);

    const Kernel& k;
    const std::span<const int64_t> most_extents;
    std::unordered_map<uint32_t, IntRange> known;
};

}  // namespace pumice::ir
