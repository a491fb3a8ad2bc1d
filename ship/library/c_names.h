// Names and types of C for the generated headers.
#pragma once
#include <cstdint>
#include <string>

namespace pumice::ship {

/// True for keywords of C and C++.
bool is_keyword(const std::string& name);
// By the numbers of pumice_type.
const char* c_type(uint32_t type);
const char* cpp_type(uint32_t type);
const char* type_constant(uint32_t type);
/// "saxpy_adjoint" for "saxpy.adjoint": the name of a kernel's function.
std::string function_name(const std::string& kernel);

}  // namespace pumice::ship
