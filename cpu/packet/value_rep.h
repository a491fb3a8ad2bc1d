// Values, masks and stack slots as LLVM text.
#pragma once
#include <cstdint>
#include <string>

#include "core/ir/ir.h"

namespace pumice::cpu {

/// The representation of a value in a packet.
enum class ValueKind : uint8_t {
    uniform,  ///< one scalar for all lanes
    affine,   ///< lane 0's scalar, and a constant step from lane to lane
    vector,
};

/// A value as LLVM text: in `vector` for a vector, else in `scalar`.
struct ValueRep {
    ValueKind kind = ValueKind::uniform;
    std::string scalar, vector;
    int64_t step = 0;
};

/// The node for `!llvm.loop` that asks for full unrolling.
constexpr const char* unrolled_in_full = "distinct !{$, !{!\"llvm.loop.unroll.full\"}}";

/// The active items of a packet; empty text means all.
struct Mask {
    std::string text;
    int first = 0;                   ///< if not 0: the active items are the packet's first `first` ones
    std::string from = {}, to = {};  ///< if set: i32s, the active lanes are those in [from, to)
    bool all() const { return text.empty(); }
    bool operator==(const Mask&) const = default;
};

/// A stack slot for a value that control flow carries. LLVM's mem2reg turns it into phis.
struct Alloca {
    std::string name;
    ValueKind kind = ValueKind::uniform;
    Scalar type = Scalar::f32;
    int64_t step = 0;
};

}  // namespace pumice::cpu
