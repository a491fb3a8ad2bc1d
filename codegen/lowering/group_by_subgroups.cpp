// Two-level reduction and scan of a group: each subgroup combines its items' values, then the subgroups' results are combined.
//
// Why: one barrier and one value a subgroup in local memory, where group_by_memory takes log2(items) steps with a barrier each.
//
//   %r = group reduce_add scratch, %x     %p = subgroup reduce_add %x
//                                         if subgroup elect and several { store scratch[subgroup_index] = %p }
//                                         barrier
//                                         if several, and they are few {
//                                           %r = 0; for k = 0 to subgroup_count { %r = %r + scratch[k] }
//                                         } else if several {
//                                           %v = 0; for k = rank to subgroup_count step active { %v = %v + scratch[k] }
//                                           %r = subgroup reduce_add %v
//                                         } else { %r = %p }
//
// `several`: the group has more than one subgroup. The sizes of group and subgroup decide the branch, so a compiler that knows
// both drops the other branches. `rank` and `active` number and count the active items of a subgroup, since no subgroup need be
// full. A scan combines the scan within the subgroup with the sums of the subgroups before; the last item of a subgroup stores
// its sum. Cost: one barrier, and a second one where the scratch memory is used again. Limits: goes_by_subgroups() says which
// instructions qualify. Source: S. Sengupta et al., "Scan primitives for GPU computing", 2007, with subgroup operations for the
// scans of a block.
#include "codegen/lowering/group_by_subgroups.h"

#include <algorithm>

#include "codegen/glsl/kernel_usage.h"
#include "core/ir/ops.h"
#include "core/ir/rewriter.h"

namespace pumice::codegen {

using namespace ir;

namespace {

/// Up to this many subgroups, every item reads all subgroups' values in a loop. AMD's compiler makes 70 instructions of that loop
/// for 8 subgroups, and 88 of spreading the values over the items of a subgroup.
constexpr int most_in_turn = 8;

class GroupBySubgroups : public Rewriter {
public:
    GroupBySubgroups(const Kernel& kernel, const Options& options)
        : Rewriter(kernel), where(kernel), packed(options.packed_subgroups) {}

private:
    void inst(InstId id) override {
        const Inst& i = from[id];
        if (i.op != Op::group) return copy(id);
        b.loc = i.loc;
        const Subgroup what = Subgroup(i.immediate);
        scratch = of(i.memory);
        combine = *combines(what);
        reduction = Subgroup(size_t(what) % size_t(Subgroup::inclusive_add));
        neutral = b.constant(i.type, neutral_element(combine, i.type));
        const Value x = of(from.operands(i)[0]);
        map(from.result(i), is_scan(what) ? scan(what, x) : reduce(x));
        if (used_again(id)) b.barrier();  // the next use of the scratch memory writes it
    }

    /// True if a later instruction, or a later iteration of a loop around this one, may access the scratch memory.
    bool used_again(InstId id) const {
        if (where.loop_around(id).id != none) return true;
        const auto& order = where.order();
        return std::any_of(std::ranges::find(order, id) + 1, order.end(),
                           [&](InstId other) { return from[other].memory == from[id].memory; });
    }

    Value number(int64_t n) { return b.constant_int(Scalar::i32, n); }
    Value subgroup(Subgroup what, Value x) { return b.subgroup(what, {&x, 1}); }
    Value elect() { return b.subgroup(Subgroup::elect, {}); }
    Value items() {
        return b.op(Op::mul,
                    {b.op(Op::mul, {b.index(Op::group_size, 0), b.index(Op::group_size, 1)}), b.index(Op::group_size, 2)});
    }
    /// True if the group has several subgroups. The first comparison is one that compilers can fold; the second one covers groups
    /// that have fewer items than a subgroup has lanes, and yet several subgroups.
    Value several() {
        const Value more_items = b.op(Op::gt, {items(), b.index(Op::subgroup_size)});
        return b.op(Op::or_, {more_items, b.op(Op::gt, {b.index(Op::subgroup_count), number(1)})});
    }

    /// The item of each subgroup for which `one` holds stores its value in the scratch memory. A barrier follows.
    void share(Value one, Value x) {
        const Value place = b.index(Op::subgroup_index);
        choose(b.op(Op::and_, {one, several()}), {}, [&] { b.store(scratch, 0, {&place, 1}, x); });
        b.barrier();
    }

