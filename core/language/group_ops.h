// Collective operations of a group: reductions, scans, broadcast and votes, over local memory and barriers.
//
// Each contains barriers, so that every item of the group must reach it, as for synchronize(). Items past the range contribute
// nothing; with whole_groups they take part like the others. Groups may have any size and shape. The calls of a kernel share
// local memory: one element of each type an item.
#pragma once
#include "core/language/control.h"
#include "core/language/indices.h"
#include "core/language/subgroup.h"

namespace pumice {
namespace detail {

/// The items of a group that take part, numbered without gaps by their linear indices. They form a box, the intersection of group
/// and range.
struct GroupRank {
    Val<int> at, count;
};
GroupRank group_rank(SourceLocation location);

/// Local memory for values of type T, one element an item; shared by all calls of a kernel with this T.
template <class T> const Local<T>& group_scratch(SourceLocation location) {
    Recorder& r = Recorder::current("a group operation", location);
    auto& held = r.scratch[&element_of<T>()];
    if (!held)
        held = std::make_shared<Local<T>>(
            IndexOperand(group_size_linear(location.file, location.line), location.file, location.line));
    return *static_cast<const Local<T>*>(held.get());
}

/// Tree reduction of all items' x; f is associative and commutative.
template <class T, class F> Val<T> group_reduce(const Val<T>& x, const F& f, SourceLocation location) {
    const auto sync = [&] { synchronize(location.file, location.line); };
    const Local<T>& scratch = group_scratch<T>(location);
    const GroupRank here = group_rank(location);
    scratch[here.at] = x;
    sync();
    // Starts at the largest power of two below the count.
    const Val<int> steps = 32 - cast<int>(clz(bitcast<unsigned>(max(here.count - 1, 0))));
    for_(range(steps), [&](const Val<int>& k) {
        const Val<int> half = 1 << (steps - 1 - k);
        if_((here.at < half) & (here.at + half < here.count),
            [&] { scratch[here.at] = Val<T>(f(Val<T>(scratch[here.at]), Val<T>(scratch[here.at + half]))); });
        sync();
    });
    const Val<T> result = scratch[0];
    sync();  // the next call overwrites the scratch memory
    return result;
}

/// The inclusive scan in log2(items) steps; it also stays in the scratch memory. f is associative. Source: W. Hillis, G. Steele,
/// "Data parallel algorithms", CACM 1986. The caller synchronises before the next call.
template <class T, class F>
Val<T> group_scan(const Val<T>& x, const F& f, const Local<T>& scratch, const GroupRank& here, SourceLocation location) {
    const auto sync = [&] { synchronize(location.file, location.line); };
    scratch[here.at] = x;
    sync();
    const Val<int> steps = 32 - cast<int>(clz(bitcast<unsigned>(max(here.count - 1, 0))));
    for_(range(steps), [&](const Val<int>& k) {
        const Val<int> distance = 1 << k;
        Var<T> sum = Val<T>(scratch[here.at]);
        if_(here.at >= distance, [&] { sum = Val<T>(f(Val<T>(scratch[here.at - distance]), Val<T>(sum))); });
        sync();
        scratch[here.at] = Val<T>(sum);
        sync();
    });
    return Val<T>(scratch[here.at]);
}

template <class T, class F> Val<T> group_inclusive(const Val<T>& x, const F& f, SourceLocation location) {
    const Val<T> result = group_scan<T>(x, f, group_scratch<T>(location), group_rank(location), location);
    synchronize(location.file, location.line);
    return result;
}

template <class T, class F> Val<T> group_exclusive(const Val<T>& x, const Val<T>& identity, const F& f, SourceLocation location) {
    const Local<T>& scratch = group_scratch<T>(location);
    const GroupRank here = group_rank(location);
    group_scan<T>(x, f, scratch, here, location);
    Var<T> result = identity;
    if_(here.at > 0, [&] { result = Val<T>(scratch[here.at - 1]); });
    synchronize(location.file, location.line);
    return Val<T>(result);
}

Val<bool> group_any(const Operand<bool>& condition, bool negated);

/// A reduction or scan by an operation of ir::Subgroup.
Handle emit_group(ir::Subgroup what, ir::MemoryId scratch, const Handle& x, SourceLocation location);

/// An operand as a value.
template <class T, class A> Val<T> group_value(const A& x, SourceLocation location) {
    const Operand<T> operand(x, location.file, location.line);
    if constexpr (ScalarType<T>)
        return Val<T>(operand.handle);
    else
        return Val<T>(operand);
}

/// Applies f to a scalar, or to each component of a vector.
template <class A, class F> auto group_each(const A& x, SourceLocation location, const F& f) {
    return each_scalar(x, location, [&](const Handle& one) {
        using T = device_type_t<A>;
        if constexpr (ScalarType<T>)
            return f(Val<T>(one)).handle;
        else
            return f(Val<typename structure<T>::component>(one)).handle;
    });
}

}  // namespace detail

namespace group {

// reduce_ combines x of all items; inclusive_ combines x of the items whose linear index in the group is at most the item's own,
// exclusive_ those whose index is smaller (none for the first item, which gets 0, 1, the largest, the smallest value, all ones,
// 0, 0). Componentwise for vectors. The order of float additions
// is not fixed.
#define PUMICE_GROUP_AS(name, kind)                                                                                       \
    template <detail::kind A> auto name(const A& x, PUMICE_AT) {                                                          \
        return detail::group_each(x, PUMICE_HERE, [&]<class T>(const Val<T>& v) {                                         \
            return Val<T>(                                                                                                \
                detail::emit_group(ir::Subgroup::name, detail::group_scratch<T>(PUMICE_HERE).id, v.handle, PUMICE_HERE)); \
        });                                                                                                               \
    }
#define PUMICE_GROUP(name, kind) \
    PUMICE_GROUP_AS(reduce_##name, kind) PUMICE_GROUP_AS(inclusive_##name, kind) PUMICE_GROUP_AS(exclusive_##name, kind)
PUMICE_GROUP(add, NumberValue)
PUMICE_GROUP(mul, NumberValue)
PUMICE_GROUP(min, NumberValue)
PUMICE_GROUP(max, NumberValue)
PUMICE_GROUP(and, BitwiseValue)
PUMICE_GROUP(or, BitwiseValue)
PUMICE_GROUP(xor, BitwiseValue)
#undef PUMICE_GROUP_AS
#undef PUMICE_GROUP

/// x of all items combined by f(a, b), which is associative and commutative. x may be a struct.
template <detail::DeviceValue A, class F> auto reduce(const A& x, F&& f, PUMICE_AT) {
    using T = detail::device_type_t<A>;
    return detail::group_reduce<T>(detail::group_value<T>(x, PUMICE_HERE), f, PUMICE_HERE);
}
/// x of the items up to this one, by linear index in the group, combined by f, which is associative.
template <detail::DeviceValue A, class F> auto inclusive_scan(const A& x, F&& f, PUMICE_AT) {
    using T = detail::device_type_t<A>;
    return detail::group_inclusive<T>(detail::group_value<T>(x, PUMICE_HERE), f, PUMICE_HERE);
}
/// x of the items before this one combined by f; `identity` for the first item.
template <detail::DeviceValue A, class B, class F> auto exclusive_scan(const A& x, const B& identity, F&& f, PUMICE_AT) {
    using T = detail::device_type_t<A>;
    return detail::group_exclusive<T>(detail::group_value<T>(x, PUMICE_HERE), detail::group_value<T>(identity, PUMICE_HERE), f,
                                      PUMICE_HERE);
}
/// x of the item with this linear index in the group. The index is uniform in the group, and the item is inside the range.
template <detail::DeviceValue A> auto broadcast(const A& x, detail::Operand<int> item) {
    using T = detail::device_type_t<A>;
    const detail::SourceLocation location = item.location;
    const Local<T>& scratch = detail::group_scratch<T>(location);
    const Val<T> value = detail::group_value<T>(x, location);
    if_(local_index_linear(location.file, location.line) == Val<int>(item.handle), [&] { scratch[0] = value; });
    synchronize(location.file, location.line);
    const Val<T> result = scratch[0];
    synchronize(location.file, location.line);
    return result;
}
/// True if the condition holds for at least one item; for all items.
inline Val<bool> any(detail::Operand<bool> condition) { return detail::group_any(condition, false); }
inline Val<bool> all(detail::Operand<bool> condition) { return !detail::group_any(condition, true); }

}  // namespace group
}  // namespace pumice
