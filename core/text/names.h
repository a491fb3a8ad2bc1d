// Words of kernel text, which the printer and the parser share.
#pragma once
#include <iterator>
#include <string_view>

#include "core/ir/ir.h"

namespace pumice::ir {

inline constexpr std::string_view atomic_names[] = {"add", "sub", "min", "max", "and", "or", "xor", "exchange"};
inline constexpr std::string_view subgroup_names[] = {
    "reduce_add",    "reduce_mul",      "reduce_min",    "reduce_max",    "reduce_and",    "reduce_or",    "reduce_xor",
    "inclusive_add", "inclusive_mul",   "inclusive_min", "inclusive_max", "inclusive_and", "inclusive_or", "inclusive_xor",
    "exclusive_add", "exclusive_mul",   "exclusive_min", "exclusive_max", "exclusive_and", "exclusive_or", "exclusive_xor",
    "broadcast",     "broadcast_first", "shuffle",       "shuffle_xor",   "shuffle_up",    "shuffle_down", "any",
    "all",           "ballot",          "elect",
};
inline constexpr std::string_view access_names[] = {"in", "out", "inout"};

inline std::string_view atomic_name(Atomic a) { return int(a) < int(std::size(atomic_names)) ? atomic_names[int(a)] : "?"; }
inline std::string_view subgroup_name(Subgroup s) { return size_t(s) < std::size(subgroup_names) ? subgroup_names[int(s)] : "?"; }
inline std::string_view origin_name(ParameterOrigin g) {
    return g == ParameterOrigin::range_start ? "range_start" : g == ParameterOrigin::range_extent ? "range_extent" : "argument";
}
inline std::string_view access_name(Access a) { return access_names[int(a)]; }

}  // namespace pumice::ir
