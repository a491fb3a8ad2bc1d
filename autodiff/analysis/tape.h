// Values of the primal in the reverse sweep: live, rematerialised or taped. The rules are in tape.cpp.
#pragma once
#include <memory>
#include <optional>

#include "autodiff/analysis/activity.h"
#include "core/analysis/memory_effects.h"
#include "core/analysis/uniformity.h"
#include "core/analysis/uses.h"

namespace pumice::derive {

/// How the reverse sweep gets a value of the primal, at the start of the block that reverses the block of its definition.
enum class ValueSource : uint8_t {
    unneeded,
    live,            ///< a value of the kernel body, or the index of a reversed for
    rematerialised,  ///< rematerialised from its operands; also a load of memory that the kernel does not write
    induction,       ///< an integer that grows by a fixed step: rematerialised from the number of the iteration
    variable,        ///< kept in a variable: defined inside of ifs, outside of loops
    taped,           ///< on a stack that the reverse sweep pops
};

/// An upper bound of the number of pushed elements: a constant, and a part that depends on the launch.
struct TapeBound {
    int64_t number = 0;
    std::function<int64_t(const HostValues&)> more;  ///< to be added to `number`; may be empty
    bool exact = true;                               ///< exactly so many are pushed, whatever the items do
};

/// The values that the reverse sweep of a canonical kernel needs, and how it gets each. The test block and the body of a while
/// count as one block, named by the body.
class TapePlan {
public:
    /// `split`: the reverse sweep is a kernel of its own, which shares nothing but the arguments with the primal.
    TapePlan(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis, bool split);

    bool is_split() const { return split_mode; }
    ValueSource source_of(ir::Value v) const { return sources[v.id]; }
    /// How the sweep gets the trip count of a while.
    ValueSource count_source(ir::InstId loop) const { return count_sources[loop.id]; }
    /// Needed values that are defined in the block, in the order of definition.
    const std::vector<ir::Value>& values_of(ir::BlockId block) const { return by_block[block.id]; }
    /// Whiles in the block whose trip count is needed.
    const std::vector<ir::InstId>& counts_of(ir::BlockId block) const { return counts_by_block[block.id]; }
    /// Stores that fill a tile of local memory in each iteration of a loop, before a barrier, where the tile is only read
    /// between this barrier and another one; and stores, or loops of stores, that fill private memory in each iteration before
    /// it is read. The reverse of the body repeats these first; otherwise every item would tape each element that it reads.
    const std::vector<ir::InstId>& refills(ir::BlockId block) const { return refills_of[block.id]; }
    /// True if the sweep reads private memory as the primal has left it.
    bool rereads(ir::MemoryId m) const { return reread[m.id]; }
    /// The final value of m, where `i` is m = max(m, x) (or min) and a for carries m for nothing else; none for other
    /// instructions. The final value serves as the result in every iteration: at the last x that attained it the two are equal,
    /// and the iterations before that one get no derivative.
    ir::Value final_min_max(const ir::Inst& i) const;
    /// True if the lanes of a subgroup run the reversed loop in step. They leave the loop at different iterations, and
    /// subgroup operations inside it move derivatives.
    bool in_step(ir::InstId loop) const { return in_step_loops[loop.id]; }
    /// True if the value is uniform in the subgroup.
    bool one_for_subgroup(ir::Value v) const { return uniformity->of(v) <= ir::Scope::subgroup; }
    /// Argmax reduction: such an m, where derivatives flow through the loop by m alone. The reverse of the loop is then the
    /// reverse of one iteration, the last whose x attained m. The primal's copy notes its number. None for other loops.
    ir::Value argmax_value(ir::InstId loop) const { return argmax_values[loop.id]; }
    /// True if the sweep compares a rematerialised value with a minimum or maximum that was kept. Both must be rounded
    /// alike, or neither operand equals the result: sums of products must not be contracted to fma in one place and not in the
    /// other.
    bool compares_rematerialised() const;
    /// True if a for may be reversed in any order, such as its own. Its carried values must be sums, whose adjoint is the
    /// same in all iterations, and its reverse must need nothing from the tape.
    bool any_order(ir::InstId loop) const;
    /// The increment of a value of ValueSource::induction.
    ir::Value increment(ir::Value param) const;
    /// The block in which the value counts as defined.
    ir::BlockId home(ir::Value v) const;
    ir::BlockId home(ir::BlockId block) const;

    /// An upper bound of the elements that an item pushes of one type. None where neither constants nor the arguments of a
    /// launch bound it.
    std::optional<TapeBound> bound(Scalar type) const;
    /// The type in which a value is taped.
    static Scalar stored_as(Scalar type) { return type == Scalar::boolean ? Scalar::i32 : type; }
    /// The values of one type that a block pushes, in order; trip counts follow them.
    std::vector<ir::Value> taped(ir::BlockId block, Scalar type) const;
    std::vector<ir::InstId> taped_counts(ir::BlockId block) const;
    /// An upper bound of the trip count of a loop, where constants give one.
    std::optional<int64_t> bound_of_trips(ir::InstId loop) const;

private:
    void demand(ir::InstId i);
    void demand_operation(const ir::Inst& i);
    void demand_access(const ir::Inst& i);
    void demand_subgroup(ir::InstId i);
    void need(ir::Value v);
    void need_count(ir::InstId loop);
    void demand_all();
    ir::Value find_argmax_value(ir::InstId loop) const;
    bool pushes_inside(ir::InstId loop) const;
    bool rematerialises_sum(ir::Value v) const;
    bool adds_to(ir::Value sum, ir::Value v, int& uses) const;
    ValueSource choose(ir::Value v);
    bool reloadable(const ir::Inst& load) const;
    bool refilled(ir::InstId load);
    bool left_as_it_was(ir::InstId load);
    bool refilled_privately(ir::InstId load);
    bool repeats_fill(ir::InstId fill, ir::MemoryId m, std::vector<bool>& indices) const;
    void need_fill(ir::InstId fill);
    std::vector<ir::InstId> stores_to(ir::MemoryId m) const;
    bool in_loop(ir::BlockId block) const { return where.loop_around(block).id != ir::none; }
    ValueSource kept(ir::BlockId block) const;
    std::optional<TapeBound> bound(ir::BlockId block, Scalar type) const;
    std::optional<TapeBound> repeated(ir::InstId loop, TapeBound&& inside) const;

    const ir::Kernel& k;
    const ir::Structure& where;
    const Analysis& analysis;
    const bool split_mode;
    std::vector<ValueSource> sources, count_sources;
    std::vector<std::vector<ir::Value>> by_block;
    std::vector<std::vector<ir::InstId>> counts_by_block;
    std::vector<std::vector<ir::InstId>> refills_of;
    std::vector<bool> reread;  ///< memories
    const ir::MemoryEffects effects;
    std::vector<ir::Value> argmax_values;  ///< of loops
    const ir::Uses use_list;
    std::vector<bool> in_step_loops;
    std::unique_ptr<ir::Uniformity> uniformity;  ///< where there are subgroup operations
};

}  // namespace pumice::derive
