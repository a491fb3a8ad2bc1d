#include "core/analysis/backward_slice.h"

namespace pumice::ir {

BackwardSlice::BackwardSlice(const Kernel& kernel, const Structure& structure)
    : k(kernel),
      where(structure),
      writes(k.memories.size()),
      insts(k.insts.size()),
      values(k.values.size()),
      memories(k.memories.size()) {
    for (const auto* order : {&where.order(), &where.function_order()})
        for (const InstId i : *order) {
            if (writes_memory(k[i].op)) writes[k[i].memory.id].push_back(i);
            if (k[i].op == Op::set) sets.push_back(i);
        }
}

void BackwardSlice::add(Value v) {
    if (values[v.id]) return;
    values[v.id] = true;
    open.push_back(v);
}

void BackwardSlice::add(InstId id) {
    if (insts[id.id] || never_runs(id)) return;
    insts[id.id] = true;
    const Inst& i = k[id];
    if (const InstId around = where.around(id); around.id != none) add(around);
    // The operands of a terminator, and the initial values of a loop, are needed column by column.
    const bool all = !is_control(i.op) && !is_terminator(i.op) && needs_operands(i);
    for (const Value v : k.operands(i).first(all ? i.operand_count : leading_operands(i.op))) add(v);
    if (i.op == Op::while_) add(k.operands(last_inst(k, i.blocks[0]))[0]);
    for (const InstId jump : where.jumps_to(id)) add(jump);
    if ((reads_memory(i.op) || i.op == Op::group) && follows(i)) add_writes(i.memory);
}

void BackwardSlice::add_writes(MemoryId m) {
    if (memories[m.id]) return;
    memories[m.id] = true;
    for (const InstId i : writes[m.id]) add(i);
}

void BackwardSlice::close() {
    while (!open.empty()) {
        const Value v = open.back();
        open.pop_back();
        follow(v);
    }
}

void BackwardSlice::follow(Value v) {
    const ValueInfo& info = k[v];
    if (info.inst.id == none) {
        const InstId loop = where.owner_of(info.block);
        if (loop.id == none) return;  // a function's parameter
        add(loop);
        const uint32_t leading = leading_params(k[loop].op);
        if (info.index >= leading) add_column(loop, info.index - leading);
        return;
    }
    add(info.inst);
    const Op op = k[info.inst].op;
    if (is_control(op)) add_column(info.inst, info.index);
    if (op == Op::var)
        for (const InstId i : sets)
            if (k.operands(k[i])[0] == v) add(i);
}

void BackwardSlice::add_column(InstId construct, uint32_t c) {
    where.each_source(construct, c, [&](Value v, InstId by) {
        if (!never_runs(by)) add(v);
    });
}

}  // namespace pumice::ir
