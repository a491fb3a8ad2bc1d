// Text of the values that kernels print: the formats of docs/language.md, for values in a ring.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace pumice_rt {

/// Writes a line into `to`, of which at most `room` - 1 bytes are used. `text` has a place `{}` or `{:spec}` for each value;
/// `types` has pumice_type numbers; `words` are the values as a ring has them. The result does not depend on the locale.
void print_text(char* to, size_t room, const char* text, const uint32_t* types, size_t count, const uint32_t* words);

}  // namespace pumice_rt
