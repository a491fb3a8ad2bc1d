// Filters, wraps, levels, layers and cubes, against the same arithmetic on the host.
#include "tests/images/images.h"

using namespace pumice;
using namespace pumice::internal;
using suite::device;
using suite::filtered;
using suite::Picture;

namespace {

const auto sample_at = kernel("sample_at", Math::strict, [](Out<float> out, In<Texture<float>> t, In<float2> at) {
    auto i = global_index();
    out[i] = t.sample(at[i]);
});

/// Positions inside and far outside, on texels' edges and centres.
std::vector<float2> positions() {
    std::vector<float2> all;
    const std::vector<float> x = suite::numbers(200, 5);
    for (size_t i = 0; i < x.size(); i += 2) all.push_back({x[i] * 7 - 3, x[i + 1] * 7 - 3});
    for (const float u : {-1.0f, -0.5f, -0.1f, 0.0f, 0.1f, 0.25f, 0.5f, 0.999f, 1.0f, 1.5f, 2.0f, -1e-9f, 1e9f, -1e9f})
        all.push_back({u, 0.3f}), all.push_back({0.7f, u});
    return all;
}

std::vector<float> sampled(const Image<float>& image, const std::vector<float2>& at, const Sampler& sampler) {
    const Device d = device();
    const auto out = d.zeros<float>(int64_t(at.size()));
    sample_at(ndrange(int64_t(at.size())), out, texture(image, sampler), d.upload(at));
    return out.download();
}

TEST(Sampling, exact_filters_give_the_same_bits_as_the_arithmetic_on_the_host) {
    const std::vector<float2> at = positions();
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{5, 8}, {1, 3}, {2, 1}, {1, 1}}) {
        const Picture picture{height, width, suite::numbers(size_t(height * width), 9)};
        const auto image = device().image<float>(Format::r32_float, {height, width});
        image.upload(picture.texels);
        for (const Filter filter : {Filter::nearest, Filter::linear, Filter::cubic})
            for (const Wrap wrap : {Wrap::repeat, Wrap::clamp, Wrap::mirror, Wrap::border}) {
                SCOPED_TRACE(text(filter_names[size_t(filter)], " ", wrap_names[size_t(wrap)], " ", height, " x ", width));
                const std::vector<float> got = sampled(image, at, {.filter = filter, .wrap = wrap, .border = {0.25f}});
                for (size_t i = 0; i < at.size(); ++i)
                    EXPECT_EQ(got[i], filtered(picture, at[i].x, at[i].y, filter, wrap, 0.25f)) << at[i].x << " " << at[i].y;
            }
    }
}

TEST(Sampling, fast_agrees_with_exact_within_the_precision_of_samplers) {
    const Picture picture{16, 16, suite::numbers(256, 2)};
    const auto image = device().image<float>(Format::r8_unorm, {16, 16});
    image.upload(picture.texels);
    std::vector<float2> at;
    for (int i = 0; i < 100; ++i) at.push_back({float(i) * 0.0173f - 0.3f, float(i) * 0.0131f - 0.2f});
    for (const Wrap wrap : {Wrap::repeat, Wrap::clamp, Wrap::mirror}) {
        const Sampler exact{.filter = Filter::linear, .wrap = wrap},
            fast{.filter = Filter::linear, .wrap = wrap, .sampling = Sampling::fast};
        const std::vector<float> a = sampled(image, at, exact), b = sampled(image, at, fast);
        for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 0.01) << at[i].x << " " << at[i].y;
    }
}

TEST(Sampling, textures_have_one_to_three_dimensions_and_up_to_four_channels) {
    const Device d = device();
    const auto all = kernel("all", Math::strict, [](Out<float> out, In<Texture<float2, 1>> a, In<Texture<float4, 3>> b) {
        auto i = global_index();
        Val<float> u = (cast<float>(i) + 0.5f) * 0.125f;
        auto v = a.sample(u);
        auto w = b.sample(Val<float3>(u, 0.5f, 0.25f));
        out[4 * i] = v.x, out[4 * i + 1] = v.y, out[4 * i + 2] = w.x, out[4 * i + 3] = w.w;
    });
    const auto a = d.image<float2>(Format::rg32_float, {2});
    const auto b = d.image<float4>(Format::rgba32_float, {2, 2, 2});
    a.upload({{0, 10}, {8, 26}});
    std::vector<float4> texels;
    for (int i = 0; i < 8; ++i) texels.push_back({float(i), 0, 0, float(-2 * i)});
    b.upload(texels);
    const auto out = d.zeros<float>(32);
    all(ndrange(8), out, texture(a), texture(b));
    const std::vector<float> got = out.download();
    for (int i = 0; i < 8; ++i) {
        const float x = std::clamp((float(i) + 0.5f) / 4 - 0.5f, 0.0f, 1.0f);  // between the two texels of the width
        EXPECT_NEAR(got[size_t(4 * i)], 8 * x, 1e-5);
        EXPECT_NEAR(got[size_t(4 * i + 1)], 10 + 16 * x, 1e-5);
        EXPECT_NEAR(got[size_t(4 * i + 2)], x + 1, 1e-5);  // v = 0.5 lies between the rows, w = 0.25 on the first plane
        EXPECT_NEAR(got[size_t(4 * i + 3)], -2 * (x + 1), 1e-5);
    }
}

