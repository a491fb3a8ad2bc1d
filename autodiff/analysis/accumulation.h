// Accumulation of adjoints into shadows: plain, once a group, or atomic.
#pragma once
#include "autodiff/analysis/activity.h"
#include "autodiff/analysis/item_disjointness.h"

namespace pumice::derive {

/// The cheapest safe way to add the adjoint of an active load to the shadow (see accumulation.cpp). `limits` receives the
/// conditions on the launch under which plain additions are safe. With Analysis::any_range no condition is accepted: plain
/// additions are then safe in every launch.
Accumulation accumulation(const ir::Kernel& k, const ir::Structure& where, const Analysis& analysis, ir::InstId load,
                          std::vector<ItemLimit>* limits = nullptr);

/// True if items use nothing of the launch but their global indices, arguments and extents, and do not cooperate: no local
/// memory, barriers or subgroups, no whole groups. Parts of the range can then run as separate launches.
bool knows_indices_only(const ir::Kernel& k);
/// True for pure instructions that depend on no index, and on no size of the range and its groups.
constexpr bool is_launch_constant(ir::Op op) {
    return ir::is_pure(op) && (!ir::is_given(op) || op == ir::Op::argument || op == ir::Op::extent);
}
/// True if the value is the same for all items of a launch: it is made of constants, arguments and extents.
bool same_for_all(const ir::Kernel& k, ir::Value v);
/// Evaluates such an integer on the host. It may also depend on the global indices of the item.
int64_t number_of(const ir::Kernel& k, ir::Value v, const HostValues& known);
/// The same of a number of any type.
double real_number_of(const ir::Kernel& k, ir::Value v, const HostValues& known);

}  // namespace pumice::derive
