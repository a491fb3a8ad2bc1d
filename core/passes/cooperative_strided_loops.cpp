#include <algorithm>

#include "core/analysis/linear_index.h"
#include "core/ir/rewriter.h"
#include "core/passes/passes.h"

namespace pumice::ir {
namespace {

constexpr size_t most_carried = 4;  ///< values that each item carries; they go to memory between two iterations

class CooperativeStridedLoops : public Rewriter {
public:
    explicit CooperativeStridedLoops(const Kernel& kernel) : Rewriter(kernel), uniformity(kernel), affine(kernel, uniformity) {
        const Structure& where = uniformity.structure();
        for (const InstId i : where.order()) returns = returns || (from[i].op == Op::return_ && where.around(i).id != none);
    }

private:
    void inst(InstId id) override {
        if (from[id].op == Op::for_ && !returns && uniformity.structure().around(id).id == none && strides(id))
            together(from[id]);
        else
            copy(id);
    }

    /// Whether items side by side begin side by side, and go on by what leads past the group's other items.
    bool strides(InstId id) const {
        const Inst& loop = from[id];
        const auto v = from.operands(loop);
        if (from.type_of(v[0]) != Scalar::i32 || loop.result_count > most_carried) return false;
        const AffineForm& first = affine.of(v[0]);
        const bool others = first.known && (!first.local[1].zero() || !first.local[2].zero() || !first.global[1].zero() || !first.global[2].zero());
        if (first.step(32) != 1 || others || first.rest > Scope::group) return false;
        return uniformity.of(v[1]) <= Scope::group && plain(v[0]) && plain(v[1]) && counts_items(v[2]) && reads_along(loop) && stays_together(id);
    }

    /// Computed from arguments, indices and what nobody writes: items past the range can, too.
    bool plain(Value v) const {
        int budget = 32;
        return plain(v, budget);
    }
    bool plain(Value v, int& budget) const {
        const InstId source = from[v].inst;
        if (source.id == none || --budget < 0) return false;
        const Inst& i = from[source];
        if (!is_pure(i.op) && !(i.op == Op::load && from[i.memory].access == Access::in)) return false;
        const auto o = from.operands(i);
        return std::all_of(o.begin(), o.end(), [&](Value operand) { return plain(operand, budget); });
    }

    /// A product of the numbers of items and groups.
    bool counts_items(Value v) const {
        const InstId source = from[v].inst;
        if (source.id == none) return false;
        const Inst& i = from[source];
        if (i.op == Op::global_size || i.op == Op::group_size) return true;
        const auto o = from.operands(i);
        const auto counts = [&](Value f) {
            const InstId factor = from[f].inst;
            return counts_items(f) || (factor.id != none && from[factor].op == Op::group_count);
        };
        return i.op == Op::mul && (counts_items(o[0]) || counts_items(o[1])) && counts(o[0]) && counts(o[1]);
    }

    bool reads_along(const Inst& loop) const {
        const Value index = from[loop.blocks[0]].params[0];
        bool found = false;
        each_inside(from, loop, [&](InstId i) {
            found = found || (from[i].op == Op::load && from[from[i].memory].kind == MemoryKind::array && indices_of(from, from[i]).back() == index);
        });
        return found;
    }

    /// Nothing inside leaves the loop or is a matter of which items run together, and there is no memory of an item's own.
    bool stays_together(InstId loop) const {
        bool stays = uniformity.structure().jumps_to(loop).empty();
        each_inside(from, from[loop], [&](InstId id) {
            const Inst& i = from[id];
            const bool own = (i.op == Op::load || i.op == Op::store) && from[i.memory].kind == MemoryKind::private_;
            stays = stays && !own && !is_barrier(i.op) && i.op != Op::return_ && i.op != Op::subgroup && i.op != Op::uniform;
        });
        return stays;
    }

    /// `for start from the first item's { if local_index < to - start { body } barrier }`
    void together(const Inst& loop) {
        b.loc = loop.loc;
        const auto v = from.operands(loop);
        const Value item = b.index(Op::local_index), to = of(v[1]);
        std::vector<Value> operands{b.uniform(b.op(Op::sub, {of(v[0]), item})), to, of(v[2])};
        std::vector<Scalar> types{Scalar::i32};
        for (const Value initial : v.subspan(3)) operands.push_back(of(initial)), types.push_back(from.type_of(initial));
        const InstId made = control(loop, operands, types, [&](int, std::span<const Value> params) {
            b.loc = loop.loc;
            const std::vector<Value> given(params.begin() + 1, params.end());
            // The difference may be more than an i32 holds; the start is below the end here.
            const Value rest = b.bitcast(Scalar::u32, b.op(Op::sub, {to, params[0]}));
            const Value most = b.bitcast(Scalar::u32, b.index(Op::group_size));
            const Value condition = b.op(Op::lt, {item, b.bitcast(Scalar::i32, b.op(Op::min, {rest, most}))});
            Inst choice;
            choice.op = Op::if_;
            choice.loc = loop.loc;
            const InstId chosen = control(choice, {&condition, 1}, {}, [&](int arm, std::span<const Value>) {
                if (arm == 1) return b.terminate(Op::yield, given);
                const auto& old = from[loop.blocks[0]].params;
                map(old[0], b.op(Op::add, {params[0], item}));
                for (size_t c = 0; c < given.size(); ++c) map(old[1 + c], given[c]);
                insts(loop.blocks[0]);
            });
            b.loc = loop.loc;
            b.barrier();
            std::vector<Value> next;
            for (size_t c = 0; c < given.size(); ++c) next.push_back(to_result(chosen, c));
            b.terminate(Op::yield, next);
        });
        map_results(loop, made);
    }

    Value to_result(InstId i, size_t c) const { return to.result(to[i], int(c)); }

    const Uniformity uniformity;
    const Affine affine;
    bool returns = false;  ///< some items leave before the end, and would miss barriers
};

}  // namespace

Kernel cooperative_strided_loops(const Kernel& kernel) { return CooperativeStridedLoops(kernel).run(); }

}  // namespace pumice::ir
