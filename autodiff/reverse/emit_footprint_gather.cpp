// Footprint gather, code: the kernel whose items each sum up one shadow element (legality: footprint_gather.cpp in
// autodiff/strategy).
//
// The kernel has an axis for each dimension of the index that is not the same for all items. It takes the arguments of the
// adjoint, after them the start and the end of the primal's range along each axis, and for each group and axis the interval of
// ItemFootprint.
//
//     item t:    for n in the periods (and mirror images) whose interval may meet the range {
//                  for x from max(ceil(%slope * t + %low + n * %period), what came before) to floor(.. + %high ..) {
//                    i0, i1, weights w0, w1 of item x, as in the primal
//                    %w = select(i0 == t, w0, 0) + select(i1 == t, w1, 0)
//                    if i0 == t or i1 == t { %sum += given(item x) * %w }
//                } }
//                store da[t], da[t] + %sum
//
// An item is visited once, though intervals of several periods may overlap in a small texture: each begins where the last ended.
// The weights are derivatives by the taps of the value in which all taps meet, and are common to all channels.
// Cost: as in footprint_gather.cpp. Limits: above the usual number of instructions the sweep gives up.
// Textbook name: scatter-to-gather conversion; enumeration of the preimage.
#include "autodiff/reverse/emit_footprint_gather.h"

#include <algorithm>
#include <optional>

#include "autodiff/reverse/elsewhere.h"
#include "autodiff/sweep/adjoint_reductions.h"
#include "core/support/error.h"

