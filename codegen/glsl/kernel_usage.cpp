// Memory accesses and device features of a lowered kernel: accesses to each memory, indices, reports and subgroup operations.
// Why: the emitter declares a memory by the accesses that there are, and the indices that are named. It has to know all that
// before it writes the first line.
//
//   %2 = load arg2[%0] : f32                arg2: loaded, touched[0]
//   %4 = atomic add arg1[%0], %2 : f32      arg1: loaded and stored, float_atomics[0]
//
// For each memory it notes which leaves are touched, and which atomics: they decide how the memory is declared (bits, words,
// nested arrays). Dead code is gone by now, but for the sizes of local memory, which the host computes.
// Cost: linear in the instructions and operands.
#include "codegen/glsl/kernel_usage.h"

#include <algorithm>

#include "codegen/glsl/codegen.h"
#include "core/analysis/cross_item_dependence.h"
#include "core/analysis/uniformity.h"

namespace pumice::codegen {
namespace {

using namespace ir;

void note_memory(Usage& u, const Kernel& k, const Inst& i) {
    Usage::OfMemory& m = u.memories[i.memory.id];
    m.touched[i.leaf] = true;
    m.loaded |= i.op != Op::store;
    m.stored |= i.op != Op::load;
    m.nested &= indices_of(k, i).size() == k[i.memory].extents.size();
    if (!is_atomic(i.op)) return;
    if (size_of(i.type) < 4) {
        m.small_atomics = true;
        m.nested = false;  // the functions of emit_subwords.cpp take one index
        return;
    }
    m.wide_atomics |= size_of(i.type) == 8;
    if (!is_float(i.type) && size_of(i.type) < 8) return;
    m.nested = false;  // the functions that stand in for float and 64-bit atomics take one index
    if (!is_float(i.type)) return;
    (is_atomic_sum(i) ? m.float_atomics : m.bit_atomics)[i.leaf] = true;
}

}  // namespace

uint32_t subgroup_needs(const Kernel& k, const Inst& i) {
    if (i.op != Op::subgroup) return asks_subgroup(i.op) ? Subgroups::basic : 0;
    const bool int64 = i.type == Scalar::i64 || i.type == Scalar::u64;
    const Subgroup what = Subgroup(i.immediate);
    if (combines(what)) return Subgroups::basic | Subgroups::arithmetic | (int64 ? Subgroups::int64 : 0u);
    uint64_t lane = 0;
    switch (what) {
        case Subgroup::any:
        case Subgroup::all: return Subgroups::basic | Subgroups::vote;
        case Subgroup::elect: return Subgroups::basic;
        case Subgroup::ballot:
        case Subgroup::broadcast_first: return Subgroups::basic | Subgroups::ballot;
        case Subgroup::broadcast:
            if (k.constant(k.operands(i)[1], lane)) return Subgroups::basic | Subgroups::ballot;
            break;
        default: break;
    }
    return Subgroups::basic | Subgroups::shuffle;
}

Usage::Usage(const Kernel& k) : uses(k), structure(k), memories(k.memories.size()), evaluated(k.values.size()) {
    for (size_t m = 0; m < memories.size(); ++m) {
        memories[m].touched.resize(k.memories[m].element.leaves.size());
        memories[m].float_atomics.resize(k.memories[m].element.leaves.size());
        memories[m].bit_atomics.resize(k.memories[m].element.leaves.size());
        memories[m].nested = k.memories[m].kind != MemoryKind::array && k.memories[m].extents.size() > 1;
    }
    const std::vector<bool> through = cross_item_dependent(k);
    for (size_t m = 0; m < memories.size(); ++m) memories[m].cross_item_dependent = through[m];
    for (auto id = structure.order().rbegin(); id != structure.order().rend(); ++id)
        if (!is_pure(k[*id].op) || evaluated[k[*id].first_result])
            for (const Value v : k.operands(k[*id])) evaluated[v.id] = true;
    for (const InstId id : structure.order()) {
        const Inst& i = k[id];
        if (accesses_memory(i.op)) note_memory(*this, k, i);
        if (i.op == Op::global_index) global_axis[i.immediate] = true;
        const bool report = is_report(i.op);
        reports |= report;
        subgroup_needs |= codegen::subgroup_needs(k, i);
        if (report)
            for (int axis = 0; axis < (k.rank ? k.rank : 3); ++axis) global_axis[axis] = true;
        if (i.op == Op::in_range) in_range_uses += uses.count(k.result(i));
    }
}

bool Usage::buffers_exchange() const {
    return std::ranges::any_of(memories, [](const OfMemory& m) { return m.cross_item_dependent; });
}

}  // namespace pumice::codegen
