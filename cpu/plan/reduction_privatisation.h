// Arrays that a kernel only adds to, atomically. Threads that add to one element wait for each other, and an atomic add of a float
// is a loop. So each thread adds to a copy of its own, without atomics, and the copies are added to the array when the launch is
// done; one thread may as well add to the array itself. In which order numbers are added to an element is open in either case.
#pragma once
#include <span>
#include <vector>

#include "core/host/backend.h"
#include "cpu/plan/variant.h"
#include "cpu/plan/ownership_partition.h"

namespace pumice::cpu {

/// The array parameters to which a kernel does nothing but add to and subtract from elements, without asking for old values.
std::vector<ir::MemoryId> only_added_to(const ir::Kernel& kernel);

/// Where a launch adds such arrays up: in copies where these take little memory and are small beside the work. Those that `shares` cover
/// need none.
SumsIn where_to_add(const ir::Kernel& kernel, std::span<const ir::MemoryId> arrays, const Shares& shares, const Launch& launch, int width,
                    int threads);

}  // namespace pumice::cpu
