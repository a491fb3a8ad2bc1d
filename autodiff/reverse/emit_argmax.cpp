// Argmax reduction, code: the copy of the primal notes the last iteration that attained the final value (legality:
// argmax_reduction.cpp in autodiff/analysis).
//
//     %last = var -1
//     for %k = %a to %n {                      a counter counts the iterations of a for whose step is not 1
//       ...
//       %last = %q == %x ? %k - %a : %last     reverse_sweep.cpp reverses the iteration %last alone, if it is not -1
//     }
//
// Cost: a comparison and a select in each iteration. Limits: as in argmax_reduction.cpp.
#include "autodiff/reverse/emit_argmax.h"

#include "autodiff/sweep/kept_values.h"
#include "core/analysis/loop_info.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// The type in which the iterations of a for are counted.
Scalar counter_of(const Kernel& from, InstId loop) {
    return size_of(from.type_of(from.operands(from[loop])[0])) == 8 ? Scalar::i64 : Scalar::i32;
}

}  // namespace

void ArgmaxEmitter::declare_variables() {
    for (const InstId id : where.order())
        if (plan.argmax_value(id)) kept.last_attained[id.id] = b.var(b.constant_int(counter_of(from, id), -1));
}

void ArgmaxEmitter::count_iterations(InstId loop) {
    if (constant_integer(from, from.operands(from[loop])[2]) != 1) counters[loop.id] = b.var(zero(counter_of(from, loop)));
}

void ArgmaxEmitter::note_argmax(InstId loop) {
    const Value m = plan.argmax_value(loop), x = from.operands(from[from[m].inst])[1], last = kept.last_attained.at(loop.id);
    const Scalar type = counter_of(from, loop);
    Value number;
    if (const auto counter = counters.find(loop.id); counter != counters.end()) {
        number = b.get(counter->second);
        b.set(counter->second, b.op(Op::add, {number, b.constant_int(type, 1)}));
    } else {
        const Value index = kept.copied(from[from[loop].blocks[0]].params[0]), first = kept.copied(from.operands(from[loop])[0]);
        number = b.op(Op::sub, {b.cast(type, index), b.cast(type, first)});
    }
    const Value before = b.get(last), attained = b.op(Op::eq, {kept.copied(m), kept.copied(x)});
    b.set(last, b.select(attained, number, before));
}

}  // namespace pumice::derive