TEST(Sampling, levels_are_chosen_or_mixed_by_the_level_of_detail) {
    const Device d = device();
    const auto level_of = kernel("level_of", Math::strict, [](Out<float> out, In<Texture<float>> t, In<float> lod) {
        auto i = global_index();
        out[i] = t.sample(Val<float2>(0.5f, 0.5f), lod[i]);
    });
    const auto fetch = kernel("fetch", [](Out<float> out, In<Texture<float>> t) {
        auto i = global_index();
        out[i] = t.fetch(i, 0, 0);
        out[i + 8] = cast<float>(t.levels());
    });
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{8, 13}, {16, 3}, {1, 9}}) {
        const auto image = d.image<float>(Format::r16_float, {height, width}, {.levels = 4});
        for (int level = 0; level < 4; ++level)
            image.upload(std::vector<float>(size_t(image.extent(0, level) * image.extent(1, level)), float(level * 10)), level);
        const std::vector<float> lods{-3, 0, 0.4f, 0.6f, 1, 1.25f, 2.9f, 3, 100};
        const auto out = d.zeros<float>(16);
        level_of(ndrange(9), out, texture(image, {.mip_filter = Filter::nearest}), d.upload(lods));
        const std::vector<float> nearest = out.download();
        level_of(ndrange(9), out, texture(image, {.mip_filter = Filter::linear}), d.upload(lods));
        const std::vector<float> linear = out.download();
        const float wanted[] = {0, 0, 0, 10, 10, 10, 30, 30, 30}, mixed[] = {0, 0, 4, 6, 10, 12.5f, 29, 30, 30};
        for (size_t i = 0; i < lods.size(); ++i) {
            EXPECT_EQ(nearest[i], wanted[i]) << lods[i];
            EXPECT_NEAR(linear[i], mixed[i], 1e-5) << lods[i];
        }
        fetch(ndrange(4), out, texture(image, {}));
        for (size_t i = 0; i < 4; ++i) {
            EXPECT_EQ(out.download()[i], float(i) * 10);
            EXPECT_EQ(out.download()[i + 8], 4.0f);
        }
    }
}

TEST(Sampling, every_texel_of_every_level_and_layer_has_its_own_place) {
    const Device d = device();
    const auto read = kernel("read", [](Out<float, 3> out, In<TextureArray<float>> t, Val<int> level) {
        auto [layer, y, x] = global_index<3>();
        out(layer, y, x) = t.fetch(level, layer, y, x);
    });
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{6, 11}, {11, 6}, {1, 5}, {4, 4}}) {
        const int64_t layers = 3;
        const int levels = 3;
        const auto image = d.image_array<float>(Format::r32_float, layers, {height, width}, {.levels = levels});
        for (int level = 0; level < levels; ++level)
            for (int64_t layer = 0; layer < layers; ++layer) {
                std::vector<float> texels(size_t(image.extent(0, level) * image.extent(1, level)));
                for (size_t i = 0; i < texels.size(); ++i) texels[i] = float(1000 * level) + float(100 * layer) + float(i);
                image.upload(texels, level, layer);
            }
        for (int level = 0; level < levels; ++level) {
            const int64_t h = image.extent(0, level), w = image.extent(1, level);
            const auto out = d.zeros<float>({layers, h, w});
            read(ndrange(layers, h, w), out, texture(image, {}), level);
            const std::vector<float> got = out.download();
            for (int64_t layer = 0; layer < layers; ++layer)
                for (int64_t i = 0; i < h * w; ++i) {
                    EXPECT_EQ(got[size_t(layer * h * w + i)], float(1000 * level) + float(100 * layer) + float(i));
                    EXPECT_EQ(image.download(level, layer)[size_t(i)], got[size_t(layer * h * w + i)]);
                }
        }
    }
}

TEST(Sampling, generated_levels_hold_the_mean_of_the_level_before) {
    const auto image = device().image<float>(Format::r32_float, {4, 5}, {.levels = 3});
    image.upload(suite::numbers(20));
    image.generate_levels();
    const std::vector<float> a = image.download(0), b = image.download(1), c = image.download(2);
    ASSERT_EQ(b.size(), 4u);
    EXPECT_NEAR(b[0], (a[0] + a[1] + a[5] + a[6]) / 4, 1e-6);
    EXPECT_NEAR(b[1], (a[2] + a[3] + a[4] + a[7] + a[8] + a[9]) / 6, 1e-6);  // the last texel covers three
    ASSERT_EQ(c.size(), 1u);
    EXPECT_NEAR(c[0], (b[0] + b[1] + b[2] + b[3]) / 4, 1e-6);
}

