#include "core/ir/structure.h"

namespace pumice::ir {

Structure::Structure(const Kernel& kernel)
    : k(kernel), blocks(kernel.insts.size()), owners(kernel.blocks.size()), jumps(kernel.insts.size()) {
    walk(BlockId{0}, {}, in_order);
    for (const Function& f : kernel.functions) walk(f.body, {}, in_functions);
}

void Structure::walk(BlockId block, InstId loop, std::vector<InstId>& order) {
    for (const InstId i : k[block].insts) {
        const Inst& inst = k[i];
        blocks[i.id] = block;
        order.push_back(i);
        if (inst.op == Op::break_ || inst.op == Op::continue_) jumps[loop.id].push_back(i);
        for (const BlockId b : inst.owned()) {
            owners[b.id] = i;
            walk(b, is_loop(inst.op) ? i : loop, order);
        }
    }
}

InstId Structure::loop_around(BlockId b) const {
    InstId i = owner_of(b);
    while (i.id != none && !is_loop(k[i].op)) i = around(i);
    return i;
}

bool Structure::defined_in(InstId construct, Value v) const {
    InstId owner = owner_of(block_of(v));
    while (owner.id != none && owner != construct) owner = around(owner);
    return owner == construct;
}

InstId Structure::ancestor_in(BlockId block, InstId i) const {
    while (i.id != none && block_of(i) != block) i = block_of(i).id == none ? InstId{} : around(i);
    return i;
}

bool never_falls_through(const Kernel& k, const Inst& i) {
    if (is_terminator(i.op)) return true;
    if (i.op != Op::if_) return false;
    for (const BlockId arm : i.blocks)
        if (last_inst(k, arm).op == Op::yield) return false;
    return true;
}

}  // namespace pumice::ir
