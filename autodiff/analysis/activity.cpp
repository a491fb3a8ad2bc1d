// Activity analysis: a value is active if it varies with a differentiated input and is useful for a differentiated output.
//
// Only active values get tangents or adjoints, and only active memory gets a shadow. Everything else is copied from the primal
// and costs nothing. `varied` is propagated forwards from the inputs, `useful` backwards from the outputs; both run to a fixed
// point, because loops carry values backwards and memory is shared by all loads and stores of a scalar of its elements.
//
//     %x = load arg2[%i] : f32     varied: arg2 is Duplicated
//     %n = cast %x : i32           not varied: integers carry no derivative
//     %b = cast %n : f32           not varied
//     %y = mul %x, %b : f32        varied and useful, so active
//     store arg1[%i], %y           arg1 is Duplicated, so %y is useful
//     store arg3[%i], %x           arg3 is Const, so this use makes nothing useful
//
// Cost: a few passes over the kernel, one bit a value.
// Limits: memory is one bit for each scalar of an element, not one an element or a point in time. A store of a constant does not
// make memory inactive again. Operands whose partial derivative is zero everywhere, and shifts (shift_invariance.h), are skipped.
// See Griewank and Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008; Bischof et al., ADIFOR, 1992.
#include "autodiff/analysis/activity.h"

#include <algorithm>

#include "autodiff/analysis/shift_invariance.h"
#include "autodiff/rules/derivative_rules.h"
#include "core/ir/named.h"
#include "core/lowering/group_by_memory.h"
#include "core/passes/inlining.h"
#include "core/support/error.h"

namespace pumice::derive {

using namespace ir;

namespace {

bool has_float(const Element& e) {
    return std::ranges::any_of(e.leaves, [](const Leaf& l) { return is_float(l.type); });
}

/// Sets a flag. True if the flag was not set before.
bool raise(std::vector<bool>& flags, uint32_t at) {
    if (flags[at]) return false;
    return flags[at] = true;
}

}  // namespace

Kernel with_rules(const Kernel& kernel, bool reverse) {
    Kernel k = kernel;
    for (Function& f : k.functions) (reverse ? f.forward : f.reverse) = none;
    // Sums and prefix sums over a group have rules of their own, in terms of each other, and other types have no derivative. The
    // rest (products, minima, maxima of floats) is differentiated as loops over local memory.
    const auto has_rule = [](const Inst& i) { return !is_float(i.type) || combines(Subgroup(i.immediate)) == Op::add; };
    return group_by_memory(inlining_without_rules(k), has_rule);
}

void check(const Kernel& k, const Signature& signature, bool reverse) {
    const auto refuse = [&](size_t p, const auto&... parts) { fail(named(k), " is differentiated with ", k.label(p), parts...); };
    if (signature.params.size() != k.params.size())
        fail(named(k), " is differentiated with ", signature.params.size(), " annotations; it takes ", k.params.size(),
             " arguments");
    if (signature.width < 1) fail(named(k), " is differentiated in ", signature.width, " directions; it needs at least one");
    for (size_t p = 0; p < k.params.size(); ++p) {
        const Activity activity = signature.params[p];
        if (activity == Activity::constant) continue;
        const Parameter& param = k.params[p];
        if (param.is_array) {
            if (activity == Activity::active) refuse(p, " Active: an array has a shadow, so it is Duplicated or Const");
            if (!has_float(k[param.memory].element))
                refuse(p, " Duplicated: its elements have no floating-point member, so it is Const");
        } else {
            if (!is_float(param.type))
                refuse(p, reverse ? " Active" : " Duplicated", ": it is of type ", name_of(param.type), ", so it is Const");
            if (reverse && activity != Activity::active) refuse(p, " Duplicated: in reverse mode a scalar is Active or Const");
            if (!reverse && activity == Activity::active) refuse(p, " Active: in forward mode a scalar is Duplicated or Const");
        }
    }
}

Analysis::Analysis(const Kernel& kernel, const Signature& signature, const Structure& structure)
    : k(kernel),
      where(structure),
      in_any_range(signature.any_range),
      shift_invariant(shift_invariant_values(k, where)),
      varied(k.values.size()),
      useful(k.values.size()),
      leaf_varied(k.memories.size()),
      leaf_useful(k.memories.size()),
      constant_memory(k.memories.size()),
      moving(k.insts.size()) {
    for (size_t m = 0; m < k.memories.size(); ++m) {
        const Memory& memory = k.memories[m];
        const bool array = memory.kind == MemoryKind::array;
        const bool given = array && signature.params[size_t(memory.argument)] != Activity::constant;
        constant_memory[m] = array && !given;
        for (const Leaf& leaf : memory.element.leaves) {
            leaf_varied[m].push_back(given && is_float(leaf.type));
            leaf_useful[m].push_back(given && is_float(leaf.type));
        }
    }
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (i.op == Op::argument && is_float(i.type) && signature.params[i.immediate] != Activity::constant)
            varied[k.result(i).id] = true;
    }
    while (forwards()) {}
    while (backwards()) {}
    for (const InstId id : k.body().insts) find_moving(id);
}

