// The library of GLSL functions that kernels call.
#pragma once
#include <string>
#include <string_view>

namespace pumice::codegen {

/// The functions of shaders/prelude.glsl whose names occur in `body`, and those that they call, in the file's order: there
/// every function stands after what it calls. A name that the prelude does not have is a library bug.
std::string prelude_for(std::string_view body);

}  // namespace pumice::codegen
