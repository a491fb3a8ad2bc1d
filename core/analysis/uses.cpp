#include "core/analysis/uses.h"

namespace pumice::ir {

Uses::Uses(const Kernel& kernel) : first(kernel.values.size() + 1) {
    const auto each_use = [&](auto act) {
        for (const Block& block : kernel.blocks)
            for (const InstId i : block.insts)
                for (const Value v : kernel.operands(kernel[i])) act(v, i);
    };
    // Counting sort: the uses of value v end at first[v] once all of its predecessors and itself are counted.
    each_use([&](Value v, InstId) { ++first[v.id]; });
    uint32_t end = 0;
    for (uint32_t& f : first) f = end += f;
    users.resize(end);
    for (size_t b = kernel.blocks.size(); b-- > 0;) {
        const auto& insts = kernel.blocks[b].insts;
        for (size_t i = insts.size(); i-- > 0;)
            for (const Value v : kernel.operands(kernel[insts[i]])) users[--first[v.id]] = insts[i];
    }
}

}  // namespace pumice::ir
