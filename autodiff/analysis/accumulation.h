// How adjoints are added to shadows: plainly, by the group, or atomically.
#pragma once
#include "autodiff/analysis/activity.h"
#include "autodiff/analysis/item_disjointness.h"

namespace pumice::derive {

/// The cheapest safe way to add what the adjoint of an active load gives. A load of the primal, and what else it does to the
/// memory, decide: no two items may touch one element in the same phase unless both add atomically. `limits` gets the launches for which
/// that is so; with Analysis::any_range it is for all.
Accumulation accumulation(const ir::Kernel& k, const ir::Structure& where, const Analysis& analysis, ir::InstId load,
                          std::vector<ItemLimit>* limits = nullptr);

/// Whether the kernel asks of its range, and of groups, no more than each item's index: then parts of the range may run apart.
bool knows_indices_only(const ir::Kernel& k);
/// Whether the value is the same for all items of every launch: made of constants, arguments and extents.
bool same_for_all(const ir::Kernel& k, ir::Value v);
/// Such an integer, on the host.
int64_t number_of(const ir::Kernel& k, ir::Value v, const HostValues& known);

}  // namespace pumice::derive
