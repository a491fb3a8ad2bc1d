// Which values of the primal the reverse sweep needs, and how it gets each.
#pragma once
#include <memory>
#include <optional>

#include "autodiff/analysis/activity.h"
#include "core/analysis/uniformity.h"

namespace pumice::derive {

/// How a value of the primal is had in the reverse sweep, at the start of the block that reverses the one it is defined in.
enum class Hold : uint8_t {
    unneeded,
    given,      ///< it is there: a value of the body's own block, or the index of a reversed for
    again,      ///< computed anew from its operands; loads of memory that the kernel does not write, too
    induction,  ///< an integer that grows by the same amount each iteration: computed from the iteration's number
    variable,   ///< kept in a variable: defined outside of loops, inside ifs
    pushed,     ///< on the tape: a stack that the reverse sweep pops
};

/// How many elements are pushed at most: a number, and what depends on a launch.
struct Bound {
    int64_t number = 0;
    std::function<int64_t(const HostValues&)> more;  ///< to be added to it; may be empty
    bool exact = true;                               ///< so many are pushed, whatever the items do
};

/// The demands of the reverse sweep on a canonical kernel, and how they are met. The test block and the body of a while count
/// as one block, named by the body.
class Plan {
public:
    /// `apart`: the reverse sweep is a kernel of its own, to which only the arguments are given again.
    Plan(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis, bool apart);

    bool is_apart() const { return apart; }
    Hold hold(ir::Value v) const { return holds[v.id]; }
    /// Of the number of iterations of a while.
    Hold count_hold(ir::InstId loop) const { return count_holds[loop.id]; }
    /// Needed values that are defined in the block, in the order of definition.
    const std::vector<ir::Value>& values_of(ir::BlockId block) const { return by_block[block.id]; }
    /// Whiles in the block whose number of iterations is needed.
    const std::vector<ir::InstId>& counts_of(ir::BlockId block) const { return counts_by_block[block.id]; }
    /// Stores to local memory that each iteration of a loop fills anew, before a barrier, and only reads between this and another
    /// one: the reverse of its body does them again first, instead of popping what every item has read.
    const std::vector<ir::InstId>& refills(ir::BlockId block) const { return refills_of[block.id]; }
    /// Where `i` is m = max(m, x) (or min) and m is what a loop carries for nothing else, the value that m ends with. It serves
    /// as the result of every iteration: at the last x that attained it the two are equal, and from there backwards nothing
    /// flows any more.
    ir::Value final_extreme(const ir::Inst& i) const;
    /// Whether the lanes of a subgroup, which leave the loop at different times, must walk back through the same iterations
    /// together, because operations among them move derivatives inside.
    bool in_step(ir::InstId loop) const { return in_step_loops[loop.id]; }
    /// Whether all lanes of a subgroup that come to a subgroup operation have the same value there.
    bool one_for_subgroup(ir::Value v) const { return uniformity->of(v) <= ir::Scope::subgroup; }
    /// Such an m, where derivatives flow through the loop by it alone: the loop's reverse is that of one iteration, the last
    /// whose x attained m, which the primal's copy notes. None for other loops.
    ir::Value extreme(ir::InstId loop) const { return extremes[loop.id]; }
    /// Whether the reverse sweep asks if a value that it computes again is a minimum or maximum that was kept. Both must be rounded alike, or
    /// it finds neither operand to be the one: sums of products must not be fused here and not there.
    bool compares_again() const;
    /// Whether a for may be reversed in any order, such as its own: it carries but sums, whose adjoints are the same in all
    /// iterations, and nothing that the reverse needs comes from a stack.
    bool any_order(ir::InstId loop) const;
    /// What a value of Hold::induction grows by.
    ir::Value increment(ir::Value param) const;
    /// The block in which the value counts as defined.
    ir::BlockId home(ir::Value v) const;
    ir::BlockId home(ir::BlockId block) const;

    /// Elements that all pushes of one type take at most; none where neither constants nor what the host knows of a launch bound them.
    std::optional<Bound> bound(Scalar type) const;
    /// The type as which a value lies on the tape.
    static Scalar stored_as(Scalar type) { return type == Scalar::boolean ? Scalar::i32 : type; }
    /// What a block pushes of one type, in order: values, then numbers of iterations.
    std::vector<ir::Value> pushed(ir::BlockId block, Scalar type) const;
    std::vector<ir::InstId> pushed_counts(ir::BlockId block) const;
    /// How often a loop runs at most, where a constant says so.
    std::optional<int64_t> bound_of_trips(ir::InstId loop) const;

private:
    void demand(ir::InstId i);
    void demand_operation(const ir::Inst& i);
    void demand_access(const ir::Inst& i);
    void demand_subgroup(ir::InstId i);
    void need(ir::Value v);
    void need_count(ir::InstId loop);
    void demand_all();
    ir::Value find_extreme(ir::InstId loop) const;
    bool pushes_inside(ir::InstId loop) const;
    bool sums_again(ir::Value v) const;
    bool adds_to(ir::Value sum, ir::Value v, int& uses) const;
    Hold choose(ir::Value v);
    bool reloadable(const ir::Inst& load) const;
    bool refilled(ir::InstId load);
    bool steady(ir::InstId loop, ir::Value v) const;
    bool contains_load_outside(ir::BlockId block, ir::MemoryId m) const;
    bool in_loop(ir::BlockId block) const;
    bool outside(ir::InstId loop, ir::Value v) const;
    Hold kept(ir::BlockId block) const;
    std::optional<Bound> bound(ir::BlockId block, Scalar type) const;
    std::optional<Bound> repeated(ir::InstId loop, Bound&& inside) const;

    const ir::Kernel& k;
    const ir::Structure& where;
    const Analysis& analysis;
    const bool apart;
    std::vector<Hold> holds, count_holds;
    std::vector<std::vector<ir::Value>> by_block;
    std::vector<std::vector<ir::InstId>> counts_by_block;
    std::vector<std::vector<ir::InstId>> refills_of;
    std::vector<bool> written;  ///< memories
    std::vector<ir::Value> extremes;  ///< of loops
    std::vector<int> use_counts;  ///< of values
    std::vector<bool> in_step_loops;
    std::unique_ptr<ir::Uniformity> uniformity;  ///< where there are subgroup operations
};

}  // namespace pumice::derive
