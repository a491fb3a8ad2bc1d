// Makes a failing program smaller.
#pragma once
#include <functional>

#include "tests/fuzz/random_program.h"

namespace fuzz {

/// Drops statements, arms, loops around statements and parts of expressions as long as `fails` holds; at most `attempts` of them are tried.
Program shrink(Program program, const std::function<bool(const Program&)>& fails, int attempts = 2000);

}  // namespace fuzz
