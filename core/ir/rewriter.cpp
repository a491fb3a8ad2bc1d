#include "core/ir/rewriter.h"

#include "core/support/error.h"

namespace pumice::ir {

Value emit_like(Builder& b, const Inst& i, std::span<const Value> operands) {
    if (is_scalar_op(i.op)) return b.op(i.op, operands);
    switch (i.op) {
        case Op::constant: return b.constant(i.type, i.immediate);
        case Op::select: return b.select(operands[0], operands[1], operands[2]);
        case Op::cast: return b.cast(i.type, operands[0]);
        case Op::bitcast: return b.bitcast(i.type, operands[0]);
        case Op::argument: return b.argument(int(i.immediate), i.type);
        case Op::in_range: return b.in_range();
        case Op::extent: return b.extent(i.memory, int(i.immediate));
        default: return b.index(i.op, int(i.immediate));  // the other pure instructions: indices and sizes along an axis
    }
}

Rewriter::Rewriter(const Kernel& kernel) : from(kernel), b(to), values(kernel.values.size()) {}

Kernel Rewriter::run() {
    to.name = from.name;
    to.files = from.files;
    to.strings = from.strings;
    to.loc = from.loc;
    to.whole_groups = from.whole_groups;
    to.math = from.math;
    to.rank = from.rank;
    to.folded = from.folded;
    to.group = from.group;
    to.range = from.range;
    to.params = from.params;
    memories.resize(from.memories.size());
    for (uint32_t m = 0; m < from.memories.size(); ++m) {
        if (!keeps({m})) continue;
        memories[m] = {uint32_t(to.memories.size())};
        to.memories.push_back(from.memories[m]);
        const Memory& kept = from.memories[m];
        if (kept.kind == MemoryKind::array) to.params[kept.argument].memory = memories[m];
    }
    const BlockId body_block = b.new_block();
    copy_functions();
    b.enter(body_block);
    // Sizes of memories come first, so that they stay wherever a pass moves or drops other code.
    for (Memory& m : to.memories)
        if (m.size) m.size = size(m.size);
    body();
    b.leave();
    return std::move(to);
}

void Rewriter::copy_functions() {
    functions.resize(from.functions.size(), none);
    uint32_t kept = 0;
    for (uint32_t f = 0; f < functions.size(); ++f)
        if (keeps_function(from.functions[f])) functions[f] = kept++;
    const auto now = [&](uint32_t rule) { return rule == none ? none : functions[rule]; };
    for (const Function& old : from.functions) {
        if (!keeps_function(old)) continue;
        Function f = old;
        f.body = b.new_block(param_types(old.body));
        f.reverse = now(old.reverse);
        f.forward = now(old.forward);
        map_params(old.body, to[f.body].params);
        b.enter_function(f.body);
        in_function = true;
        function(old);
        in_function = false;
        b.leave_function();
        to.functions.push_back(std::move(f));
    }
}

Value Rewriter::of(Value old) const {
    const Value now = values[old.id];
    if (!now) library_bug(text("a pass uses value ", old.id, " of kernel \"", from.name, "\" before it has one\n", print(from)));
    return now;
}

std::vector<Value> Rewriter::of(std::span<const Value> old) const {
    std::vector<Value> now;
    now.reserve(old.size());
    for (const Value v : old) now.push_back(of(v));
    return now;
}

void Rewriter::map_results(const Inst& old, InstId now) {
    // If no arm yields any more, the if has no results. The code after it is unreachable, so any value will do.
    const bool reached = to[now].result_count >= old.result_count;  // a pass may add results
    for (int r = 0; r < old.result_count; ++r)
        map(from.result(old, r), reached ? to.result(to[now], r) : b.constant(from.type_of(from.result(old, r)), 0));
}

Value Rewriter::size(Value old) {
    const Inst& i = from[from[old].inst];
    for (const Value v : from.operands(i)) size(v);
    b.loc = i.loc;
    map(old, pure(i));
    return of(old);
}

Value Rewriter::pure(const Inst& i) {
    if (i.op == Op::extent) return b.extent(memories[i.memory.id], int(i.immediate));
    return emit_like(b, i, of(from.operands(i)));
}

void Rewriter::copy(InstId id) {
    const Inst& i = from[id];
    b.loc = i.loc;
    if (is_pure(i.op)) return map(from.result(i), pure(i));
    if (is_control(i.op)) return void(control(i, of(from.operands(i))));
    Inst now;
    now.op = i.op;
    now.type = i.type;
    now.leaf = i.leaf;
    now.immediate = i.immediate;
    if (i.memory.id != none) now.memory = memories[i.memory.id];
    if (i.op == Op::call) now.immediate = functions[i.immediate];
    std::vector<Scalar> types;
    for (int r = 0; r < i.result_count; ++r) types.push_back(from.type_of(from.result(i, r)));
    map_results(i, b.append(now, of(from.operands(i)), types));
}

InstId Rewriter::control(const Inst& i, std::span<const Value> operands) {
    const InstId made = control(i, operands, param_types(i.blocks[0]), [&](int which, std::span<const Value> now) {
        map_params(i.blocks[which], now);
        block(i, which);
    });
    map_results(i, made);
    return made;
}

std::vector<Scalar> Rewriter::param_types(BlockId block) const {
    std::vector<Scalar> types;
    for (const Value p : from[block].params) types.push_back(from.type_of(p));
    return types;
}

void Rewriter::map_params(BlockId block, std::span<const Value> now) {
    for (size_t p = 0; p < now.size(); ++p) map(from[block].params[p], now[p]);
}

InstId Rewriter::control(const Inst& i, std::span<const Value> operands, std::span<const Scalar> params, const Fill& fill) {
    BlockId made[2];
    const int count = i.op == Op::for_ ? 1 : 2;
    for (int which = 0; which < count; ++which) {
        made[which] = b.new_block(which == 0 ? params : std::span<const Scalar>());
        b.enter(made[which]);
        const std::vector<Value> now = to[made[which]].params;
        fill(which, now);
        // The body of a while is emitted inside the test block's scope, whose values it sees.
        if (i.op != Op::while_) b.leave();
    }
    if (i.op == Op::while_) b.leave(), b.leave();
    b.loc = i.loc;
    const InstId now = count == 1 ? b.control(i.op, operands, {made[0]}) : b.control(i.op, operands, {made[0], made[1]});
    to.insts[now.id].immediate = i.immediate;
    return now;
}

void Rewriter::insts(BlockId block) {
    for (const InstId i : from[block].insts) {
        if (b.terminated()) return;
        inst(i);
    }
}

void Rewriter::splice(const Inst& construct, BlockId arm) {
    for (const InstId i : from[arm].insts) {
        if (b.terminated()) return;
        if (from[i].op != Op::yield) {
            inst(i);
            continue;
        }
        const auto yielded = of(from.operands(from[i]));
        for (int r = 0; r < construct.result_count; ++r) map(from.result(construct, r), yielded[r]);
    }
}

Value Rewriter::members_along(int axis) {
    const Value size = b.index(Op::group_size, axis);
    if (from.whole_groups) return size;
    const Value first = b.op(Op::mul, {b.index(Op::group_index, axis), size});
    return b.op(Op::min, {size, b.op(Op::sub, {b.index(Op::global_size, axis), first})});
}

}  // namespace pumice::ir
