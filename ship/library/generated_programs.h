// The functions of programs in the generated headers.
#pragma once
#include <string>

#include "ship/bundle/bundle_writer.h"

namespace pumice::ship {

/// For C: NAME_PROGRAM_create, and a function for each entry.
std::string c_programs(const std::string& library, const BundleWriter& bundle);
/// For C++: a class for each program.
std::string cpp_programs(const std::string& library, const BundleWriter& bundle);

}  // namespace pumice::ship