    /// The values of the first `count` subgroups, combined. Every item reads a few of them one after another, which takes fewer
    /// instructions than to spread them over the subgroup's items and to reduce again. Both ways are correct for any count.
    Value combine_first(Value count) {
        const Value few = b.op(Op::le, {items(), b.op(Op::mul, {b.index(Op::subgroup_size), number(most_in_turn)})});
        return emit_if(b, to, few, [&] { return in_turn(count); }, [&] { return spread(count); });
    }

    Value get(Value place) { return b.load(scratch, 0, {&place, 1}); }

    Value in_turn(Value count) {
        const auto next = [&](Value place, Value sum) { return b.op(combine, {sum, get(place)}); };
        if (count != b.index(Op::subgroup_count)) return emit_fold(b, to, number(0), count, neutral, next);
        // The group has at least as many subgroups as its items fill. The loop over these has a trip count that compilers know
        // where they know the sizes: they unroll it, and its loads are issued together. A second loop reads the subgroups that
        // are there only because lanes were left empty.
        const Value size = b.index(Op::subgroup_size);
        const Value least = b.op(Op::div, {b.op(Op::add, {items(), b.op(Op::sub, {size, number(1)})}), size});
        const Value sum = emit_fold(b, to, number(0), least, neutral, next);
        return packed ? sum : emit_fold(b, to, least, count, sum, next);
    }

    Value spread(Value count) {
        const Value active = subgroup(Subgroup::reduce_add, number(1));
        Inst loop;
        loop.op = Op::while_;
        loop.loc = b.loc;
        const Value initial[] = {subgroup(Subgroup::exclusive_add, number(1)), neutral};
        const Scalar types[] = {Scalar::i32, to.type_of(neutral)};
        Value place, sum;
        const InstId made = control(loop, initial, types, [&](int which, std::span<const Value> params) {
            if (which == 0) {
                place = params[0], sum = params[1];
                const Value test[] = {b.op(Op::lt, {place, count}), place, sum};
                return b.terminate(Op::test, test);
            }
            const Value next[] = {b.op(Op::add, {place, active}), b.op(combine, {sum, get(place)})};
            b.terminate(Op::yield, next);
        });
        return subgroup(reduction, to.result(to[made], 1));
    }

    /// True for the last active item of a subgroup. In the group's last subgroup it may be false for all items, since no item
    /// reads the sum of that subgroup.
    Value is_last_of_subgroup() {
        if (packed) return b.op(Op::eq, {b.index(Op::subgroup_lane), b.op(Op::sub, {b.index(Op::subgroup_size), number(1)})});
        const Value rank = subgroup(Subgroup::exclusive_add, number(1)), active = subgroup(Subgroup::reduce_add, number(1));
        return b.op(Op::eq, {b.op(Op::add, {rank, number(1)}), active});
    }

    Value reduce(Value x) {
        const Value part = subgroup(reduction, x);
        share(elect(), part);
        return choose(several(), part, [&] { return combine_first(b.index(Op::subgroup_count)); });
    }

    Value scan(Subgroup what, Value x) {
        const Value part = subgroup(what, x);
        const Value total = what >= Subgroup::exclusive_add ? b.op(combine, {part, x}) : part;
        share(is_last_of_subgroup(), total);
        return choose(several(), part, [&] { return b.op(combine, {combine_first(b.index(Op::subgroup_index)), part}); });
    }

    const Structure where;
    const bool packed;  // see Options
    MemoryId scratch;
    Op combine = Op::add;
    Subgroup reduction = Subgroup::reduce_add;
    Value neutral;
};

}  // namespace

std::function<bool(const Inst&)> goes_by_subgroups(const Kernel& recorded, const Options& options) {
    constexpr uint32_t combining = Subgroups::basic | Subgroups::arithmetic;
    uint32_t needs = combining;
    for (const Inst& i : recorded.insts) needs |= subgroup_needs(recorded, i);
    if (!options.subgroup_sums || (needs & ~options.subgroups)) return [](const Inst&) { return false; };
    return [linear = options.linear_subgroups, int64 = (options.subgroups & Subgroups::int64) && !options.pairs](const Inst& i) {
        return (linear || !is_scan(Subgroup(i.immediate))) && (int64 || is_float(i.type) || size_of(i.type) < 8);
    };
}

Kernel group_by_subgroups(const Kernel& kernel, const Options& options) {
    const bool any = std::ranges::any_of(kernel.insts, [](const Inst& i) { return i.op == Op::group; });
    return any ? GroupBySubgroups(kernel, options).run() : kernel;
}

}  // namespace pumice::codegen
