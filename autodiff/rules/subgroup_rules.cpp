// Derivative rules of subgroup collectives, forward and reverse, in terms of other collectives.
//
// A collective is a linear map over the lanes, or selects a lane (min, max), or is a product. The adjoint of a linear map is its
// transpose: of a sum over all lanes a sum of the adjoints, of a broadcast a sum to the source lane, of a scan the scan from the
// other end, of a shuffle the shuffle back.
//
//     %r = subgroup reduce_add %x          dx = reduce_add dr
//     %r = subgroup inclusive_add %x       dx = the sum of dr over the lanes from this one on
//     %r = subgroup broadcast %x, %l       dx = lane == %l ? reduce_add dr : 0
//     %r = subgroup shuffle_xor %x, %m     dx = shuffle_xor dr, %m
//     %r = subgroup reduce_max %x          dx = lane == argmax ? reduce_add dr : 0      (the highest lane that attains it)
//
// Cost: one to three collectives; products, irregular shuffles, and scans in subgroups with inactive lanes go lane by lane: a
// loop with one reduction for each lane.
// Limits: inactive lanes must not be read, so the fast forms of scans and shuffles up and down need a full subgroup. Products do
// not divide by a factor, which might be zero.
// The same rules hold for MPI collectives: Utke et al., "Toward Adjoinable MPI", IPDPS 2009.
#include "autodiff/rules/subgroup_rules.h"

#include "core/ir/structured.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// The operands that a lane combines: those of all lanes, of the lanes up to it, or of the lanes before it.
enum class CombinedLanes { all, up_to, before };
CombinedLanes combined_lanes(Subgroup what) {
    if (what >= Subgroup::exclusive_add) return CombinedLanes::before;
    return what >= Subgroup::inclusive_add ? CombinedLanes::up_to : CombinedLanes::all;
}
/// The same combination over other lanes. In the enum the scans follow the reductions in the same order.
Subgroup with(Subgroup reduction, CombinedLanes lanes) {
    return Subgroup(int(reduction) + int(lanes) * (int(Subgroup::inclusive_add) - int(Subgroup::reduce_add)));
}
bool is(Subgroup what, Op op) { return combines(what) == op; }

}  // namespace

bool needs_operand(Subgroup what) { return combines(what) && !is(what, Op::add); }
bool needs_lane(Subgroup what) {
    return what == Subgroup::broadcast || (what >= Subgroup::shuffle && what <= Subgroup::shuffle_down);
}

SubgroupRule::SubgroupRule(Builder& builder, const Kernel& kernel, Subgroup operation, std::span<const Value> operands, bool one)
    : b(builder),
      k(kernel),
      what(operation),
      v(operands),
      one_lane(one),
      lane(b.index(Op::subgroup_lane)),
      size(b.index(Op::subgroup_size)) {}

Value SubgroupRule::ask(Subgroup which, Value x, Value y) {
    const Value both[] = {x, y};
    return b.subgroup(which, {both, y ? size_t(2) : size_t(1)});
}

/// A reduction, over the lanes that the operation combines.
Value SubgroupRule::combine(Subgroup reduction, Value x) { return ask(with(reduction, combined_lanes(what)), x); }

Value SubgroupRule::only(Value condition, Value x) { return b.select(condition, x, zero); }

/// True if this lane combines the operand of the other lane.
Value SubgroupRule::counts(Value other) {
    if (combined_lanes(what) == CombinedLanes::all) return b.constant_bool(true);
    return b.op(combined_lanes(what) == CombinedLanes::up_to ? Op::le : Op::lt, {other, lane});
}

/// The lane whose operand is this lane's result; negative if there is none.
Value SubgroupRule::source() {
    if (combines(what)) {  // the highest lane that attains the minimum or maximum so far
        const bool least = is(what, Op::min);
        const Value best = ask(least ? Subgroup::inclusive_min : Subgroup::inclusive_max, v[0]);
        const Value no_lane = b.constant_int(Scalar::i32, -1), attains = b.op(Op::eq, {v[0], best});
        return combine(Subgroup::reduce_max, b.select(attains, lane, no_lane));
    }
    if (what == Subgroup::shuffle) return v[1];
    const Value from = b.op(what == Subgroup::shuffle_xor  ? Op::xor_
                            : what == Subgroup::shuffle_up ? Op::sub
                                                           : Op::add,
                            {lane, v[1]});
    const Value exists = b.op(Op::and_, {b.op(Op::ge, {from, b.constant_int(Scalar::i32, 0)}), b.op(Op::lt, {from, size})});
    return b.select(exists, from, lane);
}

/// The product without the other lane's factor.
Value SubgroupRule::product_without(Value other) {
    const Value one = b.constant_float(k.type_of(v[0]), 1);
    return combine(Subgroup::reduce_mul, b.select(b.op(Op::eq, {lane, other}), one, v[0]));
}

