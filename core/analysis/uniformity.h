// Uniformity (divergence) analysis: which items agree on a value, and which follow the same control flow?
// Why: a value that is uniform in a subgroup is computed once there, a uniform branch needs no mask, and a barrier may stand only
// in control flow that is uniform in the group.
//
//   %0 = group_index 0 : i32              # group
//   %1 = load arg2[%0] : f32              # group; if nothing writes arg2, else group at best in any case
//   %2 = local_index 0 : i32              # item, unless the constructor's argument promises more along this axis
//   %3 = lt %2, %n : bool                 # item
//   if %3 { ... break } else { yield }    # parting: item; the break's jump: item
//
// Method: an optimistic fixpoint over the structured control flow. All scopes start as launch and are raised where an operand, a
// condition or the convergence of the items contradicts that, until nothing changes. So a carried value is uniform if its initial
// value is, and if each next value is under the assumption that the carried value is.
// Cost: each pass is linear in the operands, plus one scan of the contents of each loop. A pass but the last raises some scope,
// and a scope is raised three times at most.
// Limits: loads of private memory count as different in each item, loads of memory that is written as uniform in the group at
// best. `uniform(x)` in a kernel is believed. Memory is assumed free of races.
// Textbook name: divergence analysis (Coutinho, Sampaio, Pereira, Meira, PACT 2011; Karrenberg and Hack, CC 2012).
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "core/analysis/memory_effects.h"
#include "core/ir/ir.h"
#include "core/ir/structure.h"
#include "core/ranges/packet_steps.h"

namespace pumice::ir {

/// The largest set of items over which a value, or a branch, is uniform: the whole launch, a group, a subgroup, or one item
/// alone. A later enumerator promises less.
enum class Scope : uint8_t { launch, group, subgroup, item };
/// The largest scope over which both promises hold: the smaller of two sets.
constexpr Scope common_scope(Scope a, Scope b) { return a > b ? a : b; }

/// True for instructions whose result depends on how the device forms subgroups.
constexpr bool asks_subgroup(Op op) {
    return op == Op::subgroup || op == Op::subgroup_size || op == Op::subgroup_lane || op == Op::subgroup_index ||
           op == Op::subgroup_count;
}

/// Scopes of a kernel's values and of its control flow. A value is uniform over the items of the scope that execute its
/// instruction in the same iterations of the loops around it. So if items leave a loop at different times, its index is uniform
/// inside, but its results are not. Memory is assumed free of races: items that load from one place between two barriers get one
/// value.
class Uniformity {
public:
    /// `local` gives the scopes of the local indices: on a device that runs rows of items, axis 1 is uniform in a subgroup.
    /// `packets`: subgroups are such packets.
    explicit Uniformity(const Kernel& kernel, std::array<Scope, 3> local = {Scope::item, Scope::item, Scope::item},
                        PacketAlignment packets = {});

    Scope of(Value v) const { return values[v.id]; }
    /// The scope in which the items arrive together: of a larger set, some items do not execute the instruction.
    Scope control(InstId i) const { return controls[i.id]; }
    /// The scope in which a construct's control flow is uniform: an if's condition, or the time of leaving a loop.
    Scope parting(InstId construct) const { return partings[construct.id]; }
    /// The scope in which items that began an iteration together take a break or continue together.
    Scope jump(InstId i) const { return jumps[i.id]; }
    const Structure& structure() const { return where; }
    /// True if the items of a packet get what they have as operand 0, plus a value that they share.
    bool keeps_step(const Inst& i) const { return steps.effect_of(i) == PacketSteps::Effect::keeps_step; }
    /// True if a return stands inside a construct: some items may miss what follows.
    bool returns_early() const;
    /// True if the items of a packet get the same value from different ones.
    bool shares_quotient(const Inst& i) const { return steps.effect_of(i) == PacketSteps::Effect::uniform; }
    /// The constants by which the items of a packet exceed the first one, if they are known.
    std::optional<std::vector<int64_t>> lanes_of(Value v) const {
        return steps.lanes_of(v, [&](Value o) { return values[o.id] != Scope::item; });
    }
    int64_t aligned_items() const { return steps.items(); }

private:
    /// The scope in which items are converged: among all items, and among those that began the innermost loop's iteration
    /// together.
    struct Flow {
        Scope all = Scope::launch, iteration = Scope::launch;
    };
    Flow walk(BlockId block, Flow flow);
    Flow visit(InstId i, Flow flow);
    Flow if_(InstId i, Flow flow);
    Flow loop(InstId i, Flow flow);
    void raise(Scope& s, Scope least);
    void results(InstId construct);
    Scope pure(const Inst& i) const;
    static Scope subgroup(Subgroup what);

    const Kernel& k;
    const Structure where;
    const std::array<Scope, 3> local;
    std::vector<Scope> values, controls, partings;
    std::vector<Scope> jumps;
    const MemoryEffects effects;
    const PacketSteps steps;
    bool changed = false;
};

}  // namespace pumice::ir
