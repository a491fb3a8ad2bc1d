// Lexical rules of kernel text, which the printer and the lexer share.
#pragma once
#include <string_view>

#include "core/support/ascii.h"

namespace pumice::ir {

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
