// Unroll-and-jam: one item does the work of several rows of the range.
#pragma once
#include "core/ir/ir.h"

namespace pumice::cpu {

/// The number of rows, items along axis 1, that are worth running together: 1 or `most_jammed_rows`. Takes a lowered kernel.
int64_t rows_worth_jamming(const ir::Kernel& lowered);
inline constexpr int64_t most_jammed_rows = 4;

/// The kernel whose items do the work of the items at `rows` successive indices along axis 1, from their own on. All of these
/// must be in the range. Takes a lowered kernel for which rows_worth_jamming() is above 1.
ir::Kernel unroll_and_jam(const ir::Kernel& lowered, int64_t rows);

/// The same, followed by the passes that share what the rows have in common.
ir::Kernel jammed(const ir::Kernel& lowered, int64_t rows);

}  // namespace pumice::cpu
