#include "autodiff/subgroup.h"

namespace pumice::derive {

using namespace ir;

namespace {

Value ask(Builder& b, Subgroup what, Value x) { return b.subgroup(what, {&x, 1}); }
Value ask(Builder& b, Subgroup what, Value x, Value y) {
    const Value both[] = {x, y};
    return b.subgroup(what, both);
}

/// The lane whose operand is the minimum or maximum.
Value lane_of_extreme(Builder& b, Value x, Value result) {
    const Value mine = b.index(Op::subgroup_lane, 0);
    return ask(b, Subgroup::reduce_max, b.select(b.op(Op::eq, {x, result}), mine, b.constant_int(Scalar::i32, -1)));
}

}  // namespace

bool has_rule(Subgroup what) {
    switch (what) {
        case Subgroup::reduce_add:
        case Subgroup::reduce_min:
        case Subgroup::reduce_max:
        case Subgroup::inclusive_add:
        case Subgroup::exclusive_add:
        case Subgroup::broadcast:
        case Subgroup::broadcast_first:
        case Subgroup::shuffle_xor: return true;
        default: return false;
    }
}

bool needs_values(Subgroup what) { return what == Subgroup::reduce_min || what == Subgroup::reduce_max; }
bool needs_lane(Subgroup what) { return what == Subgroup::broadcast || what == Subgroup::shuffle_xor; }

Value subgroup_tangent(Builder& b, Subgroup what, std::span<const Value> v, Value result, Value tangent) {
    if (needs_values(what)) return ask(b, Subgroup::shuffle, tangent, lane_of_extreme(b, v[0], result));
    return needs_lane(what) ? ask(b, what, tangent, v[1]) : ask(b, what, tangent);  // the others are linear
}

Value subgroup_adjoint(Builder& b, Subgroup what, std::span<const Value> v, Value result, Value adjoint, Value zero) {
    const Value lane = b.index(Op::subgroup_lane, 0);
    const auto only = [&](Value condition, Value x) { return b.select(condition, x, zero); };
    switch (what) {
        case Subgroup::shuffle_xor: return ask(b, what, adjoint, v[1]);  // lanes read each other
        // Who reads lane l in a scan: the lanes from l on, or past it.
        case Subgroup::inclusive_add: return b.op(Op::sub, {ask(b, Subgroup::reduce_add, adjoint), ask(b, Subgroup::exclusive_add, adjoint)});
        case Subgroup::exclusive_add: return b.op(Op::sub, {ask(b, Subgroup::reduce_add, adjoint), ask(b, Subgroup::inclusive_add, adjoint)});
        default: break;
    }
    const Value sum = ask(b, Subgroup::reduce_add, adjoint);
    switch (what) {
        case Subgroup::broadcast: return only(b.op(Op::eq, {lane, v[1]}), sum);
        case Subgroup::broadcast_first: return only(b.subgroup(Subgroup::elect, {}), sum);
        case Subgroup::reduce_min:
        case Subgroup::reduce_max: return only(b.op(Op::eq, {lane, lane_of_extreme(b, v[0], result)}), sum);
        default: return sum;  // a sum
    }
}

}  // namespace pumice::derive
