// The prelude: the library of GLSL functions that kernels call.
#pragma once
#include <set>
#include <string>
#include <string_view>

#include "core/ir/type.h"

namespace pumice::codegen {

/// The functions of shaders/*.glsl whose names occur in `body`, and those that they call, in the order of the files, in which
/// every function comes after its callees. A name that the prelude does not have is a library bug. Overloads on f32 and on
/// types that devices may lack are taken only if the types are in `types`: others would require the type of the device, or only
/// make the shader longer. `parted_merges`: see Options.
std::string prelude_for(std::string_view body, std::set<Scalar> types, bool parted_merges = false);

/// True if the function has an overload whose first parameter is of this type.
bool prelude_has(std::string_view name, Scalar type);

}  // namespace pumice::codegen
