#pragma once
#include "core/ir/ir.h"

namespace pumice::codegen {

/// A loop in which the items along one axis of the group add to places of local memory that they share (which depend on the loop's index and
/// on the other axes) is turned round: each of these items takes some of the places, goes through the items along the axis, and adds what they
/// give there in one atomic; or keeps that, where the place is the item's own (core/analysis/private_accumulators.h). What an item has at hand and another
/// needs lies in local memory. For loops of constant bounds between two barriers, whose additions cost little to compute again.
ir::Kernel owner_computes_atomics(const ir::Kernel& kernel);

}  // namespace pumice::codegen
