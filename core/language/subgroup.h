// Subgroups in kernels: the items of a group that a device runs as lanes, and their collective operations.
//
// The operations act on the active items of a subgroup: those that execute the call together. The indices and sizes (size, lane,
// index, count) do not depend on which items are active. docs/ir.md defines each one.
#pragma once
#include "core/language/functions.h"

namespace pumice {
namespace detail {

Val<int> subgroup_index_value(ir::Op which, SourceLocation location);
Handle emit_subgroup(ir::Subgroup what, const Handle* x, const Handle* lane, int word, SourceLocation location);

/// One operation for each scalar of x.
template <DeviceValue A> auto subgroup_each(ir::Subgroup what, const A& x, const Handle* lane, SourceLocation location) {
    return each_scalar(x, location, [&](const Handle& one) { return emit_subgroup(what, &one, lane, 0, location); });
}

template <class T> constexpr bool number() {
    if constexpr (ScalarType<T>)
        return !std::is_same_v<T, bool>;
    else
        return Vector<T>;
}
template <class T> constexpr bool bitwise() {
    if constexpr (ScalarType<T>)
        return !is_float(*scalar_of<T>());
    else if constexpr (Vector<T>)
        return is_int(*scalar_of<typename structure<T>::component>());
    else
        return false;
}
template <class A> concept NumberValue = DeviceValue<A> && number<device_type_t<A>>();
template <class A> concept BitwiseValue = DeviceValue<A> && bitwise<device_type_t<A>>();

}  // namespace detail

namespace subgroup {

/// Lanes of a subgroup: the same for the whole launch.
inline Val<int> size(PUMICE_AT) { return detail::subgroup_index_value(ir::Op::subgroup_size, PUMICE_HERE); }
/// The item's lane, from 0.
inline Val<int> lane(PUMICE_AT) { return detail::subgroup_index_value(ir::Op::subgroup_lane, PUMICE_HERE); }
/// The number of the item's subgroup in its group, from 0.
inline Val<int> index(PUMICE_AT) { return detail::subgroup_index_value(ir::Op::subgroup_index, PUMICE_HERE); }
/// Subgroups of a group.
inline Val<int> count(PUMICE_AT) { return detail::subgroup_index_value(ir::Op::subgroup_count, PUMICE_HERE); }

// reduce_ combines x of all items, inclusive_ up to the item in lane order, exclusive_ before the item. Componentwise for
// vectors.
#define PUMICE_SUBGROUP(name, kind)                                                            \
    template <detail::kind A> auto reduce_##name(const A& x, PUMICE_AT) {                      \
        return detail::subgroup_each(ir::Subgroup::reduce_##name, x, nullptr, PUMICE_HERE);    \
    }                                                                                          \
    template <detail::kind A> auto inclusive_##name(const A& x, PUMICE_AT) {                   \
        return detail::subgroup_each(ir::Subgroup::inclusive_##name, x, nullptr, PUMICE_HERE); \
    }                                                                                          \
    template <detail::kind A> auto exclusive_##name(const A& x, PUMICE_AT) {                   \
        return detail::subgroup_each(ir::Subgroup::exclusive_##name, x, nullptr, PUMICE_HERE); \
    }
PUMICE_SUBGROUP(add, NumberValue)
PUMICE_SUBGROUP(mul, NumberValue)
PUMICE_SUBGROUP(min, NumberValue)
PUMICE_SUBGROUP(max, NumberValue)
PUMICE_SUBGROUP(and, BitwiseValue)
PUMICE_SUBGROUP(or, BitwiseValue)
PUMICE_SUBGROUP(xor, BitwiseValue)
#undef PUMICE_SUBGROUP

// x of another lane, which must be active. broadcast: the lane is the same for all. A relative shuffle that would leave the
// subgroup returns the item's own x; d is not negative.
#define PUMICE_SHUFFLE(name, lane)                                                        \
    template <detail::DeviceValue A> auto name(const A& x, detail::Operand<int> lane) {   \
        return detail::subgroup_each(ir::Subgroup::name, x, &lane.handle, lane.location); \
    }
PUMICE_SHUFFLE(broadcast, lane)
PUMICE_SHUFFLE(shuffle, lane)
PUMICE_SHUFFLE(shuffle_xor, mask)
PUMICE_SHUFFLE(shuffle_up, d)
PUMICE_SHUFFLE(shuffle_down, d)
#undef PUMICE_SHUFFLE
/// x of the lowest active lane.
template <detail::DeviceValue A> auto broadcast_first(const A& x, PUMICE_AT) {
    return detail::subgroup_each(ir::Subgroup::broadcast_first, x, nullptr, PUMICE_HERE);
}

/// True if the condition holds for at least one active item; for all active items.
inline Val<bool> any(detail::Operand<bool> condition) {
    return Val<bool>(detail::emit_subgroup(ir::Subgroup::any, &condition.handle, nullptr, 0, condition.location));
}
inline Val<bool> all(detail::Operand<bool> condition) {
    return Val<bool>(detail::emit_subgroup(ir::Subgroup::all, &condition.handle, nullptr, 0, condition.location));
}
/// Bit b of word w (x, y, z, w) is the condition of lane 32 w + b; 0 if that lane is inactive.
inline Val<uint4> ballot(detail::Operand<bool> condition) {
    detail::Handle words[4];
    for (int w = 0; w < 4; ++w)
        words[w] = detail::emit_subgroup(ir::Subgroup::ballot, &condition.handle, nullptr, w, condition.location);
    detail::HandleSource source{words};
    return Val<uint4>(source);
}
/// True for the lowest active lane.
inline Val<bool> elect(PUMICE_AT) {
    return Val<bool>(detail::emit_subgroup(ir::Subgroup::elect, nullptr, nullptr, 0, PUMICE_HERE));
}

}  // namespace subgroup
}  // namespace pumice
