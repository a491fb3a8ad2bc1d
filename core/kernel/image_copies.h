// Copies between an image and an array of its texels: launches, which programs follow; through the host for images that kernels
// cannot store to, and between devices.
#pragma once
#include "core/kernel/image_parameter.h"
#include "core/kernel/kernel.h"
#include "core/language/indices.h"

namespace pumice {
namespace detail {

/// Copies the item's own texel.
template <int N, class To, class From> void copy_texel(const To& to, const From& from) {
    if constexpr (N == 1) {
        const auto x = global_index();
        to(x) = from(x);
    } else if constexpr (N == 2) {
        const auto [y, x] = global_index<2>();
        to(y, x) = from(y, x);
    } else {
        const auto [z, y, x] = global_index<3>();
        to(z, y, x) = from(z, y, x);
    }
}
template <class T, int N> const auto array_to_image =
    kernel("array_to_image", [](Out<Image<T, N>> to, In<T, N> from) { copy_texel<N>(to, from); });
template <class T, int N> const auto image_to_array =
    kernel("image_to_array", [](Out<T, N> to, In<Image<T, N>> from) { copy_texel<N>(to, from); });

/// The range of the elements of the array.
template <class T, int N> Range range_of(const Array<T, N>& array) {
    Range range;
    range.rank = N;
    for (int d = 0; d < N; ++d) range.to[size_t(d)] = array.size(d);
    return range;
}

}  // namespace detail

template <class T, int N, ImageLayout L> void Image<T, N, L>::copy_from(const Array<T, N>& array) const
    requires(L == ImageLayout::plain)
{
    check_extents(array);
    if (!detail::held(binding).shape.storage || array.device().state != device().state) return upload(array.download());
    detail::array_to_image<T, N>(detail::range_of(array), *this, array);
}

template <class T, int N, ImageLayout L> void Image<T, N, L>::copy_to(const Array<T, N>& array) const
    requires(L == ImageLayout::plain)
{
    check_extents(array);
    if (array.device().state != device().state) return array.copy_from(download());
    detail::image_to_array<T, N>(detail::range_of(array), array, *this);
}

}  // namespace pumice
