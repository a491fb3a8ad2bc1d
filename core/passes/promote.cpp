// mem2reg: variables (var, get, set) become SSA values. Those set in a construct become its results and carried values.
// Why: folding, value numbering, forwarding and hoisting see values, not the contents of variables.
//
//   %v = var %i : i32                 |
//   %w = var %one : i32               |
//   if %c {                           |  %4, %5 = if %3 : (i32, i32) {
//     set %v, %n : i32                |    yield %1, %2
//     yield                           |
//   } else {                          |  } else {
//     %y = get %v : i32               |
//     %z = add %y, %one : i32         |    %6 = add %0, %2 : i32
//     set %w, %z : i32                |    yield %0, %6
//     yield                           |
//   }                                 |  }
//   %p = get %v : i32                 |  # %4 stands for %p
//
// Cost: one walk, plus one scan of each construct's contents: O(instructions * nesting depth), and a copy of the variables' map
// at each construct. A result is added wherever a set occurs, even if nothing reads it; `dead` removes such results.
// Limits: variables only; memory is left to forward_stores.
// Textbook name: SSA construction for structured control flow (Brandis and Moessenboeck, TOPLAS 1994). It needs no dominance
// frontiers.
#include "core/passes/promote.h"

#include <algorithm>
#include <unordered_map>

#include "core/ir/rewriter.h"

namespace pumice::ir {
namespace {

/// Walks the kernel with the current value of each variable. For each outer variable that it sets, a construct gets one more
/// result, and a loop one more carried value.
class Promotion : public Rewriter {
public:
    using Rewriter::Rewriter;

private:
    using Variables = std::vector<Value>;  ///< the results of var, in `from`

    void inst(InstId id) override {
        const Inst& i = from[id];
        const auto v = from.operands(i);
        switch (i.op) {
            case Op::var: now[from.result(i).id] = of(v[0]); return;
            case Op::get: map(from.result(i), now.at(v[0].id)); return;
            case Op::set: now.at(v[0].id) = of(v[1]); return;
            case Op::if_: return arms(i);
            case Op::for_:
            case Op::while_: return loop(i);
            case Op::yield: return leave(i, yielded.back());
            case Op::test:
            case Op::break_:
            case Op::continue_: return leave(i, carried.back());
            default: copy(id);
        }
    }

    /// The variables defined outside `i` and set inside it, in the order of their definition.
    Variables set_inside(const Inst& i) const {
        Variables found;
        each_inside(from, i, [&](InstId inner) {
            if (from[inner].op != Op::set) return;
            const Value variable = from.operands(from[inner])[0];
            // A variable declared inside `i` has no entry in `now` yet.
            if (now.count(variable.id) && std::find(found.begin(), found.end(), variable) == found.end())
                found.push_back(variable);
        });
        std::sort(found.begin(), found.end(), [](Value a, Value c) { return a.id < c.id; });
        return found;
    }

    /// Emits a terminator with the current values of these variables as additional operands.
    void leave(const Inst& i, const Variables& also) {
        std::vector<Value> operands = of(from.operands(i));
        for (const Value v : also) operands.push_back(now.at(v.id));
        b.loc = i.loc;
        b.terminate(i.op, operands);
    }

    void results(const Inst& i, InstId made, const Variables& also) {
        map_results(i, made);
        for (uint32_t e = 0; e < also.size(); ++e) now.at(also[e].id) = to.result(to[made], int(i.result_count + e));
    }

    void arms(const Inst& i) {
        const bool falls_through = !never_falls_through(from, i);
        const Variables also = falls_through ? set_inside(i) : Variables();
        const auto before = now;
        yielded.push_back(also);
        const InstId made = control(i, of(from.operands(i)), {}, [&](int which, std::span<const Value>) {
            now = before;
            insts(i.blocks[which]);
        });
        yielded.pop_back();
        now = before;
        results(i, made, also);
    }

    void loop(const Inst& i) {
        const Variables also = set_inside(i);
        std::vector<Value> operands = of(from.operands(i));
        std::vector<Scalar> types = param_types(i.blocks[0]);
        for (const Value v : also) {
            operands.push_back(now.at(v.id));
            types.push_back(from.type_of(v));
        }
        const auto before = now;
        yielded.push_back(also);
        carried.push_back(also);
        const InstId made = control(i, operands, types, [&](int which, std::span<const Value> params) {
            const auto& old = from[i.blocks[which]].params;
            for (size_t p = 0; p < old.size(); ++p) map(old[p], params[p]);
            // A while's body starts with the variables' values at the end of its test block, so only block 0 takes the
            // parameters.
            for (size_t e = 0; which == 0 && e < also.size(); ++e) now.at(also[e].id) = params[old.size() + e];
            insts(i.blocks[which]);
        });
        yielded.pop_back();
        carried.pop_back();
        now = before;
        results(i, made, also);
    }

    std::unordered_map<uint32_t, Value> now;  ///< current value of each variable
    std::vector<Variables> yielded{
        {}};  ///< by construct around the current instruction: variables that it yields; for a function none
    std::vector<Variables> carried;  ///< by loop around the current instruction: variables that it carries
};

}  // namespace

Kernel promote(const Kernel& kernel) { return Promotion(kernel).run(); }

}  // namespace pumice::ir
