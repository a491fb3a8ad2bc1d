// Use counts and liveness of a lowered kernel: the mark phase of dead-code elimination, which also collects what the GLSL has to
// declare.
//
// Why: the emitter writes a value with one use into its user's expression, leaves dead code out, and declares a memory by the
// accesses that there are. It has to know all that before it writes the first line.
//
//   %2 = load arg2[%0] : f32                live; uses[%2] = 1; arg2: loaded, touched[0]
//   %3 = exp %2 : f32                       dead: nothing live uses it, so it does not count as a use of %2
//   %4 = atomic add arg1[%0], %2 : f32      a root; arg1: loaded and stored, float_atomics[0]
//
// Roots are the instructions with an effect; a worklist marks the instructions whose results they need, and counts uses as it
// goes. Loads, samples, uniform and subgroup operations are no roots: they are emitted only if something live uses them. For each
// memory it notes which leaves are touched, and which atomics: they decide how the memory is declared (bits, words, nested
// arrays).
// Cost: linear in the instructions and operands. Limits: uses are counted without regard to branches; dead block parameters stay.
// Textbook name: mark phase of dead-code elimination (Cooper and Torczon, "Engineering a Compiler", section 10.2).
#include "codegen/glsl/kernel_usage.h"

#include <algorithm>

#include "codegen/glsl/codegen.h"
#include "core/analysis/cross_item_dependence.h"
#include "core/analysis/uniformity.h"

namespace pumice::codegen {
namespace {

using namespace ir;

bool has_effect(const Inst& i) {
    return !is_pure(i.op) && i.op != Op::load && i.op != Op::sample && i.op != Op::uniform && i.op != Op::subgroup;
}

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

Usage::Usage(const Kernel& k)
    : uses(k.values.size()), live(k.insts.size()), block(k.insts.size()), user(k.values.size()), memories(k.memories.size()) {
    for (size_t m = 0; m < memories.size(); ++m) {
        memories[m].touched.resize(k.memories[m].element.leaves.size());
        memories[m].float_atomics.resize(k.memories[m].element.leaves.size());
        memories[m].bit_atomics.resize(k.memories[m].element.leaves.size());
        memories[m].nested = k.memories[m].kind != MemoryKind::array && k.memories[m].extents.size() > 1;
    }
    const std::vector<bool> through = cross_item_dependent(k);
    for (size_t m = 0; m < memories.size(); ++m) memories[m].cross_item_dependent = through[m];
    std::vector<InstId> work;
    std::vector<BlockId> blocks{BlockId{0}};
    while (!blocks.empty()) {
        const BlockId b = blocks.back();
        blocks.pop_back();
        for (const InstId i : k[b].insts) {
            block[i.id] = b;
            if (has_effect(k[i])) live[i.id] = true, work.push_back(i);
            for (const BlockId inner : k[i].owned()) blocks.push_back(inner);
        }
    }
    while (!work.empty()) {
        const InstId id = work.back();
        work.pop_back();
        const Inst& i = k[id];
        for (const Value v : k.operands(i)) {
            ++uses[v.id];
            user[v.id] = block[id.id];
            const InstId d = k[v].inst;
            if (d.id != none && !live[d.id]) live[d.id] = true, work.push_back(d);
        }
        if (accesses_memory(i.op)) note_memory(*this, k, i);
        if (i.op == Op::global_index) global_axis[i.immediate] = true;
        const bool report = is_report(i.op);
        reports |= report;
        subgroup_needs |= codegen::subgroup_needs(k, i);
        if (i.op == Op::in_range || report)
            for (int axis = 0; axis < (k.rank ? k.rank : 3); ++axis) global_axis[axis] = true;
    }
    for (const Inst& i : k.insts)
        if (i.op == Op::in_range && i.first_result != none) in_range_uses += uses[i.first_result];
}

bool Usage::buffers_exchange() const {
    return std::ranges::any_of(memories, [](const OfMemory& m) { return m.cross_item_dependent; });
}

}  // namespace pumice::codegen
