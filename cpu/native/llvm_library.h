// The loaded libLLVM (llvm.cpp looks for it), for the files that use its C API: llvm.cpp (code for this process) and
// foreign_object.cpp (objects for other programs).
#pragma once
#include <string>

struct LLVMOpaqueError;
struct LLVMOpaqueModule;
struct LLVMOpaqueTargetMachine;

namespace pumice::cpu {

/// The address of a function of the loaded library; null if this library lacks it. Throws Error if LLVM is unavailable.
void* llvm_function(const char* name);
/// The version of the loaded library: 19. Throws Error if LLVM is unavailable.
unsigned llvm_major();
/// The optimisations, as text for LLVMRunPasses: a list of function passes.
std::string llvm_function_passes(unsigned major);

/// Takes a string that LLVM allocated.
std::string taken(char* message);
/// Takes an error and returns its message; "" if there is none.
std::string taken(LLVMOpaqueError* error);
/// Gives a module its target. Returns what LLVM's verifier finds wrong with the module, or "".
std::string set_target(LLVMOpaqueModule* module, LLVMOpaqueTargetMachine* machine, const std::string& triple);
/// Runs passes on a module, without LLVM's vectorizers. Returns the message of an error, or "".
std::string optimise(LLVMOpaqueModule* module, LLVMOpaqueTargetMachine* machine, const std::string& passes);
/// The assembly of a module; or its object, after which the module has no further use. Sets `problem` if LLVM makes none.
std::string code_of(LLVMOpaqueModule* module, LLVMOpaqueTargetMachine* machine, bool assembly, std::string& problem);

}  // namespace pumice::cpu
