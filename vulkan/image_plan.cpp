// Images: what a device can make of them. Pure functions of its snapshot and plan.
//
//   Snapshot (features of formats, limits), DevicePlan (features) + ImageShape -> refusal, or VkImageCreateInfo
//
// Images have optimal tiling. A kernel that stores to an image may also load from it, so a storage image needs a format that
// shaders can name, or both features for images without one. An image that the device refuses becomes an array of words (the
// front end does that). Cost: none to speak of. Limits: no multisampling, no depth, no compressed formats.
#include "vulkan/image_plan.h"

#include <algorithm>

#include "core/support/error.h"
#include "vulkan/image_formats.h"

namespace pumice::vulkan {
namespace {

uint32_t most_texels(const VkPhysicalDeviceLimits& limits, const ImageShape& shape) {
    if (shape.layout == ImageLayout::cube) return limits.maxImageDimensionCube;
    return shape.dimensions == 1   ? limits.maxImageDimension1D
           : shape.dimensions == 2 ? limits.maxImageDimension2D
                                   : limits.maxImageDimension3D;
}

/// True if shaders can declare storage images of the format, for loads and stores.
bool declares(const DevicePlan& plan, Format format) {
    if (!has_shader_name(format)) return plan.reads_any_format && plan.writes_any_format;
    return is_basic(format) || plan.extended_formats;
}

/// True if the border is one of Vulkan's colours; sets it.
bool border_colour(const ImageInfo& texture, VkBorderColor& colour) {
    const FormatRow& row = row_of(texture.format);
    const uint32_t one = row.is_float() ? 0x3f800000u : 1u;
    const std::array<uint32_t, 4>& b = texture.border;
    const auto all = [&](uint32_t bits) {
        return std::all_of(b.begin(), b.begin() + row.channels, [&](uint32_t channel) { return channel == bits; });
    };
    if (all(0))
        colour = row.is_float() ? VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK : VK_BORDER_COLOR_INT_TRANSPARENT_BLACK;
    else if (all(one))
        colour = row.is_float() ? VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE : VK_BORDER_COLOR_INT_OPAQUE_WHITE;
    else if (b == std::array<uint32_t, 4>{0, 0, 0, one})
        colour = row.is_float() ? VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK : VK_BORDER_COLOR_INT_OPAQUE_BLACK;
    else
        return false;
    return true;
}

}  // namespace

std::string refusal(const Snapshot& s, const DevicePlan& plan, const ImageShape& shape) {
    const VkFormatFeatureFlags features = s.features_of(vulkan_format(shape.format));
    const VkFormatFeatureFlags wanted =
        VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    if ((features & wanted) != wanted) return text("has no images of the format ", name_of(shape.format));
    if (shape.storage && (!(features & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT) || !declares(plan, shape.format)))
        return text("has no images of the format ", name_of(shape.format), " to which a kernel may store");
    const uint32_t most = most_texels(s.limits, shape);
    for (int axis = 0; axis < shape.dimensions; ++axis)
        if (shape.extent(axis) > int64_t(most))
            return text("has images of at most ", most, " texels along a dimension, and ", shape.extent(axis), " are asked for");
    if (shape.layers > int64_t(s.limits.maxImageArrayLayers))
        return text("has images of at most ", s.limits.maxImageArrayLayers, " layers, and ", shape.layers, " are asked for");
    return "";
}

bool converts_wrongly(const DevicePlan& plan, const ImageShape& shape) {
    const FormatRow& row = row_of(shape.format);
    // The transfer function of sRGB is computed by the kernel, since a device's may be less accurate.
    if (row.kind == FormatRow::Kind::srgb) return true;
    const bool half = row.kind == FormatRow::Kind::real && row.bits == 16;
    return half && shape.storage && !plan.half_infinities;
}

bool samples(const Snapshot& s, const ImageInfo& texture) {
    const bool linear = texture.filter == Filter::linear || texture.mip_filter == Filter::linear;
    if (texture.filter == Filter::cubic || texture.mip_filter == Filter::cubic) return false;
    // lavapipe (Mesa 22.3) reads past a cube's memory for directions such as (3e9, 3e9, 0.5), which ends the process.
    if (texture.layout == ImageLayout::cube && s.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE) return false;
    // SwiftShader takes texels beyond an edge of a cube's face from memory that was never written.
    if (texture.layout == ImageLayout::cube && linear && s.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER) return false;
    const VkFormatFeatureFlags wanted = VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT |
                                        (linear ? VkFormatFeatureFlags(VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT) : 0);
    if ((s.features_of(vulkan_format(texture.format)) & wanted) != wanted) return false;
    VkBorderColor colour;
    return texture.wrap != Wrap::border || border_colour(texture, colour);
}

VkSamplerCreateInfo sampler_info(const ImageInfo& texture) {
    constexpr VkSamplerAddressMode modes[] = {VK_SAMPLER_ADDRESS_MODE_REPEAT, VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                              VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT, VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER};
    auto info = structure<VkSamplerCreateInfo>(VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO);
    info.magFilter = info.minFilter = texture.filter == Filter::linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
    info.mipmapMode = texture.mip_filter == Filter::linear ? VK_SAMPLER_MIPMAP_MODE_LINEAR : VK_SAMPLER_MIPMAP_MODE_NEAREST;
    info.addressModeU = info.addressModeV = info.addressModeW = modes[size_t(texture.wrap)];
    info.maxLod = VK_LOD_CLAMP_NONE;
    if (texture.wrap == Wrap::border) border_colour(texture, info.borderColor);
    return info;
}

VkImageUsageFlags usage_of(const ImageShape& shape) {
    const VkImageUsageFlags usage =
        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT;
    return shape.storage ? usage | VK_IMAGE_USAGE_STORAGE_BIT : usage;
}

VkImageCreateInfo image_info(const ImageShape& shape) {
    auto info = structure<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
    if (shape.layout == ImageLayout::cube) info.flags |= VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
    info.imageType = shape.dimensions == 1 ? VK_IMAGE_TYPE_1D : shape.dimensions == 2 ? VK_IMAGE_TYPE_2D : VK_IMAGE_TYPE_3D;
    info.format = vulkan_format(shape.format);
    info.extent = {uint32_t(shape.extent(0)), uint32_t(shape.extent(1)), uint32_t(shape.extent(2))};
    info.mipLevels = uint32_t(shape.levels);
    info.arrayLayers = uint32_t(shape.layers);
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.tiling = VK_IMAGE_TILING_OPTIMAL;
    info.usage = usage_of(shape);
    info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
    return info;
}

std::vector<ImagePart> parts_of(const ImageShape& shape, int level, int64_t layer, int64_t most) {
    const int64_t rows = shape.extent(1, level), slices = shape.extent(2, level);
    const int64_t row_bytes = shape.extent(0, level) * row_of(shape.format).bytes(), slice_bytes = row_bytes * rows;
    std::vector<ImagePart> parts;
    const auto add = [&](int64_t slice, int64_t slice_count, int64_t row, int64_t row_count) {
        ImagePart part;
        part.begin = slice * slice_bytes + row * row_bytes;
        part.bytes = slice_count * row_count * row_bytes;
        part.region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, uint32_t(level), uint32_t(layer), 1};
        part.region.imageOffset = {0, int32_t(row), int32_t(slice)};
        part.region.imageExtent = {uint32_t(shape.extent(0, level)), uint32_t(row_count), uint32_t(slice_count)};
        parts.push_back(part);
    };
    if (slice_bytes <= most) {
        const int64_t step = most / slice_bytes;
        for (int64_t slice = 0; slice < slices; slice += step) add(slice, std::min(step, slices - slice), 0, rows);
        return parts;
    }
    const int64_t step = std::max<int64_t>(most / row_bytes, 1);
    for (int64_t slice = 0; slice < slices; ++slice)
        for (int64_t row = 0; row < rows; row += step) add(slice, 1, row, std::min(step, rows - row));
    return parts;
}

}  // namespace pumice::vulkan
