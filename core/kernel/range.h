// Options of launches and kernels: ranges, streams, groups.
#pragma once
#include <array>
#include <concepts>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/ir/ir.h"

namespace pumice {

/// The index space of a launch: 1 to 6 dimensions, written like the indices (dimension 0 the slowest). Devices have 3 axes: of
/// more dimensions, all but the last two are folded into one axis, from which kernels recover the indices by division; groups
/// have extent 1 along them.
class Range {
public:
    /// Fixes the group's extents, one a dimension of the range. By default, the device chooses them.
    template <std::integral... E> Range group(E... extents) const& { return Range(*this).group(extents...); }
    template <std::integral... E> Range group(E... extents) && {
        set_group({int64_t(extents)...});
        return std::move(*this);
    }
    /// Puts the launch on a stream instead of the default one.
    Range on(const Stream& stream) const;

    /// Measures the device's time of the launch, for Event::elapsed. A device may overlap less work around it.
    Range timed() const;

    int rank = 1;                                                                    ///< 0: the kernel's own range
    std::array<int64_t, ir::max_rank> from{}, to = internal::Launch::Array::ones();  ///< the end excluded
    std::array<int64_t, ir::max_rank> group_extents{};                               ///< zeros: the device chooses
    int group_rank = 0;
    Stream stream;
    bool is_timed = false;

    /// Of an indirect range, whose limits are in `to`: the array whose elements are the extents when the launch begins.
    struct Counts {
        bool given = false;
        bool is_signed = true;                      ///< int, else uint
        bool checked = false;                       ///< made by counts_now(): three within the limits, axis 0 first
        std::shared_ptr<detail::ArrayState> array;  ///< null: never allocated
        explicit operator bool() const { return given; }
    };
    Counts counts;

private:
    void set_group(std::initializer_list<int64_t> extents);
};
/// The range that a kernel fixes at its definition.
inline Range ndrange() {
    Range r;
    r.rank = 0;
    return r;
}
/// A range of extents.
template <std::integral... E>
    requires(sizeof...(E) >= 1)
Range ndrange(E... extents) {
    static_assert(sizeof...(E) <= ir::max_rank, "pumice: ranges have 1 to 6 dimensions");
    Range r;
    r.rank = int(sizeof...(E));
    r.to = {int64_t(extents)...};
    return r;
}
/// A range with an offset, the end excluded: ndrange({1, 1}, {nx - 1, ny - 1}).
template <std::size_t N> Range ndrange(const int64_t (&from)[N], const int64_t (&to)[N]) {
    static_assert(N <= ir::max_rank, "pumice: ranges have 1 to 6 dimensions");
    Range r;
    r.rank = int(N);
    for (std::size_t d = 0; d < N; ++d) r.from[d] = from[d], r.to[d] = to[d];
    return r;
}

/// A range whose extents the device computes: the elements of `counts`, one a dimension (1 to 3, in written order), at the time
/// when the launch begins. `limits` bound them, in the same order. An extent beyond its limit, or below 0, is clamped, and the
/// next wait throws an Error that names it.
template <class T, int N, std::integral... E> Range indirect(const Array<T, N>& counts, E... limits) {
    static_assert(N == 1 && (std::is_same_v<T, int32_t> || std::is_same_v<T, uint32_t>),
                  "pumice: the counts of an indirect range are an Array<int> or Array<uint32_t> of one dimension");
    static_assert(sizeof...(E) >= 1 && sizeof...(E) <= 3,
                  "pumice: an indirect range has 1 to 3 dimensions, with a limit for each: indirect(counts, limit)");
    Range r = ndrange(limits...);
    r.counts = {true, std::is_signed_v<T>, false, counts.state};
    return r;
}

/// A kernel option: items past the range run too, and the kernel checks in_range() itself.
struct WholeGroups {};
inline constexpr WholeGroups whole_groups;
using Math = ir::Math;

/// Kernel options that fix the extents of groups and of the range, written like the range: static_group<16, 16>. They are known
/// during recording; a launch must give the same extents or none.
template <int... E> struct StaticGroup {};
template <int... E> struct StaticRange {};
template <int... E> inline constexpr StaticGroup<E...> static_group;
template <int... E> inline constexpr StaticRange<E...> static_range;

/// Combined options of a kernel, passed to kernel() between the name and the lambda.
class KernelOptions {
public:
    KernelOptions() = default;
    KernelOptions(WholeGroups) : whole_groups(true) {}
    KernelOptions(Math math) : math(math) {}
    template <int... E> KernelOptions(StaticGroup<E...>) : group(fixed<E...>()) {}
    template <int... E> KernelOptions(StaticRange<E...>) : range(fixed<E...>()) {}
    /// Combines these options with `more`.
    KernelOptions with(const KernelOptions& more) const;
    bool whole_groups = false;
    Math math = Math::contract;
    std::vector<int64_t> group, range;  ///< in written order; empty: given by the launch

private:
    template <int... E> static std::vector<int64_t> fixed() {
        static_assert(sizeof...(E) >= 1 && sizeof...(E) <= 3, "pumice: static groups and ranges have 1 to 3 dimensions");
        static_assert(((E > 0) && ...), "pumice: the extents of a static group or range are positive");
        return {E...};
    }
};

}  // namespace pumice
