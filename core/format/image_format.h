// Formats of images, the state of samplers, and the description of an image parameter: a table and plain structs.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/support/namespaces.h"

namespace pumice {

/// The format of an image's texels in memory. formats.def has a row for each.
enum class Format : uint8_t {
#define FORMAT(name, channels, bits, kind) name,
#include "core/format/formats.def"
#undef FORMAT
};

namespace internal {

/// A row of formats.def.
struct FormatRow {
    enum class Kind : uint8_t { unorm, snorm, real, uint, sint, srgb };
    std::string_view name;
    int channels = 0, bits = 0;  ///< bits of a channel
    Kind kind = Kind::unorm;
    /// Bytes of a texel.
    constexpr int bytes() const { return channels * bits / 8; }
    /// True if kernels read the channels as f32; otherwise as i32 (sint) or u32 (uint).
    constexpr bool is_float() const { return kind != Kind::uint && kind != Kind::sint; }
};
inline constexpr FormatRow format_rows[] = {
#define FORMAT(name, channels, bits, kind) {#name, channels, bits, FormatRow::Kind::kind},
#include "core/format/formats.def"
#undef FORMAT
};
constexpr const FormatRow& row_of(Format format) { return format_rows[int(format)]; }
}  // namespace internal

constexpr std::string_view name_of(Format format) { return internal::row_of(format).name; }

/// The filter of a sampler: the texel at the position; weights of the 2 nearest texels along each axis; Catmull-Rom weights of 4.
enum class Filter : uint8_t { nearest, linear, cubic };
/// The texels past the edge of a texture: those of the opposite edge on; the edge's; the mirror image; the sampler's border
/// value.
enum class Wrap : uint8_t { repeat, clamp, mirror, border };
/// The computation of weights: in f32 by the kernel, the same way on all devices; or by the device's own sampler, if any.
enum class Sampling : uint8_t { exact, fast };

/// The arrangement of an image: one picture, an array of pictures (layers), or the 6 faces of a cube: +x, -x, +y, -y, +z, -z.
enum class ImageLayout : uint8_t { plain, layered, cube };

namespace internal {

inline constexpr std::string_view filter_names[] = {"nearest", "linear", "cubic"};
inline constexpr std::string_view wrap_names[] = {"repeat", "clamp", "mirror", "border"};
inline constexpr std::string_view sampling_names[] = {"exact", "fast"};
inline constexpr std::string_view layout_names[] = {"plain", "layered", "cube"};

/// The description of an image parameter. A recorded kernel knows kind, dimensions and layout; the image of a launch gives the
/// rest.
struct ImageInfo {
    enum class Kind : uint8_t { none, storage, texture };
    Kind kind = Kind::none;
    ImageLayout layout = ImageLayout::plain;
    int dimensions = 0;  ///< of a picture: 1 to 3
    // Of the image that a launch gives:
    bool resolved = false;  ///< the following members are known
    bool native = false;    ///< the device has memory for images; otherwise the image is an array of words
    Format format = Format::r8_unorm;
    int levels = 1;  ///< of a texture
    Filter filter = Filter::nearest, mip_filter = Filter::nearest;
    Wrap wrap = Wrap::clamp;
    Sampling sampling = Sampling::exact;
    std::array<uint32_t, 4> border{};  ///< bits of the border's channels

    explicit operator bool() const { return kind != Kind::none; }
    bool operator==(const ImageInfo&) const = default;
    /// Number of indices of a texel: [level] [layer or face] z y x. A texture has a level until it is known to have one level
    /// only.
    int rank() const {
        const bool has_levels = kind == Kind::texture && (!resolved || levels > 1);
        return (has_levels ? 1 : 0) + (layout != ImageLayout::plain ? 1 : 0) + dimensions;
    }
    bool has_level_index() const { return kind == Kind::texture && (!resolved || levels > 1); }
    bool has_layer_index() const { return layout != ImageLayout::plain; }
    /// Number of operands of a `sample`: the level of detail, the layer, and the coordinates (of a cube: a direction).
    int sample_operands() const {
        return 1 + (layout == ImageLayout::layered ? 1 : 0) + (layout == ImageLayout::cube ? 3 : dimensions);
    }
};

/// Format and extents of an image.
struct ImageShape {
    Format format = Format::r8_unorm;
    ImageLayout layout = ImageLayout::plain;
    int dimensions = 2;
    std::array<int64_t, 3> extents{1, 1, 1};  ///< of level 0, axis 0 (the width) first
    int levels = 1;
    int64_t layers = 1;   ///< 6 for a cube
    bool storage = true;  ///< kernels may store to it, and it has one level and one layer

    /// Extent of a level: at least 1.
    int64_t extent(int axis, int level = 0) const {
        return axis < dimensions ? std::max<int64_t>(1, extents[size_t(axis)] >> level) : 1;
    }
    /// Texels of one layer of a level.
    int64_t texels(int level = 0) const { return extent(0, level) * extent(1, level) * extent(2, level); }
    /// Bytes of one layer of a level, without gaps between its rows.
    int64_t bytes(int level = 0) const { return texels(level) * row_of(format).bytes(); }
    /// The most levels that the extents allow: halved until all are 1.
    int most_levels() const;
    /// "rgba8_unorm image of 480 x 640"
    std::string text() const;

    // The image as an array of words, for devices without memory for images. A word of 32 bits is a texel of up to 32 bits, or
    // a part of a larger texel. The array's dimensions are [slice] z y x. Level 0 of layer l is slice l. The other levels of
    // layer l lie side by side in slice layers + l, along the longest axis: level n begins at extent - (extent >> (n - 1)).
    int64_t slices() const { return levels > 1 ? 2 * layers : layers; }
    /// The longest axis of level 0, the first of equals.
    int level_axis() const;
    /// The first texel of a level of a layer, and its texel strides, in an array of words.
    struct SubresourceLayout {
        int64_t first = 0;
        std::array<int64_t, 3> strides{};
    };
    SubresourceLayout subresource_layout(int level, int64_t layer) const;
};

}  // namespace internal

}  // namespace pumice
