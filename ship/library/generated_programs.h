// The functions of programs in the generated headers.
#pragma once
#include <string>

#include "ship/bundle/bundle_writer.h"

namespace pumice::ship {

/// For C: NAME_PROGRAM_create, and a function for each entry; for C++ a class for each program.
std::string program_functions(const std::string& library, const BundleWriter& bundle, bool cpp);

}  // namespace pumice::ship
