// What the members of an element are called in GLSL.
#pragma once
#include <string>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// By leaf: its path as one identifier, "position.x" is position_x and "m[0][1]" is m_0_1; with m_ in front where that begins as
/// a word of GLSL or of ours, and a number behind it where it is an earlier leaf's.
std::vector<std::string> member_names(const Element& element);

}  // namespace pumice::codegen
