// Which values are the same for several work-items, and where the items part ways.
#pragma once
#include <array>
#include <vector>

#include "core/ir/ir.h"
#include "core/ir/structure.h"

namespace pumice::ir {

/// For whom a value is the same, or who goes one way: the items of the whole launch, of a group, of a subgroup, or one item
/// alone. A later one promises less.
enum class Scope : uint8_t { launch, group, subgroup, item };
constexpr Scope wider(Scope a, Scope b) { return a > b ? a : b; }  ///< what both promise

/// Scopes of a kernel's values and of its control flow. A value's scope speaks of the items that compute it together: those of
/// the scope that execute its instruction, in the same iterations of the loops around it. So the index of a loop that
/// items leave at different times is uniform inside, and the loop's results are not. Memory is taken to be free of races: what
/// several items load from one place between two barriers is one value.
class Uniformity {
public:
    /// `local` says what is known of the local indices: a device that runs rows of items knows that axis 1 is the subgroup's.
    explicit Uniformity(const Kernel& kernel, std::array<Scope, 3> local = {Scope::item, Scope::item, Scope::item});

    Scope of(Value v) const { return values[v.id]; }
    /// Who arrives at the instruction together: an item that does not execute it has, in a wider scope, gone elsewhere.
    Scope control(InstId i) const { return controls[i.id]; }
    /// How the items of a construct part ways: by an if's condition; by the times at which they leave a loop.
    Scope parting(InstId construct) const { return partings[construct.id]; }
    /// Who, of the items that began an iteration together, takes a break or continue together.
    Scope jump(InstId i) const { return jumps[i.id]; }
    const Structure& structure() const { return where; }

private:
    /// Who is still together: of all items, and of those that began the innermost loop's iteration together.
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
    std::vector<bool> written;      ///< memories
    bool changed = false;
};

}  // namespace pumice::ir