namespace pumice::derive {

using namespace ir;

/// The intervals of one element along an axis.
struct FootprintGatherEmitter::Intervals {
    RangeEnds range;
    Value first, past;              ///< without a period
    Value start, end, low, high;    ///< f32: of the range; of the interval
    Value turned_low, turned_high;  ///< none: no mirror image
    Value period, least, most;      ///< none: no period; i32: the multiples of the period
};

Value FootprintGatherEmitter::scalar(Scalar type, const std::string& name, const std::string& label) {
    return Shadows::add_scalar(b, to, name, label, type);
}

FootprintGatherEmitter::Intervals FootprintGatherEmitter::intervals_of(const AffineBase& base, Value element,
                                                                       const RangeEnds& range) {
    const auto add = [&](Value x, Value y) { return b.op(Op::add, {x, y}); };
    const auto sub = [&](Value x, Value y) { return b.op(Op::sub, {x, y}); };
    const auto mul = [&](Value x, Value y) { return b.op(Op::mul, {x, y}); };
    const auto real = [&](const char* what) {
        return scalar(Scalar::f32, text("footprint_", group_number, "_", base.axis, "_", what),
                      text("the footprint of an element along axis ", base.axis, ", its ", what));
    };
    const auto is_element = [&](const char* what) {
        const Value which = scalar(Scalar::i32, text("footprint_", group_number, "_", base.axis, "_", what),
                                   text("the element whose footprint is open along axis ", base.axis));
        return b.op(Op::eq, {element, which});
    };
    Intervals all;
    all.range = range, all.start = b.cast(Scalar::f32, range.start), all.end = b.cast(Scalar::f32, range.end);
    const Value t = b.cast(Scalar::f32, element), at = mul(t, real("slope"));
    all.low = add(at, real("low")), all.high = add(at, real("high"));
    if (!base.periodic) {
        all.first = first_of(all, all.low), all.past = past_of(all, all.high);
        if (!base.cut) return all;
        all.first = b.select(is_element("open_before"), range.start, all.first);
        all.past = b.select(is_element("open_after"), range.end, all.past);
        return all;
    }
    Value least = all.low, most = all.high;
    if (base.reflected) {
        all.turned_low = sub(real("turned_low"), at), all.turned_high = sub(real("turned_high"), at);
        least = b.op(Op::min, {least, all.turned_low}), most = b.op(Op::max, {most, all.turned_high});
    }
    all.period = real("period");
    const Value rate = real("rate");
    const auto multiple = [&](Op round, Value x) { return b.cast(Scalar::i32, b.op(round, {mul(x, rate)})); };
    all.least = multiple(Op::floor, sub(all.start, most));
    all.most = multiple(Op::ceil, sub(all.end, least));
    return all;
}

/// The first item from `low` on, and the one after the last up to `high`.
Value FootprintGatherEmitter::first_of(const Intervals& all, Value low) {
    const Value first = b.op(Op::ceil, {low});
    return b.cast(Scalar::i32, b.op(Op::max, {b.op(Op::min, {first, all.end}), all.start}));
}
Value FootprintGatherEmitter::past_of(const Intervals& all, Value high) {
    const Value past = b.op(Op::add, {b.op(Op::floor, {high}), b.constant_float(Scalar::f32, 1)});
    return b.cast(Scalar::i32, b.op(Op::max, {b.op(Op::min, {past, all.end}), all.start}));
}

/// Calls `fill` in loops over the items of the intervals, with the index of the item.
void FootprintGatherEmitter::each_item(const Intervals& intervals, const std::function<void(Value)>& fill) {
    const Value one = b.constant_int(Scalar::i32, 1);
    if (!intervals.period) return emit_for(intervals.first, intervals.past, one, fill);
    const Value visited = b.var(intervals.range.start);
    const auto interval = [&](Value low, Value high) {
        const Value past = past_of(intervals, high), before = b.get(visited);
        b.set(visited, b.op(Op::max, {before, past}));
        emit_for(b.op(Op::max, {first_of(intervals, low), before}), past, one, fill);
    };
    const Value least = intervals.turned_low ? b.op(Op::mul, {intervals.least, b.constant_int(Scalar::i32, 2)}) : intervals.least;
    Value most = b.op(Op::add, {intervals.most, one});
    if (intervals.turned_low) most = b.op(Op::mul, {most, b.constant_int(Scalar::i32, 2)});
    emit_for(least, most, one, [&](Value n) {
        Value low = intervals.low, high = intervals.high, multiple = n;
        if (intervals.turned_low) {
            const Value turned = b.op(Op::ne, {b.op(Op::and_, {n, one}), zero(Scalar::i32)});
            low = b.select(turned, intervals.turned_low, low), high = b.select(turned, intervals.turned_high, high);
            multiple = b.op(Op::shr, {n, one});
        }
        const Value by = b.op(Op::mul, {b.cast(Scalar::f32, multiple), intervals.period});
        interval(b.op(Op::add, {low, by}), b.op(Op::add, {high, by}));
    });
}

/// Computes the indices along a dimension, which depend on one axis, outside of the loops of the other axes.
void FootprintGatherEmitter::find_indices(const FootprintGather::Group& group, size_t dimension, Elsewhere& item) {
    if (where.block_of(group.loads[0]) != BlockId{0}) return;  // its conditions may guard what an index needs
    for (const InstId load : group.loads) {
        const Value index = elsewhere.value(item, indices_of(from, from[load])[dimension]);
        b.op(Op::eq, {index, elements[dimension]});  // add_taps finds it again
    }
}

/// Adds what the item gives to the element, if it comes to the loads.
void FootprintGatherEmitter::add_item(const FootprintGather::Group& group, Elsewhere& item, const Sums& sums) {
    elsewhere.where_it_runs(item, where.block_of(group.loads[0]), BlockId{0},
                            [&](Elsewhere& inside) { add_taps(group, inside, sums); });
}

void FootprintGatherEmitter::add_taps(const FootprintGather::Group& group, Elsewhere& item, const Sums& sums) {
    // By load: its index is this element.
    std::vector<Value> matches;
    Value any;
    for (const InstId load : group.loads) {
        const auto indices = indices_of(from, from[load]);
        Value all;
        for (size_t d = 0; d < elements.size(); ++d) {
            if (!elements[d]) continue;
            const Value same = b.op(Op::eq, {elsewhere.value(item, indices[d]), elements[d]});
            all = all ? b.op(Op::and_, {all, same}) : same;
        }
        matches.push_back(all);
        any = any ? b.op(Op::or_, {any, all}) : all;
    }
    // By the value in which taps of a channel meet: the sum of their weights.
    struct Meeting {
        Value value, weight;
        uint32_t leaf;
        Elsewhere by_unit;  ///< the adjoint of the value is 1
    };
    std::vector<Meeting> meetings;
    for (size_t n = 0; n < group.loads.size(); ++n) {
        const Value v = group.meeting[n];
        const Inst& load = from[group.loads[n]];
        auto at = std::ranges::find_if(meetings, [&](const Meeting& m) { return m.value == v && m.leaf == load.leaf; });
        if (at == meetings.end()) {
            at = meetings.insert(at, {v, {}, load.leaf, item});
            at->by_unit.adjoints[{v.id, 0}] = b.constant_float(from.type_of(v), 1);
        }
        const Value weight = elsewhere.adjoint(at->by_unit, from.result(load), 0);
        if (!weight) continue;
        const Value term = b.select(matches[n], weight, zero(load.type));
        at->weight = at->weight ? b.op(Op::add, {at->weight, term}) : term;
    }
    emit_if(any, [&] {
        Elsewhere inside = item;
        for (int w = 0; w < width; ++w)
            for (const Meeting& m : meetings)
                if (const Value given = m.weight ? elsewhere.adjoint(inside, m.value, w) : Value{}) {
                    const Value sum = sums.at({m.leaf, w});
                    b.set(sum, b.op(Op::add, {b.get(sum), b.op(Op::mul, {given, m.weight})}));
                }
    });
}

void FootprintGatherEmitter::gather(const FootprintGather::Owner& owner) {
    elsewhere.begin();
    to.name += "." + from[owner.memory].name + (owner.number > 0 ? text(".", owner.number) : "");
    to.range = {}, to.group = {}, to.math = Math::strict;
    const std::vector<FootprintGather::Dimension>& dimensions = owner.groups[0].dimensions;
    to.rank = int(std::ranges::count_if(dimensions, [](const auto& d) { return !d.fixed; }));
    reductions.find_sums();  // for the parameters that all kernels of the adjoint take
    std::vector<RangeEnds> ranges;
    for (int axis = 0; axis < from.rank; ++axis) {
        const auto end = [&](const char* what) {
            return scalar(Scalar::i32, text("axis_", axis, "_", what), text("where axis ", axis, " of the range has its ", what));
        };
        const Value start = end("start");
        ranges.push_back({start, end("end")});
    }
    Elsewhere nowhere;
    std::vector<Value> indices;
    int axis = to.rank;
    for (const FootprintGather::Dimension& d : dimensions) {
        elements.push_back(d.fixed ? Value{} : b.index(Op::global_index, --axis));
        indices.push_back(d.fixed ? elsewhere.value(nowhere, d.fixed) : elements.back());
    }
    Sums sums;
    for (const FootprintGather::Group& group : owner.groups)
        for (const InstId load : group.loads)
            for (int w = 0; w < width; ++w)
                if (Value& sum = sums[{from[load].leaf, w}]; !sum) sum = b.var(zero(from[load].type));
    for (const FootprintGather::Group& group : owner.groups) {
        b.loc = from[group.loads[0]].loc;
        state.accumulated.push_back({b.loc, from[owner.memory].name, Accumulation::gather});
        std::vector<std::optional<Intervals>> by_axis(size_t(from.rank));
        for (size_t d = 0; d < dimensions.size(); ++d)
            if (const AffineBase& base = group.dimensions[d].base; !group.dimensions[d].fixed)
                by_axis[size_t(base.axis)] = intervals_of(base, elements[d], ranges[size_t(base.axis)]);
        ++group_number;
        // Axis 0 is the innermost loop.
        const auto loops = [&](const auto& self, size_t left, Elsewhere& at) -> void {
            if (left == 0) return add_item(group, at, sums);
            const auto inside = [&](Value index) {
                Elsewhere item = at;
                item.indices[left - 1] = index;
                for (size_t d = 0; d < dimensions.size(); ++d)
                    if (!dimensions[d].fixed && group.dimensions[d].base.axis == int(left - 1)) find_indices(group, d, item);
                self(self, left - 1, item);
            };
            if (by_axis[left - 1])
                each_item(*by_axis[left - 1], inside);
            else
                emit_for(ranges[left - 1].start, ranges[left - 1].end, b.constant_int(Scalar::i32, 1), inside);
        };
        Elsewhere at;
        loops(loops, size_t(from.rank), at);
    }
    Value exists = b.constant_bool(true);  // along the other axes by the range of the gather (launch_footprint_gather.cpp)
    for (size_t d = 0; d < dimensions.size(); ++d)
        if (dimensions[d].fixed) exists = b.op(Op::and_, {exists, has_index(owner.memory, int(d), indices[d])});
    emit_if(exists, [&] {
        for (const auto& [key, sum] : sums) {
            const MemoryId shadow = state.shadows->of(owner.memory, key.second);
            b.store(shadow, key.first, indices, b.op(Op::add, {b.load(shadow, key.first, indices), b.get(sum)}));
        }
    });
}

}  // namespace pumice::derive
