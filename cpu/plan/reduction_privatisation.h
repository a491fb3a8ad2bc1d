// Privatisation of reductions: which arrays does a kernel only add to, and does a launch use private copies for them?
// cpu/runtime/sum_copies.h makes the copies and adds them up; cpu/reduction/emit_private_sums.cpp writes the adds.
#pragma once
#include <span>
#include <vector>

#include "core/host/backend.h"
#include "cpu/plan/ownership_partition.h"
#include "cpu/plan/variant.h"

namespace pumice::cpu {

/// Reduction targets: the array parameters on which a kernel only does atomic add and sub, and does not use the old values.
std::vector<ir::MemoryId> only_added_to(const ir::Kernel& kernel);
/// True if an element consists of scalars of one type, side by side; also of one scalar.
bool is_vector(const Element& element);
/// True if the elements of a private copy may have a place for each lane: scalars.
bool takes_lanes(const ir::Memory& array);

/// True if all adds to these arrays in loops are under conditions on data, which few items meet: a place for each lane saves
/// little then, and costs the iterations over blocks of elements (tile_reduction_loops.cpp).
bool adds_on_data(const ir::Kernel& kernel, std::span<const ir::MemoryId> arrays);

/// Chooses how a launch reduces these arrays, and sets `sums` and `atomic_sums` of the variant: in private copies where the
/// copies need little memory and are small compared with the number of items, the smallest arrays first. Arrays that `partition`
/// covers need no copies.
void choose_privatisation(Variant& variant, const ir::Kernel& kernel, std::span<const ir::MemoryId> arrays,
                          const OwnershipPartition& partition, const Launch& launch, int width, int threads);

}  // namespace pumice::cpu
