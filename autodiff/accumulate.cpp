#include "autodiff/accumulate.h"

#include <algorithm>

#include "core/alias.h"

namespace pumice::derive {

using namespace ir;

namespace {

bool writes(Op op) { return op == Op::store || op == Op::atomic || op == Op::compare_exchange; }

/// An index as step * global_index(axis) + base + constant, where the base is the same for all items.
struct Affine {
    int axis = -1;  ///< -1: no global index
    int64_t step = 0, constant = 0;
    std::vector<Value> base;  ///< a sum, sorted
    bool known = true;
};

int64_t whole(const Kernel& k, Value v, uint64_t bits) {
    const int shift = 64 - 8 * size_of(k.type_of(v));
    return is_unsigned_int(k.type_of(v)) ? int64_t(bits) : int64_t(bits << shift) >> shift;
}

Affine affine(const Kernel& k, Value v) {
    uint64_t bits = 0;
    Affine a;
    if (k.constant(v, bits)) {
        a.constant = whole(k, v, bits);
        return a;
    }
    if (same_for_all(k, v)) {
        a.base.push_back(v);
        return a;
    }
    a.known = false;
    if (k[v].inst.id == none) return a;
    const Inst& i = k[k[v].inst];
    const auto operands = k.operands(i);
    switch (i.op) {
        case Op::global_index: a.known = true, a.axis = int(i.immediate), a.step = 1; return a;
        case Op::cast: return is_int(i.type) && is_int(k.type_of(operands[0])) ? affine(k, operands[0]) : a;
        case Op::add:
        case Op::sub: {
            const Affine x = affine(k, operands[0]), y = affine(k, operands[1]);
            const bool minus = i.op == Op::sub;
            if (!x.known || !y.known || (x.axis >= 0 && y.axis >= 0) || (minus && !y.base.empty())) return a;
            a = x.axis >= 0 ? x : y;
            if (minus && y.axis >= 0) a.step = -a.step;
            a.constant = minus ? x.constant - y.constant : x.constant + y.constant;
            a.base = x.base;
            a.base.insert(a.base.end(), y.base.begin(), y.base.end());
            std::sort(a.base.begin(), a.base.end(), [](Value p, Value q) { return p.id < q.id; });
            return a;
        }
        case Op::mul:
            for (int o = 0; o < 2; ++o) {
                if (!k.constant(operands[size_t(o)], bits)) continue;
                const int64_t factor = whole(k, operands[size_t(o)], bits);
                Affine x = affine(k, operands[size_t(1 - o)]);
                if (!x.known || !x.base.empty()) return a;
                x.step *= factor, x.constant *= factor;
                return x;
            }
            return a;
        default: return a;
    }
}

/// Whether the index is row * n + column with the row affine and the column the index of a for from 0 to n: rows of items do
/// not meet. Gives the row.
bool row_and_column(const Kernel& k, const Structure& where, Value index, Affine& row, Value& length) {
    if (k[index].inst.id == none || k[k[index].inst].op != Op::add) return false;
    const auto v = k.operands(k[k[index].inst]);
    for (int o = 0; o < 2; ++o) {
        const Value product = v[size_t(o)], column = v[size_t(1 - o)];
        if (k[column].inst.id != none || k[product].inst.id == none || k[k[product].inst].op != Op::mul) continue;
        const Inst& loop = k[where.owner_of(k[column].block)];
        uint64_t zero = 1, step = 0;
        if (loop.op != Op::for_ || k[column].index != 0) continue;
        if (!k.constant(k.operands(loop)[0], zero) || zero != 0 || !k.constant(k.operands(loop)[2], step)) continue;
        if (whole(k, k.operands(loop)[2], step) < 1) continue;
        const Value n = k.operands(loop)[1];
        const auto factors = k.operands(k[k[product].inst]);
        for (int f = 0; f < 2; ++f) {
            if (factors[size_t(f)] != n || !same_for_all(k, n)) continue;
            row = affine(k, factors[size_t(1 - f)]);
            length = n;
            return row.known;
        }
    }
    return false;
}

/// Whether two accesses with these indices, by different items, surely touch different elements: along the axes' dimensions
/// the items' indices differ whatever the others are.
bool items_apart(const Kernel& k, const Structure& where, std::span<const Value> x, std::span<const Value> y) {
    if (x.size() != y.size() || k.rank == 0) return false;
    bool covered[3] = {};
    for (size_t d = 0; d < x.size(); ++d) {
        Affine a = affine(k, x[d]), b = affine(k, y[d]);
        Value n, m;
        if (!a.known && !b.known && row_and_column(k, where, x[d], a, n) && row_and_column(k, where, y[d], b, m) && n != m)
            return false;
        if (!a.known || !b.known || a.axis < 0 || a.axis != b.axis || a.step != b.step || a.step == 0 || a.base != b.base)
            continue;
        const int64_t between = a.constant - b.constant;
        if (between < std::abs(a.step) && -between < std::abs(a.step)) covered[a.axis] = true;
    }
    for (int axis = 0; axis < k.rank; ++axis)
        if (!covered[axis]) return false;
    return true;
}

/// Whether a store of this item to the same place always comes with the load, in the same phase: then the element is its own.
bool owns(const Kernel& k, const Structure& where, InstId load) {
    const Inst& i = k[load];
    const auto barrier_between = [&](InstId a, InstId b, BlockId block) {
        const auto& insts = k[block].insts;
        auto first = std::find(insts.begin(), insts.end(), a), last = std::find(insts.begin(), insts.end(), b);
        if (last < first) std::swap(first, last);
        return std::any_of(first, last + 1, [&](InstId at) { return contains_barrier(k, k[at]); });
    };
    for (const InstId id : where.order()) {
        if (k[id].op != Op::store || k[id].memory != i.memory || !same_place(place_of(k, k[id]), place_of(k, i))) continue;
        const BlockId block = where.block_of(id);
        const InstId at = where.ancestor_in(block, load);
        // A loop between them may run no or many iterations, but all of those touch this one element.
        if (at.id != none && !barrier_between(at, id, block)) return true;
    }
    return false;
}

}  // namespace

bool knows_indices_only(const Kernel& k) {
    const auto asks = [](const Inst& i) {
        return (i.op >= Op::global_size && i.op <= Op::in_range) || i.op == Op::subgroup || i.op == Op::barrier;
    };
    return !k.whole_groups && std::none_of(k.insts.begin(), k.insts.end(), asks) &&
           std::none_of(k.memories.begin(), k.memories.end(), [](const Memory& m) { return m.kind == MemoryKind::local; }) &&
           std::all_of(k.params.begin(), k.params.end(), [](const Parameter& p) { return p.given == Given::argument; });
}

bool same_for_all(const Kernel& k, Value v) {
    if (k[v].inst.id == none) return false;
    const Inst& i = k[k[v].inst];
    if (i.op == Op::constant || i.op == Op::argument || i.op == Op::extent) return true;
    if (!is_scalar_op(i.op) && i.op != Op::cast && i.op != Op::bitcast && i.op != Op::select) return false;
    const auto operands = k.operands(i);
    return std::all_of(operands.begin(), operands.end(), [&](Value o) { return same_for_all(k, o); });
}

Accumulation accumulation(const Kernel& k, const Structure& where, const Analysis& analysis, InstId load) {
    const Inst& i = k[load];
    const Memory& memory = k[i.memory];
    if (memory.kind == MemoryKind::private_) return Accumulation::plain;
    if (owns(k, where, load)) return Accumulation::plain;
    if (memory.kind == MemoryKind::local) return Accumulation::atomic;
    bool written = false, apart = true;
    for (const InstId id : where.order()) {
        const Inst& other = k[id];
        if (other.memory != i.memory) continue;
        written = written || writes(other.op);
        if (other.op != Op::load || !analysis.active(k.result(other))) continue;
        apart = apart && items_apart(k, where, indices_of(k, i), indices_of(k, other));
    }
    if (apart) return Accumulation::plain;
    const auto indices = indices_of(k, i);
    const bool uniform = std::all_of(indices.begin(), indices.end(), [&](Value v) { return same_for_all(k, v); });
    return uniform && !written ? Accumulation::group : Accumulation::atomic;
}

}  // namespace pumice::derive
