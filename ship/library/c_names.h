// Names and types of C for the generated headers: legal identifiers made of the names of kernels, programs and parameters.
#pragma once
#include <cstdint>
#include <set>
#include <string>

namespace pumice::ship {

// By the numbers of pumice_type.
const char* c_type(uint32_t type);
const char* cpp_type(uint32_t type);
const char* type_constant(uint32_t type);
/// "saxpy_adjoint" for "saxpy.adjoint": the name of a kernel's function.
std::string function_name(const std::string& kernel);
/// The same for a program, which is a class of C++ with functions of its own.
std::string program_function_name(const std::string& program);

/// Gives the parameters of a generated function names that differ from one another, from all names that its text uses, and from
/// macros of the headers before it.
class ParameterNames {
public:
    /// `library`: the library, whose table the function names.
    explicit ParameterNames(const std::string& library);
    /// The wanted name, with underscores at its end until it is free.
    std::string take(std::string name);

private:
    std::set<std::string> taken;
};

}  // namespace pumice::ship
