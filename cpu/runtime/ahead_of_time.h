// Native code ahead of time: the variants of a kernel that a runtime without a compiler chooses from (runtime/cpu).
//
//   kernel, machine -> variants: group size x { plain, streaming, peeled, private sums, 64-bit offsets }
//                   -> objects, with hidden symbols
//
// Why: CpuProgram compiles a variant for a launch when it sees the launch; here the launches are unknown. Group sizes are those
// that CpuProgram::arranged chooses for ranges of typical extents. Variants whose LLVM text is equal share one object.
// Calls of SLEEF go through pointers, which the runtime fills where the machine has that library.
// Cost: some 10 to 50 ms a variant. Limits: launch fusion and row ownership need the launch, and are not there. Owned ranges
// need no code of their own: the runtime gives threads the array itself instead of copies.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpu/runtime/cpu_program.h"

namespace pumice::cpu {

/// One function of a shipped kernel.
struct AheadVariant {
    Variant variant;
    int width = 1;
    std::string symbol;
    std::string object;  ///< empty if an earlier variant has the same code: the symbol is then that one's
    int64_t scratch_bytes = 0;
    std::vector<PrivatisedArray> sums;
    float group_ns = 0;
    bool calls_sleef = false;
};

/// The access by which the runtime judges whether rows begin within cache lines (cpu/runtime/launch_alignment.h).
struct RowBegin {
    int argument = 0;
    bool known = false;
    int64_t offset = 0;  ///< elements from the range's first item to the row's first element
};
std::optional<RowBegin> row_begin(const ir::Kernel& kernel);

/// The compiler of one machine for a library of kernels.
class AheadOfTime {
public:
    /// `library`: a C identifier, with which all symbols begin.
    AheadOfTime(const Machine& machine, std::string library);

    /// The kernel's analyses for the machine.
    std::shared_ptr<CpuProgram> program(std::shared_ptr<const ir::Kernel> kernel) const;
    /// All variants of a program; `tag` is unique to kernel and machine. `groups`: the group sizes that the user asks for; empty:
    /// typical ones. `sleef_functions` is extended by the names of called functions; code refers to them by their numbers.
    std::vector<AheadVariant> compile(const CpuProgram& program, const std::string& tag,
                                      const std::vector<std::array<int64_t, 3>>& groups,
                                      std::vector<std::string>& sleef_functions) const;

private:
    AheadVariant emit(const CpuProgram& program, const Variant& variant, bool sleef, std::string& text) const;

    const std::shared_ptr<Compiler> compiler;
    const std::string library;
};

}  // namespace pumice::cpu
