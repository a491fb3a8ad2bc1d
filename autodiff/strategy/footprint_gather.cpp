// Footprint gather: the adjoint of a resampled picture is another resampling, not a scatter.
//
// Item x reads the texels around a position that is affine in x. The plain adjoint adds to each of them, by atomics or to private
// copies. Turned around, the item of texel t loops over the few items whose footprint may touch it, computes their indices and
// weights again, and adds where an index is t. The inverse of the position gives the loop's bounds, with a margin for rounding;
// since the indices decide, the bounds need only be wide enough.
//
//     primal    item x:   p = s * x + o;  i = floor(p);  f = p - i;  y[x] = (1 - f) * a[i] + f * a[i + 1]
//     scatter   item x:   atomic da[i] += dy[x] * (1 - f);  atomic da[i + 1] += dy[x] * f
//     gather    item t:   for x from (t - 1 - o) / s to (t + 1 - o) / s:
//                             i, f as above;  w = (i == t ? 1 - f : 0) + (i + 1 == t ? f : 0);  sum += dy[x] * w
//                         da[t] += sum
//
// This file finds the loads and groups them: the taps of one sample share their affine values, so one loop serves all of them.
// item_footprint.cpp knows the items of a texel. emit_footprint_gather.cpp emits the kernels, launch_footprint_gather.cpp gives
// the bounds and decides at the launch.
// A clamped edge is the texel's whole part of the range; of a border, only what lies inside counts. Periods and mirror images are
// further loops.
// Cost: each item's indices and weights once for each element that it may touch. The kernels are strict, so that all elements
// find the same indices of an item. Sums have a fixed order: results are deterministic.
// Limits: images only, since a launch is captured for shipping with its scalars, and the bounds are no function of sizes alone;
// images are not shipped. Each dimension of the index is the same for all items, or has an axis of its own and one affine value,
// so a rotation is scattered. Kernels without loops as for scatter_to_gather.cpp, in one piece, for which knows_indices_only()
// holds.
// See Li, Gharbi, Adams, Durand and Ragan-Kelley, "Differentiable Programming for Image Processing and Deep Learning in Halide"
// (scatter-to-gather conversion), SIGGRAPH 2018.
#include "autodiff/strategy/footprint_gather.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

#include "autodiff/analysis/accumulation.h"

namespace pumice::derive {

using namespace ir;

namespace {

bool same_dimensions(const std::vector<FootprintGather::Dimension>& a, const std::vector<FootprintGather::Dimension>& b) {
    return std::ranges::equal(a, b,
                              [](const auto& x, const auto& y) { return x.fixed == y.fixed && x.base.value == y.base.value; });
}

}  // namespace

FootprintGather::FootprintGather(const Kernel& kernel, const Structure& structure, const Analysis& what, const TapePlan& plan,
                                 const Gather& gathered)
    : k(kernel), where(structure), analysis(what), gather(gathered) {
    if (plan.is_split()) of_kernel = "the halves of a derivative are two kernels";
    if (!gather.straight_line()) of_kernel = "the kernel has a loop, an atomic, or memory of its own";
    if (k.folded != 1 || !knows_indices_only(k)) of_kernel = "items know more than their indices";
    if (of_kernel) return;
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (i.op != Op::load || !k[i.memory].image || !analysis.active(k.result(i))) continue;
        if (!analysis.active(i.memory, i.leaf) || accumulation(k, where, analysis, id) != Accumulation::atomic) continue;
        if (gather.has(i.memory)) continue;
        std::vector<Dimension> dimensions;
        if (const char* problem = find(id, dimensions))
            of_memories.try_emplace(i.memory.id, problem);
        else
            add(id, std::move(dimensions));
    }
    for (Owner& owner : owners)
        for (Group& group : owner.groups) find_meeting(group);
}

bool FootprintGather::has(InstId load) const {
    return std::ranges::any_of(owners, [&](const Owner& owner) {
        return std::ranges::any_of(owner.groups, [&](const Group& g) { return std::ranges::count(g.loads, load) > 0; });
    });
}

const char* FootprintGather::why_not(MemoryId m) const {
    if (of_kernel) return of_kernel;
    const auto known = of_memories.find(m.id);
    return known == of_memories.end() ? nullptr : known->second;
}

/// The dimensions of the index. Returns the condition that does not hold, if there is one.
const char* FootprintGather::find(InstId id, std::vector<Dimension>& found) const {
    const Inst& i = k[id];
    const auto indices = indices_of(k, i);
    if (is_narrow_float(i.type)) return "a sum of halves would round";
    if (int(indices.size()) != k[i.memory].rank) return "an index counts all elements";
    std::set<int> axes;
    for (const Value v : indices) {
        Dimension d;
        if (same_for_all(k, v)) {
            d.fixed = v;
        } else if (const auto base = affine_base(k, v)) {
            d.base = *base;
            if (base->axis >= k.rank || !axes.insert(base->axis).second) return "two indices follow one axis of the range";
        } else {
            return "an index has no affine position";
        }
        found.push_back(d);
    }
    return axes.empty() || axes.size() > 3 ? "an index has no affine position" : nullptr;
}

