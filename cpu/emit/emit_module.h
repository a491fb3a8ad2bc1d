// From IR to the text of an LLVM module (version 15 and later), vectorised over work-items.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/ir/ir.h"
#include "cpu/plan/variant.h"

namespace pumice::cpu {

struct Emitted {
    std::string text;
    std::string symbol;                  ///< of the Entry (cpu/native/frame.h)
    int64_t scratch_bytes = 0;           ///< of each thread: local memory, and values that items save across barriers
    std::vector<PrivatisedArray> sums;   ///< arrays that get private copies
    std::vector<std::string> functions;  ///< external functions that the text calls: SLEEF's, and those of host_function()
};

/// The module of a lowered kernel.
Emitted emit_llvm(const ir::Kernel& lowered, const Target& target, const Variant& variant);
/// The same with debug metadata, for a kernel of lower_for_debugging().
Emitted emit_llvm_for_debuggers(const ir::Kernel& lowered, const Target& target, const Variant& variant);
/// The plan of a kernel's packets (cpu/packet/packet_plan.h): the kernel as text, with comments.
std::string packet_plan(const ir::Kernel& lowered, const Target& target, const Variant& variant, bool for_debuggers = false);

}  // namespace pumice::cpu
