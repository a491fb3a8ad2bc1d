// The pipeline of passes from recorded IR to what the LLVM emitter takes.
#pragma once
#include <string_view>
#include <vector>

#include "core/ir/ir.h"
#include "cpu/plan/variant.h"

namespace pumice::cpu {

/// Recorded IR through the passes that emit_llvm needs. Throws Error as guard does.
ir::Kernel lower(const ir::Kernel& recorded, bool wide_offsets, SumsIn sums = SumsIn::array);
/// Cuts loops that add to places which the group's items share into blocks, which all its packets run one after another: what they
/// add to stays in the cache. Brings barriers into the kernel. For sums in lanes.
ir::Kernel tile_reduction_loops(const ir::Kernel& kernel);
/// Keeps in private memory what one loop computes and a later one would compute again (core/passes/cross_loop_cse.h).
ir::Kernel cross_loop_cse(const ir::Kernel& kernel);
/// The names of lower()'s passes, in their order, for PUMICE_DUMP.
std::vector<std::string_view> pass_names();

}  // namespace pumice::cpu
