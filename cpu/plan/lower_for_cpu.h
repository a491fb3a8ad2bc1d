// The pipeline of passes from recorded IR to what the LLVM emitter takes.
#pragma once
#include <string_view>
#include <vector>

#include "core/ir/ir.h"
#include "cpu/plan/variant.h"

namespace pumice::cpu {

/// Runs the passes that emit_llvm needs on recorded IR. Throws Error where predicate_range_tail does.
ir::Kernel lower(const ir::Kernel& recorded, bool wide_offsets, Privatisation sums = Privatisation::none,
                 const Rules& rules = {});
/// Runs the passes without which no code can be made, after `keep_variables`: for debuggers.
ir::Kernel lower_for_debugging(const ir::Kernel& recorded, bool wide_offsets);
/// Strip-mines loops that add to elements which the items of a group share: all packets of the group run one block of iterations
/// before the next, so that the elements stay in the cache. Inserts barriers. Runs only with Privatisation::lanes.
ir::Kernel tile_reduction_loops(const ir::Kernel& kernel);
/// Common subexpressions across loops: keeps the results of one loop in private memory for a later one
/// (core/passes/cross_loop_cse.h).
ir::Kernel cross_loop_cse(const ir::Kernel& kernel);
/// The names of the passes of lower(), in order, for PUMICE_DUMP.
std::vector<std::string_view> pass_names();

}  // namespace pumice::cpu
