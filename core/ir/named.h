// The name of a kernel in messages.
#pragma once
#include <string>

#include "core/ir/ir.h"

namespace pumice::ir {

/// kernel "saxpy" (saxpy.cpp:10)
std::string named(const Kernel& kernel);

}  // namespace pumice::ir
