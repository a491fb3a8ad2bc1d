// Object files for other programs and other processors, by any target that the loaded LLVM has.
#pragma once
#include <string>
#include <vector>

#include "cpu/native/llvm.h"

namespace pumice::cpu {

/// An object file, and what its code calls.
struct ForeignObject {
    std::string bytes;
    std::string assembly;                ///< only where it is asked for
    std::vector<std::string> undefined;  ///< functions that the object does not define, sorted: of libm and libgcc
};
/// Optimises LLVM text and makes an object. Functions with `alwaysinline` disappear in their callers. Throws Error, as sentences
/// without a kernel's name, if LLVM has no such target or processor, or if the target cannot do what the text asks for.
/// Thread-safe. While LLVM reads the names of processor and features, which it reports to stderr alone if it does not know them,
/// the process's stderr is redirected. LLVM works in a thread of its own: after a fatal error of LLVM, which becomes an Error,
/// that thread sleeps until the process ends, with all that LLVM had begun.
ForeignObject make_foreign_object(const std::string& text, const Machine& machine, bool assembly);

/// The triple with all its parts: "riscv64-unknown-linux-gnu" for "riscv64-linux-gnu".
std::string normal_triple(const std::string& triple);
/// The names of the targets that the loaded LLVM has, sorted: "aarch64", "bpf", "riscv64", ...
std::vector<std::string> llvm_targets();

}  // namespace pumice::cpu
