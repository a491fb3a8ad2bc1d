// Alignment peeling, legality: may the border between two groups move along axis 0?
//
// The rows of an array seldom start at a cache line. Peeling starts a row's first packet a few items early, under a mask, so
// that all later packets of the row are aligned and store whole lines:
//
//     without:  | packet 0 | packet 1 | packet 2 |      each store crosses from one line into the next
//     with:   |mm packet 0 | packet 1 | packet 2 |      m: masked lanes; packets 1 and 2 store whole lines
//
// The border of each group moves with its packets. An item may therefore not know its group:
//
//     movable:      add (mul group_index 0, group_size 0), local_index 0      this is the item's global index
//     not movable:  local_index 0 alone, group_count, barrier, in_range, subgroup operations, local memory
//
// Cost: one scan of the instructions. Limits: only the two sums of the form above are recognised; kernels with local memory,
// barriers or `whole_groups` are refused. mostly_stores() refuses kernels with loops.
// Textbook: loop peeling for alignment (Eichenberger, Wu, O'Brien, PLDI 2004).
#include "cpu/plan/alignment_peeling.h"
#include "core/analysis/uniformity.h"
#include "core/analysis/uses.h"

#include <algorithm>

namespace pumice::cpu {
namespace {

using namespace ir;

const Inst* source(const Kernel& k, Value v, Op op) {
    const InstId i = k[v].inst;
    return i.id != none && k[i].op == op ? &k[i] : nullptr;
}

/// The axis of a product group_index(axis) * group_size(axis), which is the first item of a group; -1 for other values.
int origin_axis(const Kernel& k, Value v) {
    const Inst* i = source(k, v, Op::mul);
    if (!i) return -1;
    const auto o = k.operands(*i);
    for (const size_t first : {0, 1}) {
        const Inst* index = source(k, o[first], Op::group_index);
        const Inst* size = source(k, o[1 - first], Op::group_size);
        if (index && size && index->immediate == size->immediate) return int(index->immediate);
    }
    return -1;
}

/// True if the instruction uses group and local indices only to form group_index * group_size + local_index, the global index.
bool uses_well(const Kernel& k, const Inst& i) {
    const auto o = k.operands(i);
    for (size_t n = 0; n < o.size(); ++n) {
        const Inst* local = source(k, o[n], Op::local_index);
        const int axis = local ? int(local->immediate) : origin_axis(k, o[n]);
        if (axis >= 0) {
            if (i.op != Op::add) return false;
            const Inst* beside = source(k, o[1 - n], Op::local_index);
            if (local ? origin_axis(k, o[1 - n]) != axis : !beside || int(beside->immediate) != axis) return false;
        } else if (source(k, o[n], Op::group_index) || source(k, o[n], Op::group_size)) {
            if (i.op != Op::mul || origin_axis(k, k.result(i)) < 0) return false;
        }
    }
    return true;
}

bool tells_group(const Kernel& k, const Inst& i) {
    return i.op == Op::group_count || i.op == Op::in_range || is_barrier(i.op) || i.op == Op::uniform || asks_subgroup(i.op) ||
           !uses_well(k, i);
}

}  // namespace

bool mostly_stores(const Kernel& k, int64_t most) {
    // Recording emits a load even for a subscript that is only assigned to; such a load has no uses and does not count.
    const Uses uses(k);
    int64_t loads = 0, stores = 0;
    for (const Inst& i : k.insts) {
        if (i.op == Op::for_ || i.op == Op::while_) return false;
        if (i.memory.id == none || i.op == Op::extent || k[i.memory].kind != MemoryKind::array) continue;
        stores += i.op == Op::store;
        loads += i.op != Op::store && uses.any(k.result(i));
    }
    return loads <= most * stores;
}

bool movable(const Kernel& k) {
    const auto local = [](const ir::Memory& m) { return m.kind == MemoryKind::local; };
    return !k.whole_groups && std::none_of(k.insts.begin(), k.insts.end(), [&](const Inst& i) { return tells_group(k, i); }) &&
           std::none_of(k.memories.begin(), k.memories.end(), local);
}

}  // namespace pumice::cpu
