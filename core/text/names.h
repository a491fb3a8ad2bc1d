// Words and lexical rules that the printer and the parser of kernel text share.
#pragma once
#include <string_view>

#include "core/ir/ir.h"
#include "core/support/ascii.h"

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

/// The bits of a literal; false if it is none of the type, or out of the type's range.
bool constant_bits(Scalar type, std::string_view literal, uint64_t& bits);

inline bool is_letter(char c) { return ascii::is_letter(c) || c == '_'; }
using ascii::is_digit;

/// True for a letter or `_`, followed by letters, digits and `_`: a valid name of a memory.
inline bool is_identifier(std::string_view s) {
    if (s.empty() || !is_letter(s[0])) return false;
    for (const char c : s)
        if (!is_letter(c) && !is_digit(c)) return false;
    return true;
}

inline bool is_path_char(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '[' || c == ']'; }
/// True for a member path that needs no quotes.
inline bool is_plain_path(std::string_view s) {
    for (const char c : s)
        if (!is_path_char(c)) return false;
    return !s.empty();
}

}  // namespace pumice::ir
