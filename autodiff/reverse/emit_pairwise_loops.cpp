// Pairwise loops, code: the reverse of a loop over all items (legality: pairwise_loops.cpp in autodiff/strategy).
//
// In iteration j, item i reverses its own iteration, and also evaluates the contribution of item j, in the iteration i of that
// item, to the elements of item i. The contributions are summed up in a register for each load and direction.
//
//     for j { own(i, j);  sum += given(item j, iteration i) }
//     atomic dx[i] += sum
//
// Cost: as in pairwise_loops.cpp. (x - y)^2 of a pair is written as (y - x)^2, which the item has computed for itself.
// Limits: above 80 instructions per load and direction the sweep gives up, because atomics cost less.
// Textbook name: pairwise force evaluation without Newton's third law: both partners compute the pair, so that nothing is
// scattered.
#include "autodiff/reverse/emit_pairwise_loops.h"

#include "autodiff/reverse/elsewhere.h"
#include "autodiff/sweep/factored_sums.h"
#include "autodiff/sweep/kept_values.h"

namespace pumice::derive {

using namespace ir;

void PairwiseLoopEmitter::reverse_loop(InstId loop, const std::function<void(Value index)>& own) {
    const Inst& i = from[loop];
    const auto bounds = from.operands(i);
    const auto pairs = primal.pairwise.loads.find(loop.id);
    const bool taken = sweep_kind == SweepKind::pairwise && pairs != primal.pairwise.loads.end();
    std::vector<Value> sums;  // one for each load and direction
    for (size_t n = 0; taken && n < pairs->second.size() * size_t(width); ++n)
        sums.push_back(b.var(zero(from[pairs->second[n / size_t(width)]].type)));
    const Value index = from[i.blocks[0]].params[0], mine = b.index(Op::global_index, 0);
    const Value step = kept.provided(bounds[2]), limit = kept.provided(bounds[1]), start = kept.provided(bounds[0]);
    emit_for(start, limit, step, [&](Value j) {
        own(j);
        if (!taken) return;
        // Beyond this limit atomics cost less.
        elsewhere.begin(80 * sums.size());
        Elsewhere there;
        there.indices[0] = j, there.values[index.id] = mine;
        for (size_t n = 0; n < sums.size(); ++n) {
            const InstId load = pairs->second[n / size_t(width)];
            elsewhere.where_it_runs(there, where.block_of(load), i.blocks[0], [&](Elsewhere& inside) {
                const Value term = elsewhere.adjoint(inside, from.result(from[load]), int(n % size_t(width)));
                if (term) b.set(sums[n], plus(b, to, b.get(sums[n]), term));
            });
        }
    });
    for (size_t n = 0; n < sums.size(); ++n) {
        const InstId load = pairs->second[n / size_t(width)];
        const MemoryId memory = from[load].memory;
        std::vector<Value> place;
        Value exists = b.constant_bool(true);
        for (const Value v : indices_of(from, from[load])) {
            place.push_back(v == index ? mine : kept.provided(v));
            exists = b.op(Op::and_, {exists, has_index(memory, int(place.size()) - 1, place.back())});
        }
        const auto add = [&] {
            b.atomic(state.shadows->of(memory, int(n % size_t(width))), from[load].leaf, Atomic::add, place, b.get(sums[n]));
        };
        // A load in every iteration reads the elements of all items. A load under a condition may leave out this item's
        // element, which then need not exist.
        if (where.block_of(load) == i.blocks[0])
            add();
        else
            emit_if(exists, add);
    }
}

}  // namespace pumice::derive