TEST(Sampling, a_layer_is_chosen_by_its_number_and_clamped) {
    const Device d = device();
    const auto pick = kernel("pick", [](Out<float> out, In<TextureArray<float4>> t) {
        auto i = global_index();
        out[i] = t.sample(Val<float2>(0.5f, 0.5f), i - 1).y;
        out[i + 5] = cast<float>(t.layers());
    });
    const auto image = d.image_array<float4>(Format::rgba8_unorm, 3, {2, 2});
    for (int layer = 0; layer < 3; ++layer) image.upload(std::vector<float4>(4, float4{0, float(layer) / 3, 0, 0}), 0, layer);
    const auto out = d.zeros<float>(10);
    pick(ndrange(5), out, texture(image));
    const float wanted[] = {0, 0, 1, 2, 2};
    for (size_t i = 0; i < 5; ++i) {
        EXPECT_NEAR(out.download()[i], wanted[i] / 3, 2e-3);
        EXPECT_EQ(out.download()[i + 5], 3.0f);
    }
}

TEST(Sampling, a_direction_chooses_the_face_of_a_cube_and_the_place_on_it) {
    const Device d = device();
    const auto look = kernel("look", [](Out<float> out, In<TextureCube<float>> t, In<float3> direction) {
        auto i = global_index();
        out[i] = t.sample(direction[i]);
    });
    const auto image = d.image_cube<float>(Format::r32_float, 2);
    for (int face = 0; face < 6; ++face)
        image.upload({float(10 * face), float(10 * face + 1), float(10 * face + 2), float(10 * face + 3)}, 0, face);
    // Texels (y, x) of a face: 0 and 1 are the upper row. A direction a little off an axis reads the texel on that side.
    const std::vector<float3> directions{{1, 0.5f, 0.5f},  {-1, 0.5f, 0.5f}, {0.5f, 1, 0.5f},
                                         {0.5f, -1, 0.5f}, {0.5f, 0.5f, 1},  {0.5f, 0.5f, -1}};
    const auto out = d.zeros<float>(6);
    look(ndrange(6), out, texture(image, {.filter = Filter::nearest}), d.upload(directions));
    EXPECT_EQ(out.download(), (std::vector<float>{0, 11, 23, 31, 41, 50}));
}

/// The device's own sampler mixes texels of two faces at an edge, and none of anything else.
TEST(Sampling, OfACubeOfOnesByTheDevicesSamplerIsOne) {
    const auto look = kernel("look_at_ones", [](Out<float> out, In<TextureCube<float>> t, In<float3> direction) {
        auto i = global_index();
        out[i] = t.sample(direction[i]);
    });
    std::vector<float3> directions;
    for (int a = -4; a <= 4; ++a)
        for (int b = -4; b <= 4; ++b)
            for (int c = -4; c <= 4; ++c)
                if (a || b || c) directions.push_back({float(a) / 4, float(b) / 4, float(c) / 4});
    const auto count = int64_t(directions.size());
    for (const int extent : {1, 2, 3, 8}) {
        const auto image = device().image_cube<float>(Format::r32_float, extent);
        for (int face = 0; face < 6; ++face) image.upload(std::vector<float>(size_t(extent * extent), 1.0f), 0, face);
        const Array<float> out = device().zeros<float>(count);
        look(ndrange(count), out, texture(image, {.filter = Filter::linear, .sampling = Sampling::fast}),
             device().upload(directions));
        for (const float texel : out.download()) EXPECT_NEAR(texel, 1.0f, 0.01f) << extent;
    }
}

TEST(Sampling, NanAndInfinitePositionsReadATexel) {
    constexpr float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const auto k = kernel("astray", Math::strict, [](Out<float> to, In<Texture<float>> from, In<float2> at) {
        auto i = global_index();
        to[i] = from.sample(at[i]);
    });
    const std::vector<float2> at{{nan, 0.5f}, {0.5f, nan}, {infinite, 0.5f}, {0.5f, -infinite}, {nan, nan}, {1e30f, -1e30f}};
    const Image<float> image = device().image<float>(Format::r32_float, {5, 7});
    image.upload(std::vector<float>(35, 3.0f));
    for (const Filter filter : {Filter::nearest, Filter::linear})
        for (const Wrap wrap : {Wrap::repeat, Wrap::clamp, Wrap::mirror}) {
            const Array<float> to = device().zeros<float>(int64_t(at.size()));
            k(ndrange(int64_t(at.size())), to, texture(image, {.filter = filter, .wrap = wrap}), device().upload(at));
            for (const float texel : to.download())
                EXPECT_TRUE(texel == 3.0f || (filter == Filter::linear && std::isnan(texel))) << texel;
        }
}

}  // namespace
