#include "autodiff/gather.h"

#include <algorithm>

#include "autodiff/rules.h"
#include "autodiff/sweep.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// Indices that another item cannot compute for this one.
bool of_the_group(Op op) {
    return op == Op::local_index || op == Op::group_index || op == Op::subgroup_lane || op == Op::subgroup_index ||
           op == Op::in_range;
}

/// An index as global_index(axis) + constant.
bool shifted_index(const Kernel& k, Value v, int& axis, int64_t& constant) {
    if (k.type_of(v) != Scalar::i32 || k[v].inst.id == none) return false;
    const Inst& i = k[k[v].inst];
    if (i.op == Op::global_index) return axis = int(i.immediate), true;
    if (i.op != Op::add && i.op != Op::sub) return false;
    const auto operands = k.operands(i);
    for (size_t o = 0; o < 2; ++o) {
        uint64_t bits = 0;
        if (!k.constant(operands[o], bits) || (i.op == Op::sub && o == 0)) continue;
        constant += i.op == Op::add ? int32_t(bits) : -int64_t(int32_t(bits));
        return shifted_index(k, operands[1 - o], axis, constant);
    }
    return false;
}

}  // namespace

Gather::Gather(const Kernel& kernel, const Structure& structure, const Analysis& what)
    : k(kernel), where(structure), analysis(what), users_of(k.values.size()) {
    if (!straight()) return;
    std::map<uint32_t, std::vector<int>> axes;
    std::vector<uint32_t> refused;
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        const auto v = k.operands(i);
        for (size_t o = 0; o < v.size(); ++o)
            if (analysis.moves(id) && analysis.active(v[o])) users_of[v[o].id].emplace_back(id, o);
        if (i.op != Op::load || !analysis.active(k.result(i))) continue;
        Offset offset{};
        std::vector<int> used;
        const bool fits = offset_of(i, offset, used) && (!axes.count(i.memory.id) || axes[i.memory.id] == used);
        if (!fits) refused.push_back(i.memory.id);
        axes[i.memory.id] = used;
        loads[i.memory.id].emplace_back(id, offset);
    }
    for (const uint32_t m : refused) loads.erase(m);
    // One offset alone needs no gathering: items' places are disjoint.
    std::erase_if(loads, [](const auto& entry) {
        const auto& list = entry.second;
        return std::all_of(list.begin(), list.end(), [&](const auto& l) { return l.second == list[0].second; });
    });
}

bool Gather::straight() const {
    if (k.whole_groups || k.rank == 0) return false;
    std::vector<int> stores(k.memories.size()), reads(k.memories.size());
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (is_pure(i.op) && !of_the_group(i.op)) continue;
        if (i.op == Op::return_) continue;
        if (i.op == Op::load && k[i.memory].kind == MemoryKind::array) ++reads[i.memory.id];
        else if (i.op == Op::store && k[i.memory].kind == MemoryKind::array) ++stores[i.memory.id];
        else return false;
    }
    for (size_t m = 0; m < stores.size(); ++m)
        if (stores[m] > 0 && (reads[m] > 0 || stores[m] > int(k.memories[m].element.leaves.size()))) return false;
    // At most one store for each scalar of an element.
    for (const InstId a : where.order())
        for (const InstId c : where.order())
            if (a.id < c.id && k[a].op == Op::store && k[c].op == Op::store && k[a].memory == k[c].memory &&
                k[a].leaf == k[c].leaf)
                return false;
    return true;
}

bool Gather::offset_of(const Inst& load, Offset& offset, std::vector<int>& axes) const {
    bool seen[3] = {};
    for (const Value index : indices_of(k, load)) {
        int axis = -1;
        int64_t constant = 0;
        if (!shifted_index(k, index, axis, constant) || axis >= k.rank || seen[axis]) return false;
        seen[axis] = true;
        offset[size_t(axis)] = constant;
        axes.push_back(axis);
    }
    return int(axes.size()) == k.rank && k[load.memory].rank == k.rank;
}

// ---- what another item gives ----

/// A value of the primal as the item at these indices has it.
Value Sweep::elsewhere(Elsewhere& there, Value v) {
    if (const auto found = there.values.find(v.id); found != there.values.end()) return found->second;
    const Inst& i = from[from[v].inst];
    Value made;
    if (i.op == Op::global_index) {
        made = there.indices[size_t(i.immediate)];
    } else {
        std::vector<Value> operands;
        for (const Value operand : from.operands(i)) operands.push_back(elsewhere(there, operand));
        b.loc = i.loc;
        made = i.op == Op::load ? b.load(i.memory, i.leaf, operands) : pure_of(i, operands);
    }
    return there.values[v.id] = made;
}

