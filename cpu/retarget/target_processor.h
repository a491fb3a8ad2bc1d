// The processor that an object is made for: from a triple, a name and features to what the emitter and the C function need to
// know.
//
// Why: the emitter asks for a vector width and an instruction set, and LLVM's C API has no question for either.
//
//     "riscv64-linux-gnu", "", "+v"   ->  features +m,+a,+f,+d,+c,+v   width 4   ABI lp64d
//     "aarch64-linux-gnu", "", ""     ->  features +neon               width 4
//     "bpf", "", ""                   ->  one work-item, no division of signed integers below version 4
//
// A generic RISC-V processor gets the features of RV64GC (or RV32GC), which Linux distributions have, unless options take them
// away. The ABI of RISC-V follows the floating-point features and becomes a module flag. A processor with a name brings features
// that only LLVM knows: the width is then that of the baseline, unless the options say otherwise.
// Cost: none. Limits: vectors of an architecture that is not listed in target_processor.cpp are not used.
#pragma once
#include <string>

#include "core/host/object_code.h"
#include "cpu/native/llvm.h"
#include "cpu/plan/variant.h"

namespace pumice::cpu {

struct TargetProcessor {
    Machine machine;
    Target target;
    std::string abi;                ///< module flag "target-abi"; "": LLVM's own choice
    bool is_bpf = false;            ///< one work-item a call, registers of 64 bits as parameters, no calls
    bool sign_extends_i32 = false;  ///< results of 32 bits are sign-extended to a register, unsigned ones too
    bool extends_i32 = false;       ///< results of 32 bits are extended by their type
};
/// Throws Error if LLVM has no target for the triple, or for an option that is wrong.
TargetProcessor target_processor(const std::string& triple, const std::string& cpu, const ObjectOptions& options);

}  // namespace pumice::cpu
