#include "core/analysis/cross_item_dependence.h"

#include <algorithm>

#include "core/analysis/linear_index.h"

namespace pumice::ir {
namespace {

/// An access and its phase, the number of barriers before it in the text. An access in a loop that contains barriers has phase
/// `none`, as its iterations are in different phases.
struct PhasedAccess {
    InstId inst;
    uint32_t phase;
};

void walk(const Kernel& k, BlockId block, bool divided, uint32_t& barriers, std::vector<PhasedAccess>& out) {
    for (const InstId id : k[block].insts) {
        const Inst& i = k[id];
        if (is_barrier(i.op)) ++barriers;
        if (accesses_memory(i.op) && k[i.memory].kind == MemoryKind::array) out.push_back({id, divided ? none : barriers});
        const bool divides = divided || (is_loop(i.op) && contains_barrier(k, i));
        for (const BlockId inner : i.owned()) walk(k, inner, divides, barriers, out);
    }
}

/// True if each item has an element of its own, the same one at all times: the index grows by a nonzero constant from item to
/// item of a group of rank 1, and its base does not change while the group runs.
bool own_element(const Kernel& k, const AffineForm& f) {
    constexpr int64_t most = 1 << 16;  // times the items of a group, this is far below 2^32
    const auto step = f.step(32);
    if (k.rank != 1 || !step || *step == 0 || *step > most || *step < -most || f.composed || !f.exact) return false;
    if (!f.base) return true;
    const Op op = k[f.base].inst.id == none ? Op::get : k[k[f.base].inst].op;
    return is_given(op) && !has_trait(op, traits::by_item | traits::by_subgroup);
}

}  // namespace

std::vector<bool> cross_item_dependent(const Kernel& k) {
    std::vector<bool> out(k.memories.size());
    std::vector<PhasedAccess> accesses;
    uint32_t barriers = 0;
    walk(k, BlockId{0}, false, barriers, accesses);
    if (barriers == 0) return out;
    const Uniformity uniformity(k);
    const LinearIndex affine(k, uniformity);
    const auto index_of = [&](InstId i) {
        const auto indices = indices_of(k, k[i]);
        const bool one = indices.size() == 1 && size_of(k.type_of(indices[0])) >= 4;
        return one ? affine.of(indices[0]) : AffineForm{};
    };
    for (uint32_t m = 0; m < out.size(); ++m) {
        std::vector<PhasedAccess> of;
        for (const PhasedAccess& a : accesses)
            if (k[a.inst].memory.id == m) of.push_back(a);
        if (std::ranges::none_of(of, [&](const PhasedAccess& a) { return k[a.inst].op != Op::load; })) continue;
        const AffineForm first = index_of(of[0].inst);
        const bool one_phase =
            of[0].phase != none && std::ranges::all_of(of, [&](const PhasedAccess& a) { return a.phase == of[0].phase; });
        const bool own =
            own_element(k, first) && std::ranges::all_of(of, [&](const PhasedAccess& a) { return index_of(a.inst) == first; });
        out[m] = !one_phase && !own;
    }
    return out;
}

}  // namespace pumice::ir
