// Stencils turned around: where items read x[i + c] for several constants c, the adjoint of x[i] is gathered by item i from what
// the items i - c give to it, instead of being scattered by these with atomics. Indices may be held between bounds (clamp), or taken
// modulo a period: then several items, or one from afar, may meet an element.
#pragma once
#include <array>
#include <map>

#include "autodiff/analysis/tape.h"

namespace pumice::derive {

/// Which memories of a kernel are gathered. Such a kernel has no loops; it reads arrays that it does not write, and an item writes
/// each scalar of an element once at most; so what any item gives can be computed by another.
class Gather {
public:
    using Offset = std::array<int64_t, 3>;  ///< along each axis
    static constexpr int64_t farthest = 1 << 20;  ///< shift
    static constexpr int most_turns = 2;

    /// The index along one dimension: global_index(axis) + shift, then between bounds, or modulo the period, where there are any. These
    /// are the same for all items.
    struct Index {
        int axis = -1;
        int64_t shift = 0;
        int turns = 0;  ///< periods that are added besides
        ir::Value low, high, period;
        bool low_last = false;  ///< with both bounds: max(min(i, high), low)
    };
    struct Load {
        ir::InstId load;
        std::array<Index, 3> index;  ///< by axis
        std::array<int, 3> axes;     ///< by dimension of the memory
        bool simple() const;         ///< neither bounds nor periods
        Offset offset() const;
    };
    using Loads = std::vector<Load>;

    /// `apart`: the kernel's halves run apart, and what items give may take no loads.
    Gather(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis, bool apart);

    bool any() const { return !loads.empty(); }
    bool has(ir::MemoryId m) const { return loads.count(m.id) > 0; }
    /// The active loads of each gathered memory.
    std::map<uint32_t, Loads> loads;
    /// Whether an element outside of the range is read by one item at most: two items that read it by two offsets lie on the same
    /// side of it along an axis.
    static bool alone_beyond(const Loads& list);
    /// Whether all that moves derivatives is gathered, by indices without bounds or periods, in a kernel that asks for no more of
    /// its range than each item's place in it: then it may run over a wider one.
    bool widens() const;
    /// Whether every item does all the gathered loads.
    bool always() const;
    /// Whether along each axis items read at both sides of their own place, or there.
    static bool around(const Loads& list);
    /// How many elements beside the range items read along each axis: in front of it, and behind.
    std::pair<Offset, Offset> reach() const;
    static std::pair<Offset, Offset> reach(const Loads& list);
    /// Where a value is used so that derivatives flow: the instruction and the operand's position.
    const std::vector<std::pair<ir::InstId, size_t>>& users(ir::Value v) const { return users_of[v.id]; }

private:
    bool straight() const;
    bool exclusive(ir::InstId a, ir::InstId c) const;
    bool find_index(const ir::Inst& inst, Load& load) const;
    bool needs_loads(ir::Value v) const;
    bool path_needs_loads(ir::BlockId block) const;
    bool stores_need_loads() const;
    bool adjoint_needs_loads(ir::Value v) const;

    const ir::Kernel& k;
    const ir::Structure& where;
    const Analysis& analysis;
    std::vector<std::vector<std::pair<ir::InstId, size_t>>> users_of;
};

}  // namespace pumice::derive
