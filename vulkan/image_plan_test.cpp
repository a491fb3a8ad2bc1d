// Pure decisions about images, on snapshots of made-up devices.
#include "vulkan/image_plan.h"

#include <gtest/gtest.h>

#include "vulkan/image_formats.h"

namespace pumice::vulkan {
namespace {

constexpr VkFormatFeatureFlags reads =
    VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
constexpr VkFormatFeatureFlags everything =
    reads | VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT | VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT;

Snapshot device(VkFormatFeatureFlags features) {
    Snapshot s;
    for (const VkFormat format : image_formats()) s.formats.push_back({format, features});
    s.limits.maxImageDimension1D = s.limits.maxImageDimension2D = s.limits.maxImageDimensionCube = 4096;
    s.limits.maxImageDimension3D = s.limits.maxImageArrayLayers = 256;
    return s;
}
ImageShape shape(Format format, int64_t height, int64_t width, bool storage = true) {
    return {format, ImageLayout::plain, 2, {width, height, 1}, 1, 1, storage};
}

TEST(image_plan, every_format_has_one_of_vulkan_of_its_size) {
    for (size_t i = 0; i < std::size(format_rows); ++i) {
        const std::optional<Format> back = format_of(vulkan_format(Format(i)));
        ASSERT_TRUE(back) << format_rows[i].name;
        EXPECT_EQ(size_t(*back), i) << format_rows[i].name;
    }
    EXPECT_FALSE(format_of(VK_FORMAT_D32_SFLOAT));
}

TEST(image_plan, basic_formats_need_no_feature_and_others_the_one_for_extended_formats) {
    DevicePlan plan;
    EXPECT_EQ(refusal(device(everything), plan, shape(Format::rgba8_unorm, 8, 8)), "");
    EXPECT_EQ(refusal(device(everything), plan, shape(Format::rg8_unorm, 8, 8)),
              "has no images of the format rg8_unorm to which a kernel may store");
    EXPECT_EQ(refusal(device(everything), plan, shape(Format::rg8_unorm, 8, 8, false)), "");
    plan.extended_formats = true;
    EXPECT_EQ(refusal(device(everything), plan, shape(Format::rg8_unorm, 8, 8)), "");
}

TEST(image_plan, formats_without_a_name_in_shaders_need_loads_and_stores_without_a_format) {
    DevicePlan plan;
    plan.extended_formats = plan.writes_any_format = true;
    EXPECT_NE(refusal(device(everything), plan, shape(Format::bgra8_unorm, 8, 8)), "");
    plan.reads_any_format = true;
    EXPECT_EQ(refusal(device(everything), plan, shape(Format::bgra8_unorm, 8, 8)), "");
}

TEST(image_plan, formats_that_the_driver_lacks_and_extents_past_its_limits_are_refused) {
    const DevicePlan plan;
    EXPECT_EQ(refusal(device(0), plan, shape(Format::r32_float, 8, 8)), "has no images of the format r32_float");
    EXPECT_NE(refusal(device(reads), plan, shape(Format::r32_float, 8, 8)), "");
    EXPECT_EQ(refusal(device(everything), plan, shape(Format::r32_float, 8, 4097)),
              "has images of at most 4096 texels along a dimension, and 4097 are asked for");
    ImageShape layers = shape(Format::r32_float, 8, 8, false);
    layers.layout = ImageLayout::layered;
    layers.layers = 257;
    EXPECT_EQ(refusal(device(everything), plan, layers), "has images of at most 256 layers, and 257 are asked for");
}

TEST(image_plan, images_whose_texels_the_driver_converts_otherwise_are_kept_as_words) {
    DevicePlan plan;
    EXPECT_TRUE(converts_wrongly(plan, shape(Format::rgba8_srgb, 8, 8, false)));
    EXPECT_FALSE(converts_wrongly(plan, shape(Format::rg16_float, 8, 8)));
    plan.half_infinities = false;
    EXPECT_TRUE(converts_wrongly(plan, shape(Format::rg16_float, 8, 8)));
    EXPECT_FALSE(converts_wrongly(plan, shape(Format::rg16_float, 8, 8, false))) << "kernels only read it";
    EXPECT_TRUE(converts_wrongly(plan, shape(Format::r16_float, 8, 8)));
    EXPECT_FALSE(converts_wrongly(plan, shape(Format::r32_float, 8, 8)));
}

TEST(image_plan, the_samplers_of_a_device_have_no_cubic_filter_and_three_borders) {
    ImageInfo texture;
    texture.format = Format::r32_float;
    texture.filter = Filter::linear;
    EXPECT_TRUE(samples(device(everything), texture));
    EXPECT_FALSE(samples(device(reads), texture)) << "without linear filtering of the format";
    texture.filter = Filter::nearest;
    EXPECT_TRUE(samples(device(reads), texture));
    texture.filter = Filter::cubic;
    EXPECT_FALSE(samples(device(everything), texture));
    texture.filter = Filter::linear;
    texture.wrap = Wrap::border;
    EXPECT_TRUE(samples(device(everything), texture));
    texture.border[0] = 0x3f800000;
    EXPECT_EQ(sampler_info(texture).borderColor, VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE);
    texture.border[0] = 0x3f000000;
    EXPECT_FALSE(samples(device(everything), texture));
}

/// The parts cover each texel of a layer once, in order.
void expect_cover(const ImageShape& of, int level, int64_t most) {
    int64_t next = 0;
    const int64_t texel = row_of(of.format).bytes();
    for (const ImagePart& part : parts_of(of, level, 0, most)) {
        EXPECT_EQ(part.begin, next);
        const VkExtent3D& e = part.region.imageExtent;
        EXPECT_EQ(part.bytes, int64_t(e.width) * e.height * e.depth * texel);
        const int64_t first = (part.region.imageOffset.z * of.extent(1, level) + part.region.imageOffset.y) * of.extent(0, level);
        EXPECT_EQ(part.begin, first * texel);
        next += part.bytes;
    }
    EXPECT_EQ(next, of.bytes(level));
}

TEST(image_plan, copies_are_cut_into_slices_or_rows) {
    const ImageShape plain = shape(Format::rgba8_unorm, 100, 30);
    expect_cover(plain, 0, 1 << 20);
    EXPECT_EQ(parts_of(plain, 0, 0, 1 << 20).size(), 1u);
    expect_cover(plain, 0, 1000);
    EXPECT_EQ(parts_of(plain, 0, 0, 1000).size(), 13u) << "8 rows of 120 bytes a part";
    expect_cover(plain, 0, 1);
    EXPECT_EQ(parts_of(plain, 0, 0, 1).size(), 100u) << "one row at least";
    const ImageShape volume{Format::r8_uint, ImageLayout::plain, 3, {5, 7, 11}, 3, 1, false};
    for (const int64_t most : {1 << 20, 100, 20, 1})
        for (int level = 0; level < 3; ++level) expect_cover(volume, level, most);
    EXPECT_EQ(parts_of(volume, 1, 0, 1 << 20)[0].region.imageExtent.depth, 5u);
    const ImageShape cube{Format::r8_uint, ImageLayout::cube, 2, {4, 4, 1}, 1, 6, false};
    EXPECT_EQ(parts_of(cube, 0, 5, 1 << 20)[0].region.imageSubresource.baseArrayLayer, 5u);
}

TEST(image_plan, images_lie_in_local_memory_first) {
    Snapshot s;
    s.memory.memoryHeapCount = 2;
    s.memory.memoryHeaps[0].size = 1000, s.memory.memoryHeaps[1].size = 4000;
    s.memory.memoryTypeCount = 3;
    s.memory.memoryTypes[0] = {0, 1};
    s.memory.memoryTypes[1] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
    s.memory.memoryTypes[2] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT, 0};
    EXPECT_EQ(image_memory_types(s, 7), (std::vector<uint32_t>{1, 0}));
    EXPECT_EQ(image_memory_types(s, 1), (std::vector<uint32_t>{0}));
}

}  // namespace
}  // namespace pumice::vulkan
