// Subgroup-aggregated atomics ("warp-aggregated atomics" in CUDA): the items of a subgroup that add to one address reduce their
// operands first, and one elected item adds the sum.
//
// Why: contended atomics are serialised; this makes one atomic a subgroup instead of one an item.
//
//   %a = atomic add arg1[%k], %x        %s = subgroup reduce_add %x
//   %b = atomic sub local1[%k], %y      %e = subgroup elect
//                                       %t = subgroup reduce_add %y
//                                       if %e { atomic add arg1[%k], %s; atomic sub local1[%k], %t }
//
// Legality: add or sub of 32-bit numbers or f64; the old value is unused; index and control flow are uniform in the subgroup. The
// election comes right after the reduction. Code with jumps, such as many functions of shaders/ have, may leave a subgroup in
// several parts, each of which would elect an item of its own; so a reduction whose operand's text has such a call ends the open
// batch. Consecutive atomics share one election and one `if`. Loads from other memories may come between them. Cost: one
// reduction an atomic. Limits: the device's subgroups do arithmetic (Options::subgroup_sums); float sums change their order.
#include "codegen/lowering/subgroup_aggregated_atomics.h"

#include <algorithm>
#include <map>
#include <string>

#include "codegen/glsl_text/scalar_text.h"
#include "core/analysis/uniformity.h"
#include "core/analysis/uses.h"
#include "core/ir/rewriter.h"

namespace pumice::codegen {

using namespace ir;

namespace {

class SubgroupAggregatedAtomics : public Rewriter {
public:
    explicit SubgroupAggregatedAtomics(const Kernel& k) : Rewriter(k), uniformity(k), uses(k) {}

private:
    /// True for an addition whose old value is unused, and whose indices and control flow are uniform in a subgroup. Under a
    /// divergent condition the atomic may be one item's alone, such as the one that adds the sum of a whole group: nothing to
    /// reduce.
    bool combines(InstId id) const {
        const Inst& i = from[id];
        if (!is_atomic_sum(i) || uses.any(from.result(i)) || uniformity.control(id) > Scope::subgroup) return false;
        if (size_of(i.type) < 4 || (size_of(i.type) == 8 && !is_float(i.type))) return false;
        const auto indices = indices_of(from, i);
        return std::ranges::all_of(indices, [&](Value v) { return uniformity.of(v) <= Scope::subgroup; });
    }

    /// True if the value's GLSL text calls no function of shaders/. Such a function may jump, and the emitter may write the call
    /// where the value is used, that is between the reduction and the election.
    bool calls_no_function(Value v) {
        const InstId id = from[v].inst;
        if (id.id == none) return true;
        const Inst& i = from[id];
        if (!is_pure(i.op)) return true;  // written in its own place
        if (const auto known = known_values.find(v.id); known != known_values.end()) return known->second;
        const auto operands = from.operands(i);
        bool plain = true;
        if (is_scalar_op(i.op)) plain = op_text(i.op, from.type_of(operands[0]), false).find("pm_") == std::string::npos;
        if (i.op == Op::cast) plain = !is_float(from.type_of(operands[0])) || is_float(i.type);
        for (const Value o : operands) plain = plain && calls_no_function(o);
        return known_values[v.id] = plain;
    }

    void inst(InstId id) override {
        const Inst& i = from[id];
        if (combines(id)) {
            b.loc = i.loc;
            const Value value = of(from.operands(i).back());
            if (!calls_no_function(from.operands(i).back())) flush();
            sums.push_back({id, b.subgroup(Subgroup::reduce_add, {&value, 1})});
            if (sums.size() == 1) elected = b.subgroup(Subgroup::elect, {});
            return;
        }
        const bool apart = i.op == Op::load &&
                           std::ranges::none_of(sums, [&](const PendingAtomic& s) { return from[s.atomic].memory == i.memory; });
        if (!is_pure(i.op) && !apart) flush();
        copy(id);
    }

    /// Ends the batch: the elected item adds all its sums, under one condition.
    void flush() {
        if (sums.empty()) return;
        b.loc = from[sums[0].atomic].loc;
        Inst one;
        one.op = Op::if_;
        one.loc = b.loc;
        control(one, {&elected, 1}, {}, [&](int which, std::span<const Value>) {
            for (const PendingAtomic& s : sums) {
                if (which == 1) break;
                const Inst& i = from[s.atomic];
                b.loc = i.loc;
                b.atomic(of(i.memory), i.leaf, Atomic(i.immediate), of(indices_of(from, i)), s.value);
            }
            b.terminate(Op::yield);
        });
        sums.clear();
    }

    struct PendingAtomic {
        InstId atomic;
        Value value;
    };
    const Uniformity uniformity;
    const Uses uses;
    std::vector<PendingAtomic> sums;  ///< of the current block, still to be added
    Value elected;                    ///< for all of them
    std::map<uint32_t, bool> known_values;
};

}  // namespace

Kernel subgroup_aggregated_atomics(const Kernel& kernel) { return SubgroupAggregatedAtomics(kernel).run(); }

}  // namespace pumice::codegen
