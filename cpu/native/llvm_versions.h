// LLVM's text in the spelling of an older version.
#pragma once
#include <string>

namespace pumice::cpu {

/// The module as LLVM of version `major` reads it. Version 16 brought `memory(none)`, which was `readnone`; version 19 brought
/// `splat (T c)` for constants, which is written out as `<T c, T c, ...>`. Its number of lanes is that of the last vector type before it
/// on its line: in the text that we make, all vectors of an instruction have equally many.
std::string text_for_version(const std::string& text, unsigned major);

}  // namespace pumice::cpu
