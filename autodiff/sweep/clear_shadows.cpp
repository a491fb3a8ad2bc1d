// Clearing of consumed shadows: a kernel that stores zero to the shadow of every element that the primal stores.
//
// A reversed store consumes the shadow of its element. A scattering adjoint does so itself: load, then store zero. Items of a
// gathering adjoint read the shadows of other items, so the clearing has to wait until all of them are done: a second launch.
//
//     primal    store arg1[%i], %y
//     zero      store d1[%i], 0
//
// The kernel has the control flow of the primal and loses everything else as dead code. Strip-mined over rows (RowByRow), an item
// clears 8 rows: on GPUs the launch of an item costs as much as one store. On the cpu an item clears one row, so that the launch
// follows the gathering one through the caches.
//
// Cost: a launch and one store an element. Limits: RowByRow needs a kernel for which knows_indices_only() holds, without early
// return.
// Textbook name: loop fission (the clearing is split from the sweep) with dead-code elimination; strip-mining over rows.
#include "autodiff/sweep/clear_shadows.h"

#include <algorithm>

#include "autodiff/analysis/accumulation.h"
#include "autodiff/analysis/shadows.h"
#include "autodiff/sweep/primal.h"
#include "core/ir/rewriter.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// The clearing kernel.
class ClearShadows : public Rewriter {
public:
    ClearShadows(const Primal& from, const Kernel& beside) : Rewriter(from.kernel), primal(from), model(beside) {}

private:
    void body() override {
        shadows = std::make_unique<Shadows>(to, primal.kernel, primal.signature, primal.analysis, true);
        for (size_t p = to.params.size(); p < model.params.size(); ++p)
            Shadows::add_array(to, model[model.params[p].memory].element.leaves[0].type, model[model.params[p].memory].access,
                               model.params[p].identity.name, model.params[p].label);
        to.name = model.name + ".zero";
        insts(BlockId{0});
    }
    void inst(InstId id) override {
        const Inst& i = from[id];
        b.loc = i.loc;
        if (i.op == Op::argument) return map(from.result(i), b.argument(shadows->param(size_t(i.immediate)), i.type));
        if (i.op != Op::store) return copy(id);
        for (int w = 0; w < primal.signature.width && primal.analysis.active(i.memory, i.leaf); ++w)
            b.store(shadows->of(i.memory, w), i.leaf, of(indices_of(from, i)), zero(i.type));
    }
    const Primal& primal;
    const Kernel& model;
    std::unique_ptr<Shadows> shadows;
};

/// Strip mining: the body in a loop over rows. The trip count is the same for all items, so that drivers unroll the loop.
class RowByRow : public Rewriter {
public:
    explicit RowByRow(const Kernel& kernel) : Rewriter(kernel), axis(kernel.rank - 1) {}

private:
    void body() override {
        const Value end = Shadows::add_scalar(b, to, "range_end", "where the range ends");
        const Value first = b.index(Op::global_index, axis), apart = b.index(Op::global_size, axis);
        const Value none = zero(Scalar::i32), rows = b.constant_int(Scalar::i32, FollowUpKernel::rows);
        emit_for(b, to, none, rows, b.constant_int(Scalar::i32, 1), [&](Value n) {
            row = b.op(Op::add, {first, b.op(Op::mul, {n, apart})});
            const auto one_row = [&] {
                for (const InstId i : from.body().insts)
                    if (from[i].op != Op::return_) inst(i);
            };
            emit_if(b, to, b.op(Op::lt, {row, end}), one_row, [] {});
        });
        b.terminate(Op::return_);
    }
    void inst(InstId id) override {
        const Inst& i = from[id];
        if (i.op == Op::global_index && int(i.immediate) == axis)
            map(from.result(i), row);
        else
            copy(id);
    }
    const int axis;
    Value row;
};

}  // namespace

Kernel clear_shadows(const Primal& primal, const Kernel& beside) { return ClearShadows(primal, beside).run(); }

std::optional<Kernel> row_by_row(const Kernel& clearing) {
    const bool returns = std::any_of(clearing.blocks.begin() + 1, clearing.blocks.end(), [&](const Block& block) {
        return !block.insts.empty() && clearing[block.insts.back()].op == Op::return_;
    });
    if (returns || clearing.rank == 0 || clearing.range[0] || !knows_indices_only(clearing)) return std::nullopt;
    return RowByRow(clearing).run();
}

}  // namespace pumice::derive