/// The adjoint of a value there; none where nothing flows.
Value Sweep::adjoint_elsewhere(Elsewhere& there, Value v, int w) {
    if (const auto found = there.adjoints.find({v.id, w}); found != there.adjoints.end()) return found->second;
    Value sum;
    const auto plus = [&](Value term) { sum = sum ? b.op(Op::add, {sum, term}) : term; };
    for (const auto& [id, o] : primal.gather.users(v)) {
        const Inst& i = from[id];
        const auto operands = from.operands(i);
        if (i.op == Op::store) {
            if (o + 1 != operands.size()) continue;
            std::vector<Value> indices;
            for (const Value index : indices_of(from, i)) indices.push_back(elsewhere(there, index));
            plus(b.load(shadows->of(i.memory, w), i.leaf, indices));
            continue;
        }
        if (is_scalar_op(i.op) && vanishes(i.op, int(o))) continue;
        const Value adjoint = adjoint_elsewhere(there, from.result(i), w);
        if (!adjoint) continue;
        b.loc = i.loc;
        if (i.op == Op::cast) {
            plus(b.cast(from.type_of(v), adjoint));
        } else if (i.op == Op::select) {
            const Value condition = elsewhere(there, operands[0]), nothing = zero(i.type);
            plus(o == 1 ? b.select(condition, adjoint, nothing) : b.select(condition, nothing, adjoint));
        } else {
            Value given[3];
            const unsigned what = uses(i.op, int(o));
            for (size_t n = 0; n < operands.size(); ++n)
                if (what & (1u << n)) given[n] = elsewhere(there, operands[n]);
            const Value result = what & uses_result ? elsewhere(there, from.result(i)) : Value{};
            plus(times_partial(b, to, i.op, int(o), std::span<const Value>(given, operands.size()), result, adjoint));
        }
    }
    return there.adjoints[{v.id, w}] = sum;
}

/// Of each gathered memory, what this item's element gets, in one sum. Items at the rim of the range look which neighbours there are,
/// and scatter what they give to elements that belong to no item.
void Sweep::gather_all() {
    for (const auto& [m, list] : primal.gather.loads) {
        for (const auto& [id, offset] : list) accumulated.push_back({from[id].loc, from.memories[m].name, Accumulation::gather});
        for (int w = 0; w < width; ++w) gather({m}, w);
    }
}

/// The item's own place: in the range, and its indices.
Sweep::Here Sweep::here() {
    Here at;
    for (int axis = 0; axis < from.rank; ++axis) {
        const Value first = b.op(Op::mul, {b.index(Op::group_index, axis), b.index(Op::group_size, axis)});
        at.position[size_t(axis)] = b.op(Op::add, {first, b.index(Op::local_index, axis)});
        at.index[size_t(axis)] = b.index(Op::global_index, axis);
    }
    return at;
}

/// Whether the item that is this offset away lies in the range.
Value Sweep::in_range_at(const Here& at, const Gather::Offset& by, int sign) {
    Value all = b.constant_bool(true);
    for (int axis = 0; axis < from.rank; ++axis) {
        const int64_t shift = sign * by[size_t(axis)];
        const Value p = at.position[size_t(axis)], far = b.constant_int(Scalar::i32, std::abs(shift));
        if (shift < 0) all = b.op(Op::and_, {all, b.op(Op::ge, {p, far})});
        if (shift > 0) all = b.op(Op::and_, {all, b.op(Op::lt, {p, b.op(Op::sub, {b.index(Op::global_size, axis), far})})});
    }
    return all;
}

/// What the item whose load with this offset meets this item's element gives to it.
Value Sweep::given_to(const Here& at, InstId load, const Gather::Offset& offset, int w) {
    Elsewhere there;
    there.indices = at.index;
    for (size_t axis = 0; axis < 3; ++axis)
        if (offset[axis]) there.indices[axis] = b.op(Op::sub, {at.index[axis], b.constant_int(Scalar::i32, offset[axis])});
    return adjoint_elsewhere(there, from.result(from[load]), w);
}

/// Adds to the shadow of this item's element: its indices are those of a load, less the offset.
void Sweep::add_here(const Here& at, InstId load, int w, Value term) {
    const Inst& i = from[load];
    std::vector<Value> indices;
    for (const Value v : indices_of(from, i)) {
        int axis = 0;
        int64_t constant = 0;
        shifted_index(from, v, axis, constant);
        indices.push_back(at.index[size_t(axis)]);
    }
    const MemoryId shadow = shadows->of(i.memory, w);
    b.store(shadow, i.leaf, indices, b.op(Op::add, {b.load(shadow, i.leaf, indices), term}));
}

