#include "core/format/image_format.h"

#include "core/support/error.h"

namespace pumice {

using namespace internal;

int ImageShape::most_levels() const {
    int n = 1;
    for (int64_t longest = std::max({extent(0), extent(1), extent(2)}); longest > 1; longest >>= 1) ++n;
    return n;
}

std::string ImageShape::text() const {
    std::string s = pumice::text(name_of(format), layout == ImageLayout::cube ? " cube of " : " image of ");
    if (layout == ImageLayout::layered) s += pumice::text(layers, " x ");
    for (int axis = dimensions - 1; axis >= 0; --axis) s += pumice::text(extents[size_t(axis)], axis ? " x " : "");
    return s;
}

int ImageShape::level_axis() const {
    int longest = 0;
    for (int axis = 1; axis < dimensions; ++axis)
        if (extents[size_t(axis)] > extents[size_t(longest)]) longest = axis;
    return longest;
}

ImageShape::SubresourceLayout ImageShape::subresource_layout(int level, int64_t layer) const {
    SubresourceLayout p;
    p.strides = {1, extent(0), extent(0) * extent(1)};
    p.first = (level > 0 ? layers + layer : layer) * texels();
    if (level > 0) {
        const int axis = level_axis();
        p.first += (extent(axis) - (extents[size_t(axis)] >> (level - 1))) * p.strides[size_t(axis)];
    }
    return p;
}

}  // namespace pumice
