// Values of the primal in the reverse sweep: at the start of each reversed block, the values that its reverse needs (tape.h says
// from where each comes).
//
//     %y = sin %x                  ValueSource::rematerialised: sin %x again, before the reverse of the block
//     for { %t = load ...; ... }   ValueSource::taped: popped before the reverse of the iteration
//     %i of a while, + 2 each      ValueSource::induction: %i0 + 2 * iteration
//     tile[%l] = load x[%i]        a fill of local or private memory that the reverse reads: stored again
//
// Values that are read from refilled memory come after the fill, as in the primal.
// Cost: one operation, load or pop a value. Limits: as TapePlan has decided.
#include "autodiff/sweep/provide_values.h"

#include <algorithm>

#include "autodiff/sweep/emit_tape.h"
#include "autodiff/sweep/kept_values.h"

namespace pumice::derive {

using namespace ir;

Value ValueProvider::rematerialise(const Inst& i) {
    b.loc = i.loc;
    if (i.op == Op::load) return b.load(i.memory, i.leaf, kept.provided(indices_of(from, i)));
    return pure_of(i, kept.provided(from.operands(i)));
}

void ValueProvider::provide(BlockId block, Value iteration) {
    tape.pop(block);
    // A value that is read from refilled memory comes after the fill, as in the primal.
    const auto& insts = from[block].insts;
    const auto place = [&](InstId id) { return std::ranges::find(insts, id); };
    std::vector<InstId> fills = plan.refills(block);
    std::ranges::sort(fills, [&](InstId x, InstId y) { return place(x) < place(y); });
    size_t filled = 0;
    for (const Value v : plan.values_of(block)) {
        const ValueInfo& info = from[v];
        if (const auto at = place(info.inst); at != insts.end())
            while (filled < fills.size() && place(fills[filled]) < at) refill(fills[filled++]);
        switch (plan.source_of(v)) {
            case ValueSource::live:
                if (info.inst.id != none) kept.known[v.id] = kept.copied(v);
                break;
            case ValueSource::rematerialised:
                if (!kept.ahead.count(v.id)) kept.known[v.id] = rematerialise(from[info.inst]);
                break;
            case ValueSource::variable: kept.known[v.id] = b.get(kept.variables[v.id]); break;
            case ValueSource::induction: {
                const Inst& loop = from[where.owner_of(info.block)];
                const Value first =
                    kept.provided(from.operands(loop)[leading_operands(loop.op) + info.index - leading_params(loop.op)]);
                // The definition of the increment may come after the parameter; a constant is emitted again.
                const Value by = plan.increment(v);
                uint64_t bits = 0;
                const Value step = from.constant(by, bits) ? b.constant(info.type, bits) : kept.provided(by);
                kept.known[v.id] = b.op(Op::add, {first, b.op(Op::mul, {b.cast(info.type, iteration), step})});
                break;
            }
            case ValueSource::taped:
            case ValueSource::unneeded: break;
        }
    }
    for (const InstId loop : plan.counts_of(block))
        if (plan.count_source(loop) == ValueSource::variable) kept.counts[loop.id] = b.get(kept.count_variables.at(loop.id));
    while (filled < fills.size()) refill(fills[filled++]);
}

/// Emits a store of the primal again, or a loop of stores.
void ValueProvider::refill(InstId id) {
    const Inst& i = from[id];
    b.loc = i.loc;
    if (i.op == Op::store)
        return void(b.store(i.memory, i.leaf, kept.provided(indices_of(from, i)), kept.provided(from.operands(i).back())));
    const BlockId body = i.blocks[0];
    const Value index = from[body].params[0];
    const std::vector<Value> bounds = kept.provided(from.operands(i));
    emit_for(bounds[0], bounds[1], bounds[2], [&](Value now) {
        kept.known[index.id] = now;
        for (const InstId inner : from[body].insts) {
            const Inst& e = from[inner];
            if (e.op == Op::yield) continue;
            if (is_pure(e.op) || e.op == Op::load)
                kept.known[from.result(e).id] = rematerialise(e);
            else
                refill(inner);
        }
    });
    to.insts.back().immediate = i.immediate;  // the hint
}

}  // namespace pumice::derive
