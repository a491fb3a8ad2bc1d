// Owner computes, code: the kernel whose items each sum up one shadow element (legality: owner_computes.cpp in
// autodiff/strategy).
//
// The kernel has an axis for each index of the load that is not the same for all items. It takes the arguments of the adjoint,
// and after them the start and the end of the primal's range along each axis that the load leaves out; it loops over these axes.
//
//     item (i, k):    for j from %start to %end {
//                       if item (i, j) comes to the loop, and its bounds contain k, and iteration k comes to the load {
//                         %sum += given(item (i, j), iteration k)
//                       }
//                     }
//                     store da[i, k], da[i, k] + %sum
//
// Cost: as in owner_computes.cpp. Limits: above `most_instructions` for each direction the sweep gives up, because atomics cost
// less.
// Textbook name: the owner-computes rule.
#include "autodiff/reverse/emit_owner_computes.h"

#include "autodiff/reverse/elsewhere.h"
#include "autodiff/sweep/adjoint_reductions.h"
#include "autodiff/sweep/factored_sums.h"
#include "core/support/error.h"

namespace pumice::derive {

using namespace ir;

void OwnerComputesEmitter::sum_by_owner(const OwnerComputes::Load& owner) {
    constexpr size_t most_instructions = 80;
    using IndexDimension = OwnerComputes::IndexDimension;
    elsewhere.begin(most_instructions * size_t(width));
    const BlockId loop_body = from[owner.loop].blocks[0];
    const auto bounds = from.operands(from[owner.loop]);
    const MemoryId memory = from[owner.load].memory;
    to.name += "." + from[memory].name;
    to.rank = int(owner.axes.size()), to.range = {}, to.group = {};
    reductions.find_sums();  // for the parameters that all kernels of the adjoint take
    Elsewhere there;
    for (size_t axis = 0; axis < owner.axes.size(); ++axis) {
        const Value index =
            b.op(Op::sub, {b.index(Op::global_index, int(axis)), b.constant_int(Scalar::i32, owner.shifts[axis])});
        if (owner.axes[axis] == OwnerComputes::of_loop)
            there.values[from[loop_body].params[0].id] = index;
        else
            there.indices[size_t(owner.axes[axis])] = index;
    }
    std::vector<Value> sums;
    for (int w = 0; w < width; ++w) sums.push_back(b.var(zero(from[owner.load].type)));
    const auto iteration = [&](Elsewhere& item) {
        elsewhere.where_it_runs(item, where.block_of(owner.load), loop_body, [&](Elsewhere& inside) {
            for (int w = 0; w < width; ++w)
                if (const Value term = elsewhere.adjoint(inside, from.result(from[owner.load]), w))
                    b.set(sums[size_t(w)], plus(b, to, b.get(sums[size_t(w)]), term));
        });
    };
    const auto item = [&](Elsewhere& at) {
        elsewhere.where_it_runs(at, where.block_of(owner.loop), BlockId{0}, [&](Elsewhere& outside) {
            if (!owner.guarded) return iteration(outside);
            const Value k = outside.values.at(from[loop_body].params[0].id);
            const Value begun = b.op(Op::ge, {k, elsewhere.value(outside, bounds[0])}),
                        not_over = b.op(Op::lt, {k, elsewhere.value(outside, bounds[1])});
            emit_if(b.op(Op::and_, {begun, not_over}), [&] {
                Elsewhere inside = outside;
                iteration(inside);
            });
        });
    };
    // The last of these axes is the innermost loop: axis 0 is the fastest.
    const auto loops = [&](const auto& self, size_t left, Elsewhere& at) -> void {
        if (left == 0) return item(at);
        const auto bound = [&](const char* what) {
            const int axis = owner.looped[left - 1];
            return Shadows::add_scalar(b, to, text("axis_", axis, "_", what),
                                       text("where axis ", axis, " of the range has its ", what));
        };
        const Value start = bound("start"), end = bound("end");
        emit_for(start, end, b.constant_int(Scalar::i32, 1), [&](Value index) {
            Elsewhere inside = at;
            inside.indices[size_t(owner.looped[left - 1])] = index;
            self(self, left - 1, inside);
        });
    };
    loops(loops, owner.looped.size(), there);
    std::vector<Value> indices;
    size_t axis = owner.axes.size();
    Value exists = b.constant_bool(true);  // along the other axes by the owners' range (launch_owner_computes.cpp)
    for (size_t d = 0; d < owner.index.size(); ++d) {
        const bool fixed = owner.index[d].axis == IndexDimension::fixed;
        indices.push_back(fixed ? elsewhere.value(there, owner.index[d].value) : b.index(Op::global_index, int(--axis)));
        if (fixed) exists = b.op(Op::and_, {exists, has_index(memory, int(d), indices.back())});
    }
    const uint32_t leaf = from[owner.load].leaf;
    state.accumulated.push_back({from[owner.load].loc, from[memory].name, Accumulation::gather});
    emit_if(exists, [&] {
        for (int w = 0; w < width; ++w) {
            const MemoryId shadow = state.shadows->of(memory, w);
            const Value before = b.load(shadow, leaf, indices), sum = b.get(sums[size_t(w)]);
            b.store(shadow, leaf, indices, plus(b, to, before, sum));
        }
    });
}

}  // namespace pumice::derive