/// Whether an element outside of the range is read by one item at most: two items that read it by two offsets lie on the same
/// side of it along an axis.
bool Gather::alone_beyond(const Loads& list) {
    for (size_t a = 0; a < list.size(); ++a)
        for (size_t c = a + 1; c < list.size(); ++c)
            for (size_t axis = 0; axis < 3; ++axis)
                if (list[a].second[axis] * list[c].second[axis] > 0) return false;
    return true;
}

/// To an element that belongs to no item.
void Sweep::scatter_beyond(const Here& at, InstId load, const Gather::Offset& offset, int w) {
    emit_if(b.op(Op::not_, {in_range_at(at, offset, 1)}), [&] {
        const Value term = given_to(at, load, {}, w);
        if (!term) return;
        Elsewhere own;
        own.indices = at.index;
        std::vector<Value> indices;
        for (const Value v : indices_of(from, from[load])) indices.push_back(elsewhere(own, v));
        const MemoryId shadow = shadows->of(from[load].memory, w);
        const uint32_t leaf = from[load].leaf;
        if (Gather::alone_beyond(primal.gather.loads.at(from[load].memory.id)))
            b.store(shadow, leaf, indices, b.op(Op::add, {b.load(shadow, leaf, indices), term}));
        else b.atomic(shadow, leaf, Atomic::add, indices, term);
    });
}

void Sweep::gather(MemoryId m, int w) {
    const Gather::Loads& list = primal.gather.loads.at(m.id);
    b.loc = from[list[0].first].loc;
    const Here at = here();
    Gather::Offset reach{};
    for (const auto& [id, offset] : list)
        for (size_t axis = 0; axis < 3; ++axis) reach[axis] = std::max(reach[axis], std::abs(offset[axis]));
    struct Total {
        InstId load;  ///< one of the leaf's
        Value sum;    ///< a variable
    };
    std::map<uint32_t, Total> totals;  // by leaf
    for (const auto& [id, offset] : list) totals[from[id].leaf] = {id, {}};
    for (auto& [leaf, total] : totals) total.sum = b.var(zero(from[total.load].type));
    const auto add = [&](InstId load, const Gather::Offset& offset) {
        const Value sum = totals.at(from[load].leaf).sum;
        if (const Value term = given_to(at, load, offset, w)) b.set(sum, b.op(Op::add, {b.get(sum), term}));
    };
    const Value interior = b.op(Op::and_, {in_range_at(at, reach, 1), in_range_at(at, reach, -1)});
    const BlockId yes = b.new_block(), no = b.new_block();
    b.enter(yes);
    for (const auto& entry : list) add(entry.first, entry.second);
    b.terminate(Op::yield);
    b.leave();
    b.enter(no);
    for (const auto& entry : list) emit_if(in_range_at(at, entry.second, -1), [&] { add(entry.first, entry.second); });
    for (const auto& entry : list) scatter_beyond(at, entry.first, entry.second, w);
    b.terminate(Op::yield);
    b.leave();
    b.control(Op::if_, {&interior, 1}, {yes, no});
    for (const auto& [leaf, total] : totals) add_here(at, total.load, w, b.get(total.sum));
}

namespace {

/// Stores zero to the shadows of what the primal stores.
class Zeroing : public Rewriter {
public:
    Zeroing(const Primal& from, const Kernel& beside) : Rewriter(from.kernel), primal(from), model(beside) {}

private:
    void body() override {
        shadows = std::make_unique<Shadows>(to, primal.kernel, primal.signature, primal.analysis, true);
        for (size_t p = to.params.size(); p < model.params.size(); ++p)
            Shadows::add_array(to, model[model.params[p].memory].element.leaves[0].type, model[model.params[p].memory].access,
                               model.params[p].label);
        to.name = model.name + ".zero";
        insts(BlockId{0});
    }
    void inst(InstId id) override {
        const Inst& i = from[id];
        b.loc = i.loc;
        if (i.op == Op::argument) return map(from.result(i), b.argument(shadows->param(size_t(i.immediate)), i.type));
        if (i.op != Op::store) return copy(id);
        for (int w = 0; w < primal.signature.width && primal.analysis.active(i.memory, i.leaf); ++w)
            b.store(shadows->of(i.memory, w), i.leaf, of(indices_of(from, i)), zero(i.type));
    }
    const Primal& primal;
    const Kernel& model;
    std::unique_ptr<Shadows> shadows;
};

}  // namespace

Kernel zeroing(const Primal& primal, const Kernel& beside) { return Zeroing(primal, beside).run(); }

}  // namespace pumice::derive