/// Adds the load to the group with its affine values, in the slice with its fixed indices.
void FootprintGather::add(InstId load, std::vector<Dimension>&& dimensions) {
    const MemoryId memory = k[load].memory;
    const auto slice = [&](const Owner& owner) {
        return owner.memory == memory && std::ranges::equal(owner.groups[0].dimensions, dimensions,
                                                            [](const auto& a, const auto& b) { return a.fixed == b.fixed; });
    };
    auto owner = std::ranges::find_if(owners, slice);
    if (owner == owners.end()) {
        const auto slices = std::ranges::count_if(owners, [&](const Owner& o) { return o.memory == memory; });
        owners.push_back({memory, {}, int(slices)});
        owner = owners.end() - 1;
    }
    const auto group = std::ranges::find_if(owner->groups, [&](const Group& g) {
        return same_dimensions(g.dimensions, dimensions) && where.block_of(g.loads[0]) == where.block_of(load);
    });
    if (group == owner->groups.end()) return owner->groups.push_back({{load}, std::move(dimensions), {}});
    group->loads.push_back(load);
    for (size_t d = 0; d < dimensions.size(); ++d) {
        AffineBase& all = group->dimensions[d].base;
        const AffineBase& one = dimensions[d].base;
        all.periodic = all.periodic || one.periodic, all.reflected = all.reflected || one.reflected;
        all.cut = all.cut || one.cut;
    }
}

/// Finds the values through which the loads of each channel act: the earliest value is replaced by what it gives to, until one is
/// left.
void FootprintGather::find_meeting(Group& group) const {
    const BlockId block = where.block_of(group.loads[0]);
    const auto place = [&](Value v) { return std::ranges::find(k[block].insts, k[v].inst); };
    const auto before = [&](Value a, Value b) { return place(a) < place(b); };
    std::map<uint32_t, Value> by_leaf;
    for (const InstId load : group.loads) {
        const uint32_t leaf = k[load].leaf;
        if (by_leaf.count(leaf)) continue;
        std::vector<Value> front;
        for (const InstId other : group.loads)
            if (k[other].leaf == leaf) front.push_back(k.result(k[other]));
        bool alone = true;
        while (alone && front.size() > 1) {
            const auto first = std::ranges::min_element(front, before);
            const Value v = *first;
            front.erase(first);
            for (const auto& [user, operand] : gather.users(v)) {
                const Inst& i = k[user];
                alone = alone && where.block_of(user) == block && i.op != Op::store && i.op != Op::yield && i.result_count == 1;
                if (!alone) break;
                if (is_scalar_op(i.op) && !analysis.active(k.result(i))) continue;
                if (!std::ranges::count(front, k.result(i))) front.push_back(k.result(i));
            }
        }
        by_leaf[leaf] = alone && front.size() == 1 ? front[0] : Value{};
    }
    for (const InstId load : group.loads) {
        const Value v = by_leaf.at(k[load].leaf);
        group.meeting.push_back(v ? v : k.result(k[load]));
    }
}

/// The conditions under which the load gives anything: those of the selects that take it, as for the border of a texture.
std::vector<IndexCondition> FootprintGather::conditions_of(InstId load) const {
    const auto& users = gather.users(k.result(k[load]));
    std::vector<IndexCondition> found;
    for (const auto& [user, operand] : users) {
        const Inst& i = k[user];
        if (i.op != Op::select || operand == 0) return {};
        const IndexCondition now{k.operands(i)[0], operand == 1};
        if (!found.empty() && (found[0].condition != now.condition || found[0].holds != now.holds)) return {};
        if (found.empty()) found.push_back(now);
    }
    return found;
}

namespace {

/// A footprint with the values that it was computed from: most launches of a kernel have the same.
struct KeptFootprint {
    std::mutex mutex;
    std::vector<uint64_t> inputs;
    std::string refusal;
    ItemFootprint found;
};

}  // namespace

FootprintGather::Footprint FootprintGather::footprint(const Group& group, size_t dimension) const {
    std::vector<IndexTap> taps;
    for (const InstId load : group.loads) {
        const Value index = indices_of(k, k[load])[dimension];
        const IndexTap tap{index, conditions_on(k, index, conditions_of(load))};
        if (!std::ranges::count(taps, tap)) taps.push_back(tap);
    }
    return [kernel = std::make_shared<const Kernel>(k), base = group.dimensions[dimension].base, taps,
            inputs = inputs_of(k, taps), kept = std::make_shared<KeptFootprint>()](
               const HostValues& known, int64_t start, int64_t end, int64_t elements, ItemFootprint& found) {
        std::vector<uint64_t> values{uint64_t(start), uint64_t(end), uint64_t(elements)};
        for (const InputOfIndex& i : inputs)
            values.push_back(i.axis < 0 ? known.scalar(i.parameter) : uint64_t(known.extent(i.parameter, i.axis)));
        const std::lock_guard lock(kept->mutex);
        if (kept->inputs != values) {
            kept->found = {};
            kept->refusal = footprint_of(*kernel, base, taps, known, start, end, elements, kept->found);
            kept->inputs = std::move(values);
        }
        found = kept->found;
        return kept->refusal;
    };
}

}  // namespace pumice::derive