/// Folds `next` over the lanes, starting with zero: next(lane, value so far).
template <class Next> Value SubgroupRule::over_lanes(Next next) {
    return emit_fold(b, k, b.constant_int(Scalar::i32, 0), size, zero, next);
}

// ---- forward ----

Value SubgroupRule::tangent(Value x) {
    zero = b.constant(k.type_of(x), 0);
    if (is(what, Op::mul)) return tangent_of_product(x);
    // Not by broadcast_first itself: LLVM 15 of lavapipe fails on two of them in one kernel on processors with AVX-512.
    if (what == Subgroup::broadcast_first) return ask(Subgroup::reduce_add, only(b.subgroup(Subgroup::elect, {}), x));
    if (!needs_operand(what)) return needs_lane(what) ? ask(what, x, v[1]) : ask(what, x);  // linear
    const Value from = source(), any = b.op(Op::ge, {from, b.constant_int(Scalar::i32, 0)});
    return only(any, ask(Subgroup::shuffle, x, b.select(any, from, lane)));
}

/// The product rule. Dividing the product by the factor would be cheaper, and wrong where factors are zero.
Value SubgroupRule::tangent_of_product(Value x) {
    return over_lanes([&](Value other, Value sum) {
        const Value theirs = ask(Subgroup::reduce_add, only(b.op(Op::eq, {lane, other}), x));
        const Value term = b.op(Op::mul, {product_without(other), theirs});
        return b.op(Op::add, {sum, only(counts(other), term)});
    });
}

// ---- reverse ----

Value SubgroupRule::adjoint(Value x) {
    zero = b.constant(k.type_of(x), 0);
    const auto all = [&] { return ask(Subgroup::reduce_add, x); };
    if (is(what, Op::add))
        return combined_lanes(what) == CombinedLanes::all ? all() : adjoint_of_whole(x, [&] { return sums_from_here(x); });
    if (combines(what)) {
        const bool one = combined_lanes(what) == CombinedLanes::all && !is(what, Op::mul);
        if (!one) return adjoint_by_lane(x);
        const Value sum = all();
        return only(b.op(Op::eq, {lane, source()}), sum);
    }
    if (what == Subgroup::broadcast_first || what == Subgroup::broadcast || (what == Subgroup::shuffle && one_lane)) {
        const Value sum = all();
        return only(what == Subgroup::broadcast_first ? b.subgroup(Subgroup::elect, {}) : b.op(Op::eq, {lane, v[1]}), sum);
    }
    if (!one_lane || what == Subgroup::shuffle) return adjoint_by_lane(x);
    if (what == Subgroup::shuffle_xor) return ask(what, x, v[1]);  // its own transpose: lanes read each other
    return adjoint_of_whole(x, [&] { return shuffled_back(x); });
}

/// For each lane in turn: the sum of the contributions of the other lanes.
Value SubgroupRule::adjoint_by_lane(Value x) {
    const bool product = is(what, Op::mul), sum = is(what, Op::add);
    const Value from = product || sum ? Value{} : source();
    return over_lanes([&](Value other, Value before) {
        const Value term = product ? b.op(Op::mul, {x, product_without(other)}) : x;
        const Value reads = product || sum ? counts(other) : b.op(Op::eq, {from, other});
        const Value sum_of_readers = ask(Subgroup::reduce_add, only(reads, term));
        return b.select(b.op(Op::eq, {lane, other}), sum_of_readers, before);
    });
}

/// Uses `fast` where all lanes of the subgroup are active, so that any lane may be read.
template <class Fast> Value SubgroupRule::adjoint_of_whole(Value x, Fast fast) {
    const Value here = ask(Subgroup::reduce_add, b.constant_int(Scalar::i32, 1)), whole = b.op(Op::eq, {here, size});
    return emit_if(b, k, whole, fast, [&] { return adjoint_by_lane(x); });
}

/// The scan from the other end. (The total minus the scan from this end would lose small terms.)
Value SubgroupRule::sums_from_here(Value x) {
    const Value last = b.op(Op::sub, {size, b.constant_int(Scalar::i32, 1)});
    return ask(Subgroup::shuffle_xor, ask(what, ask(Subgroup::shuffle_xor, x, last)), last);
}

/// Reverse of a shuffle up or down: the adjoint of the lane that read this lane, plus this lane's own adjoint if the shuffle left
/// it its own value.
Value SubgroupRule::shuffled_back(Value x) {
    const bool up = what == Subgroup::shuffle_up;
    const Value above = b.op(Op::lt, {v[1], b.op(Op::sub, {size, lane})}), below = b.op(Op::le, {v[1], lane});
    const Value theirs = ask(up ? Subgroup::shuffle_down : Subgroup::shuffle_up, x, v[1]);
    return b.op(Op::add, {only(up ? above : below, theirs), b.select(up ? below : above, zero, x)});
}

}  // namespace pumice::derive
