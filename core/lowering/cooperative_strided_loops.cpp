// Loop interchange for grid-stride loops: one iteration for all items of the group, a barrier, then the next iteration.
// Why: the CPU runs a group's items one packet after another. Without the barriers a packet runs all its iterations alone, and
// each one touches distant elements; with them the group reads the array in its order.
//
//   %sum = for %k = %i to %n step %all          |  %7 = for %8 = %6 to %1 step %2 carry (%9 = %3) : f32 {  # %6: item 0's
//       carry (%s = %zero) : f32 {              |    %16 = lt %4, %15 : bool  # local_index < min(%1 - %8, group_size)
//     %x = load arg2[%k] : f32                  |    %17 = if %16 : f32 {
//     %t = add %s, %x : f32                     |      %18 = add %8, %4 : i32
//     yield %t                                  |      %19 = load arg2[%18] : f32
//   }                                           |      %20 = add %9, %19 : f32
//                                               |      yield %20
//                                               |    } else { yield %9 }
//                                               |    barrier
//
// Requires: an i32 for outside of all constructs; a start that grows by 1 from item to item along axis 0 only; a limit that is
// uniform in the group; a step that is a product of group_size, global_size and group_count; a load of an array at the loop's
// index; no jump, return, barrier, subgroup operation, `uniform` or private memory inside; no early return in the kernel.
// Cost: a scan of each such loop. The code pays a barrier each iteration, and at most 4 carried values go through memory.
// Limits: no while, no step of another form, no cost model (the array may be in the cache anyway).
// Textbook name: loop interchange, of the loop over the items with the loop inside (Allen and Kennedy, chapter 5).
#include "core/lowering/cooperative_strided_loops.h"

#include "core/analysis/linear_index.h"
#include "core/analysis/rematerialisation.h"
#include "core/ir/rewriter.h"

namespace pumice::ir {
namespace {

constexpr size_t most_carried = 4;  ///< limit on carried values, which go through memory at each barrier

class CooperativeStridedLoops : public Rewriter {
public:
    explicit CooperativeStridedLoops(const Kernel& kernel) : Rewriter(kernel), uniformity(kernel), affine(kernel, uniformity) {}

private:
    void inst(InstId id) override {
        if (from[id].op == Op::for_ && !returns && uniformity.structure().around(id).id == none && strides(id))
            together(from[id]);
        else
            copy(id);
    }

    /// True for a grid-stride loop: adjacent items start at adjacent indices, and the step is a multiple of the group's size.
    bool strides(InstId id) const {
        const Inst& loop = from[id];
        const auto v = from.operands(loop);
        if (from.type_of(v[0]) != Scalar::i32 || loop.result_count > most_carried) return false;
        const AffineForm& first = affine.of(v[0]);
        const bool others = first.known && (!first.local[1].zero() || !first.local[2].zero() || !first.global[1].zero() ||
                                            !first.global[2].zero());
        if (first.step(32) != 1 || others || first.rest > Scope::group) return false;
        return uniformity.of(v[1]) <= Scope::group && plain(v[0]) && plain(v[1]) && counts_items(v[2]) && reads_along(loop) &&
               stays_together(id);
    }

    /// True if items past the range can compute the value, too: it is made of pure instructions and loads of `in` arrays, at
    /// most 32 of them.
    bool plain(Value v) const {
        return Rematerialisation(from, [&](const Inst& i) { return is_repeatable(from, i); }).of(v, 32);
    }

    /// True for global_size, group_size, and products of these and group_count that have one of the sizes in them.
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
        return any_inside(from, loop, [&](InstId i) {
            return from[i].op == Op::load && from[from[i].memory].kind == MemoryKind::array &&
                   indices_of(from, from[i]).back() == index;
        });
    }

    /// True if the loop contains no jump or return, nothing that depends on which items run together (barriers, subgroup
    /// operations, `uniform`), and no access to private memory.
    bool stays_together(InstId loop) const {
        return uniformity.structure().jumps_to(loop).empty() && !any_inside(from, from[loop], [&](InstId id) {
                   const Inst& i = from[id];
                   const bool own = (i.op == Op::load || i.op == Op::store) && from[i.memory].kind == MemoryKind::private_;
                   return own || is_barrier(i.op) || i.op == Op::return_ || i.op == Op::subgroup || i.op == Op::uniform;
               });
    }

    /// Emits `for start = start of the group's first item to limit { if local_index < limit - start { body } barrier }`.
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
            // `limit - start` may exceed an i32; it fits a u32, as start < limit here.
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
    const LinearIndex affine;
    const bool returns = uniformity.returns_early();  ///< some items might miss the barriers
};

}  // namespace

Kernel cooperative_strided_loops(const Kernel& kernel) { return CooperativeStridedLoops(kernel).run(); }

}  // namespace pumice::ir
