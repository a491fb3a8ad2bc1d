#include "core/lowering/private_accumulators.h"

#include <algorithm>

#include "core/analysis/loop_info.h"

namespace pumice::ir {

namespace {

bool is_constant(const Kernel& k, Value v, uint64_t wanted) {
    uint64_t bits = 0;
    return k.constant(v, bits) && bits == wanted;
}

bool stores_zero(const Kernel& k, const Inst& i) { return i.op == Op::store && is_constant(k, k.operands(i).back(), 0); }

/// True if the instruction, or one inside it, accesses the memory, jumps or returns.
bool touches(const Kernel& k, InstId id, MemoryId m) {
    const auto touched = [&](InstId i) { return k[i].memory == m || is_jump(k[i].op); };
    return touched(id) || any_inside(k, k[id], touched);
}

}  // namespace

std::optional<PrivateAccumulator> private_accumulator(const Kernel& k, const Structure& where, InstId loop, InstId atomic,
                                                      int axis) {
    const Inst& adds = k[atomic];
    const MemoryId m = adds.memory;
    if (k[m].element.leaves.size() != 1) return {};
    if (!is_constant(k, k.operands(k[loop])[0], 0) || !is_constant(k, k.operands(k[loop])[2], 1)) return {};
    PrivateAccumulator own;
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (i.memory != m || id == atomic || stores_zero(k, i)) continue;
        if (i.op != Op::load || own.load.id != none) return {};
        own.load = id;
    }
    if (own.load.id == none || where.block_of(own.load) != where.block_of(loop)) return {};
    const auto added = indices_of(k, adds), loaded = indices_of(k, k[own.load]);
    if (added.size() != loaded.size()) return {};
    for (size_t d = 0; d < added.size(); ++d) {
        if (added[d] != k[k[loop].blocks[0]].params[0]) {
            if (loaded[d] != added[d]) return {};
            continue;
        }
        const InstId at = k[loaded[d]].inst;
        if (at.id == none || k[at].op != Op::local_index || int(k[at].immediate) != axis) return {};
    }
    // Scan from the loop to the load, then on to the next barrier.
    const auto& insts = k[where.block_of(loop)].insts;
    auto here = std::ranges::find(insts, loop) + 1;
    bool barrier = false;
    for (; here != insts.end() && *here != own.load; ++here) {
        barrier = barrier || is_barrier(k[*here].op);
        if (touches(k, *here, m)) return {};
    }
    if (here == insts.end() || !barrier) return {};
    for (++here; here != insts.end() && !contains_barrier(k, k[*here]); ++here) {
        const Inst& i = k[*here];
        if (i.op == Op::store && i.memory == m && std::ranges::equal(indices_of(k, i), loaded))
            own.clears.push_back(*here);
        else if (own.clears.empty() && touches(k, *here, m))
            break;
    }
    const bool again = where.loop_around(loop).id != none;
    return again && own.clears.empty() ? std::nullopt : std::optional(own);
}

bool has_rows(const Kernel& k, MemoryId m) {
    if (k[m].extents.size() != 2) return false;
    return std::ranges::all_of(
        k.insts, [&](const Inst& i) { return i.memory != m || (i.op != Op::extent && indices_of(k, i).size() == 2); });
}

}  // namespace pumice::ir
