// Scatter-to-gather, code: the contributions of other items, and which items those are (legality: scatter_to_gather.cpp).
//
// For each load x[i + c] the item of element e evaluates the adjoint of the load for the item e - c (elsewhere.cpp). Items away
// from the boundary have all neighbours and take one branch; boundary items test each neighbour, and scatter with atomics to
// elements that belong to no item of the range.
//
//     if interior {                                else {
//       sum = given(e - c1) + given(e - c2)          if e - c1 in range { sum += given(e - c1) } ...
//       dx[e] += sum                                 if e exists { dx[e] += sum }
//     }                                              if own x[e + c1] belongs to no item { atomic dx[e + c1] += ... } ...
//                                                  }
//
// With clamps or a period several items may meet an element: a loop over these items replaces the test (meeting). At run time
// few_meet() checks that they are few; otherwise every item scatters.
//
// Cost: the slice of the adjoint is emitted up to three times. Limits: more than 6,000 instructions make the sweep give up.
// See Hueckelheim et al., "Automatic Differentiation for Adjoint Stencil Loops", ICPP 2019.
#include "autodiff/reverse/emit_gather.h"

#include <algorithm>
#include <cmath>

#include "autodiff/reverse/elsewhere.h"

namespace pumice::derive {

using namespace ir;

void GatherEmitter::gather_all() {
    elsewhere.begin();
    for (const auto& [m, list] : primal.gather.loads) {
        for (const Gather::Load& l : list)
            state.accumulated.push_back({from[l.load].loc, from.memories[m].name, Accumulation::gather});
        for (int w = 0; w < width; ++w) gather({m}, w);
    }
}

RangeItem GatherEmitter::here() {
    RangeItem at;
    const auto [before, after] = primal.gather.reach();
    for (size_t axis = 0; axis < size_t(from.rank); ++axis) {
        const Value first = b.op(Op::mul, {b.index(Op::group_index, int(axis)), b.index(Op::group_size, int(axis))});
        at.position[axis] = b.op(Op::add, {first, b.index(Op::local_index, int(axis))});
        at.index[axis] = b.index(Op::global_index, int(axis));
        at.size[axis] = b.index(Op::global_size, int(axis));
        if (sweep_kind == SweepKind::halo_gather || sweep_kind == SweepKind::halo_gather_by_rows) {
            at.position[axis] = b.op(Op::sub, {at.position[axis], b.constant_int(Scalar::i32, before[axis])});
            at.size[axis] = b.op(Op::sub, {at.size[axis], b.constant_int(Scalar::i32, before[axis] + after[axis])});
        }
        at.start[axis] = b.op(Op::sub, {at.index[axis], at.position[axis]});
        at.end[axis] = b.op(Op::add, {at.start[axis], at.size[axis]});
    }
    return at;
}

/// True if the item at this offset lies in the range.
Value GatherEmitter::in_range_at(const RangeItem& at, const Gather::Offset& by, int sign) {
    Value all = b.constant_bool(true);
    for (int axis = 0; axis < from.rank; ++axis) {
        const int64_t shift = sign * by[size_t(axis)];
        const Value p = at.position[size_t(axis)], far = b.constant_int(Scalar::i32, std::abs(shift));
        if (shift < 0) all = b.op(Op::and_, {all, b.op(Op::ge, {p, far})});
        if (shift > 0) all = b.op(Op::and_, {all, b.op(Op::lt, {p, b.op(Op::sub, {at.size[size_t(axis)], far})})});
    }
    return all;
}

/// The bounds of a clamped index; if the lower one is above the upper one, the bound that is applied last is both. The period
/// of a periodic index, at least 1 (x % 0 is 0).
GatherEmitter::IndexBounds GatherEmitter::bounds_of(const Gather::Index& index) {
    Elsewhere nowhere;
    IndexBounds bounds;
    if (index.low) bounds.low = elsewhere.value(nowhere, index.low);
    if (index.high) bounds.high = elsewhere.value(nowhere, index.high);
    if (index.low && index.high) {
        if (index.low_last)
            bounds.high = b.op(Op::max, {bounds.high, bounds.low});
        else
            bounds.low = b.op(Op::min, {bounds.low, bounds.high});
    }
    if (!index.period) return bounds;
    const Value n = elsewhere.value(nowhere, index.period);
    bounds.period = b.op(Op::max, {b.op(Op::max, {n, b.op(Op::neg, {n})}), b.constant_int(Scalar::i32, 1)});
    return bounds;
}

/// A condition that is the same for all items: few items meet an element along an axis. A period must be no shorter than the
/// range; the range may exceed clamps by a few items only. Otherwise the search for these items would take longer than atomics.
/// The condition also excludes indices that wrap before the clamp or the remainder, as in ranges of a thousand million items.
Value GatherEmitter::few_meet(const RangeItem& at, const Gather::Loads& list) {
    constexpr int few = 64;
    constexpr int64_t far = int64_t(1) << 30, longest = int64_t(1) << 28;
    static_assert(far + Gather::most_wraps * longest + Gather::farthest <= INT32_MAX);
    Value all = b.constant_bool(true);
    for (const Gather::Load& l : list)
        for (int axis = 0; axis < from.rank; ++axis) {
            const Gather::Index& index = l.index[size_t(axis)];
            const IndexBounds bounds = bounds_of(index);
            const auto also = [&](Value condition) { all = b.op(Op::and_, {all, condition}); };
            const auto constant = [&](int64_t n) { return b.constant_int(Scalar::i32, n); };
            if (bounds.low || bounds.high || bounds.period) {
                also(b.op(Op::ge, {at.start[size_t(axis)], constant(-far)}));
                also(b.op(Op::le, {at.end[size_t(axis)], constant(far)}));
            }
            if (bounds.period) also(b.op(Op::le, {at.size[size_t(axis)], bounds.period}));
            if (bounds.period) also(b.op(Op::le, {bounds.period, constant(longest)}));
            if (bounds.low)
                also(b.op(Op::le, {b.op(Op::sub, {bounds.low, at.start[size_t(axis)]}), constant(few + index.shift)}));
            if (bounds.high)
                also(b.op(Op::le, {b.op(Op::sub, {at.end[size_t(axis)], bounds.high}), constant(few - index.shift)}));
        }
    return all;
}

/// The indices along an axis of the items whose load meets the element of this item: from `first` up to `past`.
std::pair<Value, Value> GatherEmitter::meeting(const RangeItem& at, const Gather::Index& index, int axis) {
    const Value e = at.index[size_t(axis)], start = at.start[size_t(axis)], end = at.end[size_t(axis)];
    const Value one = b.constant_int(Scalar::i32, 1), own = b.op(Op::sub, {e, b.constant_int(Scalar::i32, index.shift)});
    const IndexBounds bounds = bounds_of(index);
    Value first = own, past, ok = b.constant_bool(true);
    if (bounds.period) {
        const Value n = bounds.period, away = b.op(Op::rem, {b.op(Op::sub, {own, start}), n});
        first = b.op(Op::add, {start, b.op(Op::rem, {b.op(Op::add, {away, n}), n})});
        ok = b.op(Op::and_, {b.op(Op::ge, {e, zero(Scalar::i32)}), b.op(Op::lt, {e, n})});
    }
    past = b.op(Op::add, {first, one});
    if (bounds.low) {
        first = b.select(b.op(Op::eq, {e, bounds.low}), start, first);
        ok = b.op(Op::and_, {ok, b.op(Op::ge, {e, bounds.low})});
    }
    if (bounds.high) {
        past = b.select(b.op(Op::eq, {e, bounds.high}), end, past);
        ok = b.op(Op::and_, {ok, b.op(Op::le, {e, bounds.high})});
    }
    first = b.op(Op::max, {first, start});
    past = b.op(Op::min, {past, end});
    return {first, b.select(ok, past, first)};
}

/// Adds the contribution of the item there through the load.
void GatherEmitter::add_contribution(const std::array<Value, 3>& indices, InstId load, int w, Value sum) {
    Elsewhere there;
    there.indices = indices;
    elsewhere.where_it_runs(there, where.block_of(load), BlockId{0}, [&](Elsewhere& inside) {
        if (const Value term = elsewhere.adjoint(inside, from.result(from[load]), w))
            b.set(sum, b.op(Op::add, {b.get(sum), term}));
    });
}

void GatherEmitter::add_contribution_at(const RangeItem& at, const Gather::Load& load, int w, Value sum) {
    std::array<Value, 3> indices = at.index;
    for (size_t axis = 0; axis < 3; ++axis)
        if (const int64_t shift = load.index[axis].shift)
            indices[axis] = b.op(Op::sub, {indices[axis], b.constant_int(Scalar::i32, shift)});
    add_contribution(indices, load.load, w, sum);
}

void GatherEmitter::add_here(const RangeItem& at, const Gather::Loads& list, int w, const std::map<uint32_t, Value>& sums) {
    std::vector<Value> indices;
    for (int d = 0; d < from.rank; ++d) indices.push_back(at.index[size_t(list[0].axes[size_t(d)])]);
    const MemoryId shadow = state.shadows->of(from[list[0].load].memory, w);
    for (const auto& [leaf, sum] : sums) b.store(shadow, leaf, indices, b.op(Op::add, {b.load(shadow, leaf, indices), sum}));
}

/// Adds the contributions of all items whose load meets the element of this item: none, one or several.
void GatherEmitter::add_meeting(const RangeItem& at, const Gather::Load& load, int axis, std::array<Value, 3> indices, int w,
                                Value sum) {
    if (axis == from.rank) return add_contribution(indices, load.load, w, sum);
    const auto [first, past] = meeting(at, load.index[size_t(axis)], axis);
    emit_for(first, past, b.constant_int(Scalar::i32, 1), [&](Value j) {
        indices[size_t(axis)] = j;
        add_meeting(at, load, axis + 1, indices, w, sum);
    });
}

/// True if all neighbours exist and each is the only item at its element. Most items are such interior items.
Value GatherEmitter::in_the_interior(const RangeItem& at, const Gather::Loads& list) {
    Gather::Offset reach{};
    Value all = b.constant_bool(true);
    const auto also = [&](Value condition) { all = b.op(Op::and_, {all, condition}); };
    for (const Gather::Load& l : list)
        for (int axis = 0; axis < from.rank; ++axis) {
            const Gather::Index& index = l.index[size_t(axis)];
            const Value e = at.index[size_t(axis)];
            reach[size_t(axis)] = std::max(reach[size_t(axis)], std::abs(index.shift));
            const IndexBounds bounds = bounds_of(index);
            if (bounds.low) also(b.op(Op::gt, {e, bounds.low}));
            if (bounds.high) also(b.op(Op::lt, {e, bounds.high}));
            if (bounds.period) also(b.op(Op::and_, {b.op(Op::ge, {e, zero(Scalar::i32)}), b.op(Op::lt, {e, bounds.period})}));
        }
    return b.op(Op::and_, {all, b.op(Op::and_, {in_range_at(at, reach, 1), in_range_at(at, reach, -1)})});
}

Value GatherEmitter::exists(const RangeItem& at, const Gather::Load& load) {
    const MemoryId m = from[load.load].memory;
    Value all = b.constant_bool(true);
    for (int d = 0; d < from.rank; ++d) {
        const Value e = at.index[size_t(load.axes[size_t(d)])];
        const Value inside =
            b.op(Op::and_, {b.op(Op::ge, {e, zero(Scalar::i32)}), b.op(Op::lt, {e, b.extent(m, from.rank - 1 - d)})});
        all = b.op(Op::and_, {all, inside});
    }
    return all;
}

/// Scatters to an element that belongs to no item, and to any element where nothing is gathered.
void GatherEmitter::scatter_beyond(const RangeItem& at, const Gather::Load& load, Value gathered, int w) {
    Elsewhere own;
    own.indices = at.index;
    std::vector<Value> indices;
    for (const Value v : indices_of(from, from[load.load])) indices.push_back(elsewhere.value(own, v));
    Value owned = load.simple() ? in_range_at(at, load.offset(), 1) : b.constant_bool(true);
    for (int d = 0; d < from.rank && !load.simple(); ++d) {
        const size_t axis = size_t(load.axes[size_t(d)]);
        const Value i = indices[size_t(d)];
        owned = b.op(Op::and_, {owned, b.op(Op::and_, {b.op(Op::ge, {i, at.start[axis]}), b.op(Op::lt, {i, at.end[axis]})})});
    }
    emit_if(b.op(Op::not_, {b.op(Op::and_, {gathered, owned})}), [&] {
        elsewhere.where_it_runs(own, where.block_of(load.load), BlockId{0}, [&](Elsewhere& inside) {
            const Value term = elsewhere.adjoint(inside, from.result(from[load.load]), w);
            if (!term) return;
            const MemoryId shadow = state.shadows->of(from[load.load].memory, w);
            const uint32_t leaf = from[load.load].leaf;
            if (Gather::alone_beyond(primal.gather.loads.at(from[load.load].memory.id)))
                b.store(shadow, leaf, indices, b.op(Op::add, {b.load(shadow, leaf, indices), term}));
            else
                b.atomic(shadow, leaf, Atomic::add, indices, term);
        });
    });
}

void GatherEmitter::gather(MemoryId m, int w) {
    const Gather::Loads& list = primal.gather.loads.at(m.id);
    b.loc = from[list[0].load].loc;
    const RangeItem at = here();
    std::map<uint32_t, Value> sums;  // by leaf; variables
    for (const Gather::Load& l : list)
        if (Value& sum = sums[from[l.load].leaf]; !sum) sum = b.var(zero(from[l.load].type));
    const auto sum_of = [&](const Gather::Load& l) { return sums.at(from[l.load].leaf); };
    const auto from_one = [&](const Gather::Load& l) { add_contribution_at(at, l, w, sum_of(l)); };
    const auto add_sums = [&] {
        std::map<uint32_t, Value> now;
        for (const auto& [leaf, sum] : sums) now[leaf] = b.get(sum);
        add_here(at, list, w, now);
    };
    const bool always = std::ranges::all_of(list, [&](const Gather::Load& l) { return where.block_of(l.load).id == 0; });
    const Value few = few_meet(at, list), there = exists(at, list[0]);
    Value interior = b.op(Op::and_, {few, in_the_interior(at, list)});
    if (!always) interior = b.op(Op::and_, {interior, there});  // otherwise the neighbours have read the element, so it exists
    const auto whole = [&] {
        for (const Gather::Load& l : list) from_one(l);
        add_sums();
    };
    const auto with_edges = [&] {
        emit_if(b.op(Op::and_, {few, there}), [&] {
            for (const Gather::Load& l : list)
                if (l.simple())
                    emit_if(in_range_at(at, l.offset(), -1), [&] { from_one(l); });
                else
                    add_meeting(at, l, 0, at.index, w, sum_of(l));
            add_sums();
        });
        for (const Gather::Load& l : list) scatter_beyond(at, l, few, w);
    };
    ir::emit_if(b, to, interior, whole, with_edges);
}

}  // namespace pumice::derive
