// The costs of a kernel, line by line, as text: explain() of docs/tools.md.
//
//   kernel "rows" (rows.cpp:4): an item reads 8 bytes, writes 4 bytes, does 2 operations on floats and 1 on integers; ...
//     line         times  reads  writes  floats  integers
//     rows.cpp:5       1      8       0       0         1
//     rows.cpp:6       1      0       4       2         0
//   rows.cpp:5: the load of arg2 goes by steps of 12 bytes from item to item
//
// The text is made from the kernel as it was recorded, after promotion, simplification and dead-code elimination, which all
// devices share. Counts are those of kernel_counts.h: "0..4" are bounds, "4.." has no upper one.
#pragma once
#include <string>

#include "core/ir/ir.h"

namespace pumice::tools {

/// The kernel that is explained: cleaned as above. `recorded` is without calls.
ir::Kernel explained(const ir::Kernel& recorded);
/// `kernel` is explained().
std::string explain(const ir::Kernel& kernel);
/// An array parameter by its name, "arg2" if it has none.
std::string name_of(const ir::Kernel& kernel, ir::MemoryId memory);

}  // namespace pumice::tools
