// Makes a failing program smaller.
#pragma once
#include <functional>

#include "tests/fuzz/random_program.h"

namespace fuzz {

/// Drops statements, arms, loops and parts of expressions while `fails` holds; makes at most `attempts` attempts.
Program shrink(Program program, const std::function<bool(const Program&)>& fails, int attempts = 2000);

}  // namespace fuzz
