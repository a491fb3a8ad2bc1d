// Indices of a work-item in the range and in its group.
#pragma once
#include <array>

#include "core/language/functions.h"

namespace pumice {
namespace detail {
Val<int> index_along(ir::Op which, int axis, SourceLocation location);
/// The indices along the n > 3 dimensions of a range, of which the first n - 2 are folded into axis 2.
std::vector<Val<int>> folded_indices(ir::Op which, int n, SourceLocation location);

template <int N> auto indices(ir::Op which, const char* name, SourceLocation location) {
    static_assert(N >= 1 && N <= ir::max_rank, "pumice: ranges have 1 to 6 dimensions");
    Recorder::current(name, location).require_rank(N, name, location);
    if constexpr (N == 1)
        return index_along(which, 0, location);
    else if constexpr (N == 2)
        return std::array<Val<int>, 2>{index_along(which, 1, location), index_along(which, 0, location)};
    else if constexpr (N > 3) {
        const std::vector<Val<int>> all = folded_indices(which, N, location);
        return [&]<size_t... D>(std::index_sequence<D...>) {
            return std::array<Val<int>, size_t(N)>{all[D]...};
        }(std::make_index_sequence<size_t(N)>());
    } else
        return std::array<Val<int>, 3>{index_along(which, 2, location), index_along(which, 1, location),
                                       index_along(which, 0, location)};
}
Val<int> linear_index(ir::Op index, ir::Op size, SourceLocation location);
Val<int> linear_size(ir::Op size, SourceLocation location);
Val<int> global_linear(SourceLocation location);
}  // namespace detail

// Each returns an int, or for N = 2 to 6 an array of them in the order of the range's dimensions.

/// The item's index in the range, the range's offset included.
template <int N = 1> auto global_index(PUMICE_AT) {
    return detail::indices<N>(ir::Op::global_index, "global_index", PUMICE_HERE);
}
/// Extents of the range.
template <int N = 1> auto global_size(PUMICE_AT) { return detail::indices<N>(ir::Op::global_size, "global_size", PUMICE_HERE); }
/// The item's index in its group.
template <int N = 1> auto local_index(PUMICE_AT) { return detail::indices<N>(ir::Op::local_index, "local_index", PUMICE_HERE); }
/// The group's index.
template <int N = 1> auto group_index(PUMICE_AT) { return detail::indices<N>(ir::Op::group_index, "group_index", PUMICE_HERE); }
/// Extents of a full group; a partial group at the range's end reports the same.
template <int N = 1> auto group_size(PUMICE_AT) { return detail::indices<N>(ir::Op::group_size, "group_size", PUMICE_HERE); }
/// Number of groups along each dimension.
template <int N = 1> auto group_count(PUMICE_AT) { return detail::indices<N>(ir::Op::group_count, "group_count", PUMICE_HERE); }

// Row-major over all dimensions, in every rank. The range's offset is not included.
inline Val<int> local_index_linear(PUMICE_AT) {
    return detail::linear_index(ir::Op::local_index, ir::Op::group_size, PUMICE_HERE);
}
inline Val<int> group_index_linear(PUMICE_AT) {
    return detail::linear_index(ir::Op::group_index, ir::Op::group_count, PUMICE_HERE);
}
inline Val<int> group_size_linear(PUMICE_AT) { return detail::linear_size(ir::Op::group_size, PUMICE_HERE); }
inline Val<int> group_count_linear(PUMICE_AT) { return detail::linear_size(ir::Op::group_count, PUMICE_HERE); }
inline Val<int> global_size_linear(PUMICE_AT) { return detail::linear_size(ir::Op::global_size, PUMICE_HERE); }
inline Val<int> global_index_linear(PUMICE_AT) { return detail::global_linear(PUMICE_HERE); }

/// True if the item lies inside the range; always true without whole_groups.
Val<bool> in_range(PUMICE_AT);

}  // namespace pumice
