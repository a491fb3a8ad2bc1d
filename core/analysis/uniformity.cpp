#include "core/analysis/uniformity.h"

#include <algorithm>

namespace pumice::ir {

/// Optimistic fixpoint: all scopes start as launch and are raised where the code contradicts that, until nothing changes. So a
/// carried value is uniform if its initial value is, and if each next value is under the assumption that the carried value is.
Uniformity::Uniformity(const Kernel& kernel, std::array<Scope, 3> known, PacketAlignment packets)
    : k(kernel),
      where(kernel),
      local(known),
      values(kernel.values.size()),
      controls(kernel.insts.size()),
      partings(kernel.insts.size()),
      jumps(kernel.insts.size()),
      effects(kernel),
      steps(kernel, packets) {
    do {
        changed = false;
        walk(BlockId{0}, {});
    } while (changed);
}

/// Walks a block that is entered with this convergence. Returns the convergence at its end.
Uniformity::Flow Uniformity::walk(BlockId block, Flow flow) {
    for (const InstId i : k[block].insts) {
        raise(controls[i.id], flow.all);
        flow = visit(i, flow);
    }
    return flow;
}

bool Uniformity::returns_early() const {
    const auto early = [&](InstId i) { return k[i].op == Op::return_ && where.around(i).id != none; };
    return std::ranges::any_of(where.order(), early);
}

void Uniformity::raise(Scope& s, Scope least) {
    if (s >= least) return;
    s = least;
    changed = true;
}

Scope Uniformity::pure(const Inst& i) const {
    // The constructor's argument says over which items local indices are uniform.
    if (i.op == Op::local_index) return local[i.immediate];
    if (i.op == Op::global_index) return common_scope(Scope::group, local[i.immediate]);
    if (i.op == Op::uniform) return std::min(values[k.operands(i)[0].id], Scope::group);
    Scope s = has_trait(i.op, traits::by_item)       ? Scope::item
              : has_trait(i.op, traits::by_subgroup) ? Scope::subgroup
              : has_trait(i.op, traits::by_group)    ? Scope::group
                                                     : Scope::launch;
    for (const Value v : k.operands(i)) s = common_scope(s, values[v.id]);
    if (s == Scope::item && steps.effect_of(i) == PacketSteps::Effect::uniform) return Scope::subgroup;
    return s;
}

/// The scope of a subgroup operation. It is subgroup at best, even for uniform operands, since the active items differ from
/// subgroup to subgroup.
Scope Uniformity::subgroup(Subgroup what) {
    switch (what) {
        case Subgroup::shuffle:
        case Subgroup::shuffle_xor:
        case Subgroup::shuffle_up:
        case Subgroup::shuffle_down:
        case Subgroup::elect: return Scope::item;
        default: return is_scan(what) ? Scope::item : Scope::subgroup;
    }
}

/// Raises the scopes of an instruction. Returns the convergence after it.
Uniformity::Flow Uniformity::visit(InstId id, Flow flow) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    switch (i.op) {
        case Op::load: {
            Scope s = Scope::launch;
            for (const Value index : indices_of(k, i)) s = common_scope(s, values[index.id]);
            // Groups run at different times, and each group has its own local memory. Each item has its own private memory.
            if (effects.writes(i.memory) || k[i.memory].kind == MemoryKind::local) s = common_scope(s, Scope::group);
            if (k[i.memory].kind == MemoryKind::private_) s = Scope::item;
            raise(values[k.result(i).id], s);
            return flow;
        }
        case Op::subgroup: raise(values[k.result(i).id], subgroup(Subgroup(i.immediate))); return flow;
        case Op::group: raise(values[k.result(i).id], is_scan(Subgroup(i.immediate)) ? Scope::item : Scope::group); return flow;
        case Op::var: raise(values[k.result(i).id], values[v[0].id]); return flow;
        case Op::get: raise(values[k.result(i).id], values[v[0].id]); return flow;
        case Op::set: raise(values[v[0].id], common_scope(values[v[1].id], flow.all)); return flow;
        case Op::if_: return if_(id, flow);
        case Op::for_:
        case Op::while_: return loop(id, flow);
        case Op::break_:
        case Op::continue_: raise(jumps[id.id], flow.iteration); return flow;
        default:
            if (i.result_count) raise(values[k.result(i).id], pure(i));
            return flow;
    }
}

Uniformity::Flow Uniformity::if_(InstId id, Flow flow) {
    const Inst& i = k[id];
    const Scope condition = values[k.operands(i)[0].id];
    raise(partings[id.id], condition);
    const Flow entered{common_scope(flow.all, condition), common_scope(flow.iteration, condition)};
    Flow after = flow;
    for (const BlockId arm : i.blocks) {
        const Flow left = walk(arm, entered);
        // Items that left the arm by a jump are missing after the if.
        const bool falls = last_inst(k, arm).op == Op::yield;
        if (!falls || left.all > entered.all) after.all = common_scope(after.all, left.all);
        if (!falls || left.iteration > entered.iteration) after.iteration = common_scope(after.iteration, left.iteration);
    }
    results(id);
    return after;
}

Uniformity::Flow Uniformity::loop(InstId id, Flow flow) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    Scope parts = Scope::launch;
    for (uint32_t o = 0; o < leading_operands(i.op); ++o) parts = common_scope(parts, values[v[o].id]);
    if (i.op == Op::while_) parts = common_scope(parts, values[k.operands(last_inst(k, i.blocks[0]))[0].id]);
    for (const InstId jump : where.jumps_to(id))
        if (k[jump].op == Op::break_) parts = common_scope(parts, jumps[jump.id]);
    raise(partings[id.id], parts);
    results(id);
    Flow body{common_scope(flow.all, parts), Scope::launch};
    for (const BlockId b : i.owned()) body = walk(b, body);
    if (any_inside(k, i, [&](InstId inner) { return k[inner].op == Op::return_; }))
        flow = {common_scope(flow.all, body.all), common_scope(flow.iteration, body.all)};
    return flow;
}

/// Raises the scopes of a construct's results and of a loop's parameters.
void Uniformity::results(InstId id) {
    const Inst& i = k[id];
    if (i.op == Op::for_) {
        const auto v = k.operands(i);
        raise(values[k[i.blocks[0]].params[0].id], common_scope(values[v[0].id], values[v[2].id]));
    }
    for (uint32_t c = 0; c < i.result_count; ++c) {
        Scope all = Scope::launch, carried = Scope::launch;
        int ways = 0;
        where.each_source(id, c, [&](Value v, InstId by) {
            all = common_scope(all, values[v.id]);
            const bool leaves = k[by].op == Op::break_ || k[by].op == Op::test;
            if (!leaves) carried = common_scope(carried, values[v.id]);
            ++ways;
        });
        if (is_loop(i.op)) {
            // A continue carries another value than the yield at the end of the body.
            for (const InstId jump : where.jumps_to(id))
                if (k[jump].op == Op::continue_) carried = common_scope(carried, jumps[jump.id]);
            const Value param = k[i.blocks[0]].params[leading_params(i.op) + c];
            raise(values[param.id], carried);
            raise(values[k.result(i, int(c)).id], common_scope(common_scope(all, values[param.id]), partings[id.id]));
        } else {
            // If only one arm yields, all items after the if have its value.
            raise(values[k.result(i, int(c)).id], ways > 1 ? common_scope(all, partings[id.id]) : all);
        }
    }
}

}  // namespace pumice::ir
