// Classes of ASCII characters. C's functions (isalnum, toupper) depend on the program's locale: in Turkish, 'i' has no ASCII
// capital.
#pragma once

namespace pumice::ascii {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; }

}  // namespace pumice::ascii
