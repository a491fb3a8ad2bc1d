#include <algorithm>
#include <unordered_map>

#include "core/ir/rewriter.h"
#include "core/passes/passes.h"

namespace pumice::ir {
namespace {

/// Walks the kernel with the current value of each variable. A construct gives one more result, and a loop carries one more
/// value, for each variable of the code around it that it sets.
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

    /// The variables of the code around `i` that it sets, in the order of their definition.
    Variables set_inside(const Inst& i) const {
        Variables found;
        each_inside(from, i, [&](InstId inner) {
            if (from[inner].op != Op::set) return;
            const Value variable = from.operands(from[inner])[0];
            // What is declared inside has no value yet.
            if (now.count(variable.id) && std::find(found.begin(), found.end(), variable) == found.end())
                found.push_back(variable);
        });
        std::sort(found.begin(), found.end(), [](Value a, Value c) { return a.id < c.id; });
        return found;
    }

    /// A terminator with the current values of what it also hands on.
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
        std::vector<Scalar> types;
        for (const Value p : from[i.blocks[0]].params) types.push_back(from.type_of(p));
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
            // A while's body goes on with the values that its test block ends with.
            for (size_t e = 0; which == 0 && e < also.size(); ++e) now.at(also[e].id) = params[old.size() + e];
            insts(i.blocks[which]);
        });
        yielded.pop_back();
        carried.pop_back();
        now = before;
        results(i, made, also);
    }

    std::unordered_map<uint32_t, Value> now;  ///< a variable's value here
    std::vector<Variables> yielded{{}};       ///< what yields of the open constructs hand on; a function's nothing
    std::vector<Variables> carried;           ///< what the open loops carry
};

}  // namespace

Kernel promote(const Kernel& kernel) { return Promotion(kernel).run(); }

}  // namespace pumice::ir
