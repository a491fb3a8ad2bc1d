// Additions of several items to one place: a subgroup's are added up first, and one item adds the sum.
#include "codegen/combine.h"

#include <algorithm>

#include "core/rewrite.h"
#include "core/uniformity.h"

namespace pumice::codegen {

using namespace ir;

namespace {

class Combining : public Rewriter {
public:
    explicit Combining(const Kernel& k) : Rewriter(k), uniformity(k), used(k.values.size()) {
        for (const InstId id : uniformity.structure().order())
            for (const Value v : k.operands(k[id])) used[v.id] = true;
    }

private:
    /// An addition whose old value nobody asks for, at a place that the items share who arrive at it together. Behind a condition
    /// of their own it may be one item's alone, as that of a sum of the whole group is: there is nothing to add up.
    bool combines(InstId id) const {
        const Inst& i = from[id];
        if (i.op != Op::atomic || used[from.result(i).id] || uniformity.control(id) > Scope::subgroup) return false;
        if (Atomic(i.immediate) != Atomic::add && Atomic(i.immediate) != Atomic::sub) return false;
        if (size_of(i.type) < 4 || (size_of(i.type) == 8 && !is_float(i.type))) return false;
        const auto indices = indices_of(from, i);
        return std::all_of(indices.begin(), indices.end(), [&](Value v) { return uniformity.of(v) <= Scope::subgroup; });
    }

    void inst(InstId id) override {
        const Inst& i = from[id];
        if (combines(id)) {
            b.loc = i.loc;
            const Value value = of(from.operands(i).back());
            sums.push_back({id, b.subgroup(Subgroup::reduce_add, {&value, 1})});
            return;
        }
        const bool apart = i.op == Op::load && std::none_of(sums.begin(), sums.end(),
                                                            [&](const Sum& s) { return from[s.atomic].memory == i.memory; });
        if (!is_pure(i.op) && !apart) flush();
        copy(id);
    }

    /// Adds the sums so far, under one condition.
    void flush() {
        if (sums.empty()) return;
        b.loc = from[sums[0].atomic].loc;
        const Value condition = b.subgroup(Subgroup::elect, {});
        Inst one;
        one.op = Op::if_;
        one.loc = b.loc;
        control(one, {&condition, 1}, {}, [&](int which, std::span<const Value>) {
            for (const Sum& s : sums) {
                if (which == 1) break;
                const Inst& i = from[s.atomic];
                b.loc = i.loc;
                b.atomic(of(i.memory), i.leaf, Atomic(i.immediate), of(indices_of(from, i)), s.value);
            }
            b.terminate(Op::yield);
        });
        sums.clear();
    }

    struct Sum {
        InstId atomic;
        Value value;
    };
    const Uniformity uniformity;
    std::vector<bool> used;
    std::vector<Sum> sums;  ///< of the current block, still to be added
};

}  // namespace

Kernel combine(const Kernel& kernel) { return Combining(kernel).run(); }

}  // namespace pumice::codegen
