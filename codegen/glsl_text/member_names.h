// The GLSL names of an element's members.
#pragma once
#include <string>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// Per leaf: its path as one identifier, "position.x" is position_x and "m[0][1]" is m_0_1. A name that is a word of GLSL, or
/// begins like one of GLSL's or the emitter's own names, gets m_ in front; so does an earlier leaf's name, and a number if that
/// is not enough.
std::vector<std::string> member_names(const Element& element);

}  // namespace pumice::codegen
