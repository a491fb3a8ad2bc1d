// Conversion of LLVM text for older versions.
#pragma once
#include <string>

namespace pumice::cpu {

/// Rewrites the module for version `major`. Version 16 introduced `memory(none)` for `readnone`, and the like. Version 19
/// introduced `splat (T c)` for constants, which becomes `<T c, T c, ...>`; the number of lanes is that of the last vector type
/// before it on its line, as all vectors of an instruction in our text have equally many.
std::string text_for_version(const std::string& text, unsigned major);

}  // namespace pumice::cpu
