// The loaded libLLVM, for the files that use its C API: llvm.cpp (code for this process) and foreign_object.cpp (objects for
// other programs).
#pragma once
#include <string>

namespace pumice::cpu {

/// The address of a function of the loaded library; null if this library lacks it. Throws Error if LLVM is unavailable.
void* llvm_function(const char* name);
/// The version of the loaded library: 19. Throws Error if LLVM is unavailable.
unsigned llvm_major();
/// The optimisations, as text for LLVMRunPasses: a list of function passes.
std::string llvm_function_passes(unsigned major);

}  // namespace pumice::cpu
