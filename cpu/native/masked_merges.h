// A workaround for a defect of LLVM's code generator on x86-64.
#pragma once

namespace pumice::cpu {

/// Works around llvm-project issue 157929: with AVX-512, LLVM up to version 22 gives a masked vpternlog with a memory operand a
/// wrong truth table, as for `select c, (a & M) | (b & ~M), b`. Turns such selects of integer lanes of 32 or 64 bits, and
/// shuffles of them that only blend, into float selects, which are not merged with the operation. `module`: an LLVMModuleRef. To
/// be run after the optimisations, since instcombine would undo it.
void part_selections_from_logic(void* module);

}  // namespace pumice::cpu
