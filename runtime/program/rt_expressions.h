// Values of a program's expressions: integers of sizes, and scalars in f32 and f64, as core/ir/scalar_math.h of the library
// defines them.
#pragma once
#include "runtime/bundle/program_format.h"

namespace pumice_rt {

/// The result of an expression that has operands; false if an integer overflows. The file is compiled without contraction, so
/// that each operation rounds once.
bool evaluate(const ExpressionRecord& expression, const uint64_t* values, uint64_t& result);

/// Finds the function of a call, in the program or in the C library of the machine: before evaluate(). Returns the name of a
/// function that is missing, else null.
const char* find_function(const ExpressionRecord& expression);

/// The bits of a scalar of this type, in the low bytes.
uint64_t bits_of_type(uint32_t type, uint64_t bits);

}  // namespace pumice_rt
