// Indices in kernels that are written for any number of dimensions.
#pragma once
#include <pumice/pumice.h>

#include <array>
#include <utility>

namespace fuzz {

template <int R> using Index = std::array<pumice::Val<int>, size_t(R)>;

/// f(0), f(1), ... as an index.
template <int R, class F> Index<R> each_dimension(F f) {
    return [&]<size_t... D>(std::index_sequence<D...>) { return Index<R>{f(D)...}; }(std::make_index_sequence<R>());
}

/// m(i[0], i[1], ...)
template <class Memory, size_t R> decltype(auto) at(const Memory& m, const std::array<pumice::Val<int>, R>& i) {
    return [&]<size_t... D>(std::index_sequence<D...>) -> decltype(auto) { return m(i[D]...); }(std::make_index_sequence<R>());
}

/// The index of the item in the range.
template <int R> Index<R> own_index() {
    if constexpr (R == 1) {
        return Index<R>{pumice::global_index()};
    } else {
        const auto g = pumice::global_index<R>();
        return each_dimension<R>([&](size_t d) { return g[d]; });
    }
}

}  // namespace fuzz
