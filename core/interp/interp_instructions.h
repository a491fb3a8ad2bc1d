// Instructions of the reference interpreter that do more than compute values from values.
#pragma once
#include <cstdint>

#include "core/interp/interp_items.h"
#include "core/ir/ir.h"

namespace pumice::interp {

struct InterpGroup;

/// A load, store, atomic or compare-exchange, with its checks.
void access_memory(InterpGroup& group, const ir::Inst& inst, uint32_t id, Items items);
/// A subgroup operation, for the active items of each subgroup.
void subgroup(InterpGroup& group, const ir::Inst& inst, Items items);

}  // namespace pumice::interp
