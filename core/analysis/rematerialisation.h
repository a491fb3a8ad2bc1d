// Rematerialisation: can a value be computed again, in another item, iteration or region, from values that are given there?
// Why: passes and back ends ask this before they compute a value twice instead of passing it on.
//
//   %1 = mul %0, %0 : i32                            # %0 is given
//   %2 = load arg1[%1] : f32
//   %3 = add %2, %2 : f32                            # of(%3) if loads repeat: 5 instructions, as %2 counts twice
//
// Method: a walk over the operands, which ends at given values. The caller says which values are given and which instructions
// repeat. Successes are remembered, so that a query is linear in the expression.
// Limits: carried values and results of loops are never recomputed; the caller checks that memories do not change.
// Textbook name: rematerialisation (Briggs, Cooper, Torczon, PLDI 1992).
#pragma once
#include <climits>
#include <functional>
#include <map>

#include "core/ir/structure.h"

namespace pumice::ir {

/// True for an instruction that gives the same result at any time of a launch: a pure one, or a load of an `in` array.
inline bool is_repeatable(const Kernel& k, const Inst& i) {
    return is_pure(i.op) || (i.op == Op::load && k[i.memory].access == Access::in);
}

class Rematerialisation {
public:
    /// `repeats`: an instruction may run again, if its operands are known; of an if, what the arms yield must be known, too.
    /// `given`: a value need not be computed.
    explicit Rematerialisation(
        const Kernel& kernel, std::function<bool(const Inst&)> repeating = [](const Inst& i) { return is_pure(i.op); },
        std::function<bool(Value)> known = [](Value) { return false; })
        : k(kernel), repeats(std::move(repeating)), given(std::move(known)) {}

    /// True if `v` follows from given values by at most so many instructions; one that is needed twice counts twice.
    bool of(Value v, int most = INT_MAX) { return within(v, most); }
    /// The same, for several values together: the instructions are subtracted from `budget`.
    bool within(Value v, int& budget) {
        if (given(v)) return true;
        if (const auto known = costs.find(v.id); known != costs.end()) return (budget -= known->second) >= 0;
        const InstId source = k[v].inst;
        if (source.id == none || !repeats(k[source]) || budget < 1) return false;
        const int before = budget--;
        for (const Value operand : k.operands(k[source]))
            if (!within(operand, budget)) return false;
        for (const BlockId arm : k[source].owned())
            if (!within(k.operands(last_inst(k, arm))[k[v].index], budget)) return false;
        costs[v.id] = before - budget;
        return true;
    }

private:
    const Kernel& k;
    const std::function<bool(const Inst&)> repeats;
    const std::function<bool(Value)> given;
    std::map<uint32_t, int> costs;  ///< of values that can be computed again
};

}  // namespace pumice::ir
