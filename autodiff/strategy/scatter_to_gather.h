// Scatter-to-gather: recognises stencils whose adjoint can be gathered instead of scattered with atomics.
#pragma once
#include <array>
#include <map>

#include "autodiff/analysis/tape.h"

namespace pumice::derive {

/// The memories of a kernel whose shadows are gathered. Such a kernel has no loops; it does not write arrays that it reads; an
/// item writes each scalar of an element at most once. So any item can compute the contribution of any other item.
class Gather {
public:
    using Offset = std::array<int64_t, 3>;        ///< along each axis
    static constexpr int64_t farthest = 1 << 20;  ///< limit of |shift|
    static constexpr int most_wraps = 2;

    /// The index along one dimension: global_index(axis) + shift, clamped between bounds or taken modulo a period, if there are
    /// any. Bounds and period are the same for all items.
    struct Index {
        int axis = -1;
        int64_t shift = 0;
        int wraps = 0;  ///< multiples of the period that are added
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

    /// `split_mode`: the halves run as separate kernels, so the contribution of another item must not depend on loads.
    Gather(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis, bool split_mode);

    /// A condition that does not hold: "the kernel has a loop", at the instruction, or "the kernel reads and writes" a memory.
    struct Refusal {
        const char* condition = nullptr;
        ir::InstId at{};
        ir::MemoryId memory{};
    };
    /// The reason for which the shadow of a memory is not gathered; none if it is, or if each item adds to elements of its own.
    Refusal why_not(ir::MemoryId m) const;
    /// True if the conditions on the whole kernel hold: any item can compute what another one contributes.
    bool straight_line() const { return !of_kernel.condition; }

    bool any() const { return !loads.empty(); }
    bool has(ir::MemoryId m) const { return loads.count(m.id) > 0; }
    /// The active loads of each gathered memory.
    std::map<uint32_t, Loads> loads;
    /// True if an element outside of the range is read by at most one item. Two items that read it by two offsets would lie
    /// on the same side of it along an axis.
    static bool alone_beyond(const Loads& list);
    /// True if every active load is gathered, by plain offsets, and knows_indices_only() holds for the kernel: the adjoint can
    /// then run over a halo-extended range.
    bool can_extend_range() const;
    /// True if all gathered loads stand outside of ifs.
    bool always() const;
    /// True if along each axis the offsets lie on both sides of 0, or include 0.
    static bool around(const Loads& list);
    /// The widths of the halo: elements that items read before and after the range, along each axis.
    std::pair<Offset, Offset> reach() const;
    static std::pair<Offset, Offset> reach(const Loads& list);
    /// The uses of a value through which derivatives flow: the instruction and the position of the operand.
    const std::vector<std::pair<ir::InstId, size_t>>& users(ir::Value v) const { return users_of[v.id]; }

private:
    Refusal why_not_straight_line() const;
    bool exclusive(ir::InstId a, ir::InstId c) const;
    const char* find_index(const ir::Inst& inst, Load& load) const;
    bool needs_loads(ir::Value v) const;
    bool path_needs_loads(ir::BlockId block) const;
    bool stores_need_loads() const;
    bool adjoint_needs_loads(ir::Value v) const;

    const ir::Kernel& k;
    const ir::Structure& where;
    const Analysis& analysis;
    std::vector<std::vector<std::pair<ir::InstId, size_t>>> users_of;
    Refusal of_kernel;  ///< of all memories
    std::map<uint32_t, Refusal> of_memories;
};

}  // namespace pumice::derive