bool Analysis::active(MemoryId m) const {
    for (uint32_t leaf = 0; leaf < k[m].element.leaves.size(); ++leaf)
        if (active(m, leaf)) return true;
    return false;
}

bool Analysis::forwards() {
    bool news = false;
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        const auto v = k.operands(i);
        const auto vary = [&](Value result) { news |= !shift_invariant[result.id] && raise(varied, result.id); };
        if (is_scalar_op(i.op)) {
            for (size_t o = 0; o < v.size(); ++o)
                if (varied[v[o].id] && is_float(i.type) && !vanishes(i.op, int(o))) vary(k.result(i));
        } else if (i.op == Op::select) {
            if (varied[v[1].id] || varied[v[2].id]) vary(k.result(i));
        } else if (i.op == Op::cast || i.op == Op::uniform) {
            if (varied[v[0].id] && is_float(i.type)) vary(k.result(i));
        } else if (accesses_memory(i.op)) {
            const bool carries = is_float(k[i.memory].element.leaves[i.leaf].type) && !constant_memory[i.memory.id];
            if (i.op != Op::load && carries && varied[v.back().id]) news |= raise(leaf_varied[i.memory.id], i.leaf);
            if (i.op != Op::store && leaf_varied[i.memory.id][i.leaf]) vary(k.result(i));
        } else if (i.op == Op::subgroup || i.op == Op::group) {
            if (is_float(i.type) && !v.empty() && varied[v[0].id]) vary(k.result(i));
        } else if (i.op == Op::call && !k.functions[i.immediate].inactive) {
            for (const Value operand : v)
                for (const Value result : results_of(k, i))
                    if (varied[operand.id] && is_float(k.type_of(result))) vary(result);
        } else if (is_control(i.op)) {
            for (uint32_t c = 0; c < i.result_count; ++c) {
                bool any = false;
                where.each_source(id, c, [&](Value source, InstId) { any = any || varied[source.id]; });
                if (!any) continue;
                vary(k.result(i, int(c)));
                if (is_loop(i.op)) vary(k[i.blocks[0]].params[leading_params(i.op) + c]);
            }
        }
    }
    return news;
}

bool Analysis::backwards() {
    bool news = false;
    for (auto at = where.order().rbegin(); at != where.order().rend(); ++at) {
        const Inst& i = k[*at];
        const auto v = k.operands(i);
        const auto use = [&](Value operand) {
            if (is_float(k.type_of(operand)) && !shift_invariant[operand.id]) news |= raise(useful, operand.id);
        };
        if (accesses_memory(i.op)) {
            if (i.op != Op::load && leaf_useful[i.memory.id][i.leaf]) use(v.back());
            if (i.op != Op::store && useful[k.result(i).id] && !constant_memory[i.memory.id]) {
                if (is_float(i.type)) news |= raise(leaf_useful[i.memory.id], i.leaf);
            }
        } else if (is_control(i.op)) {
            for (uint32_t c = 0; c < i.result_count; ++c) {
                const Value param = is_loop(i.op) ? k[i.blocks[0]].params[leading_params(i.op) + c] : Value{};
                if (!useful[k.result(i, int(c)).id] && !(param && useful[param.id])) continue;
                use(k.result(i, int(c)));
                if (param) use(param);
                where.each_source(*at, c, [&](Value source, InstId) { use(source); });
            }
        } else if (i.op == Op::call) {
            if (k.functions[i.immediate].inactive) continue;
            for (const Value result : results_of(k, i))
                if (useful[result.id])
                    for (const Value operand : v) use(operand);
        } else if (i.result_count == 1 && useful[k.result(i).id]) {
            if (is_scalar_op(i.op)) {
                for (size_t o = 0; o < v.size(); ++o)
                    if (is_float(k.type_of(v[o])) && !vanishes(i.op, int(o))) use(v[o]);
            } else if (i.op == Op::select) {
                use(v[1]), use(v[2]);
            } else if (i.op == Op::cast || i.op == Op::uniform || i.op == Op::group || (i.op == Op::subgroup && !v.empty())) {
                use(v[0]);
            }
        }
    }
    return news;
}

bool Analysis::accesses_active(const Inst& i) const { return accesses_memory(i.op) && active(i.memory, i.leaf); }

bool Analysis::find_moving(InstId id) {
    const Inst& i = k[id];
    bool any = accesses_active(i) && (i.op != Op::load || active(k.result(i)));
    for (int r = 0; r < i.result_count; ++r) any = any || active(k.result(i, r));
    for (const BlockId b : i.owned())
        for (const InstId inner : k[b].insts) any = find_moving(inner) || any;
    moving[id.id] = any;
    return any;
}

}  // namespace pumice::derive
