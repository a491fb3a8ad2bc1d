#pragma once
#include <functional>

#include "codegen/glsl/codegen.h"
#include "core/ir/ir.h"

namespace pumice::codegen {

/// Which group instructions of the kernel go by subgroups on devices with these options; the others go by memory. A reduction needs
/// subgroups that do arithmetic on the type, a scan those that follow the linear index, too.
std::function<bool(const ir::Inst&)> goes_by_subgroups(const ir::Kernel& recorded, const Options& options);

/// Puts subgroup operations, one barrier and local memory of one value a subgroup in the place of group instructions. After guard:
/// all items of a group take part.
ir::Kernel group_by_subgroups(const ir::Kernel& kernel, const Options& options);

}  // namespace pumice::codegen
