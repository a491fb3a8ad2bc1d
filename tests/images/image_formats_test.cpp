// Formats: texels from the host to kernels and back.
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "tests/images/images.h"

using namespace pumice;
using namespace pumice::internal;
using suite::device;

namespace {

/// Copies the texels of an image of each T to an array and back, in kernels.
template <class T> auto reading() {
    return kernel("reading", Math::strict, [](Out<T, 2> out, In<Image<T>> image) {
        auto [y, x] = global_index<2>();
        out(y, x) = image(y, x);
    });
}
template <class T> auto writing() {
    return kernel("writing", Math::strict, [](Out<Image<T>> image, In<T, 2> in) {
        auto [y, x] = global_index<2>();
        image(y, x) = in(y, x);
    });
}

constexpr int64_t height = 5, width = 7;

template <class T> bool same_bits(const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }

/// A kernel loads what the host decodes of arbitrary bytes, and stores what the host encodes of the values.
template <class T> void check(Format format, const std::vector<T>& values) {
    SCOPED_TRACE(std::string(name_of(format)));
    const Device d = device();
    const Image<T> image = d.image<T>(format, {height, width});
    std::vector<std::byte> pixels(size_t(height * width * row_of(format).bytes()));
    for (size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = std::byte((i * 37 + 11) % (row_of(format).kind == FormatRow::Kind::real ? 113 : 256));
    image.upload_pixels(pixels);
    EXPECT_EQ(image.download_pixels(), pixels);
    const Array<T, 2> out = d.zeros<T>({height, width});
    reading<T>()(ndrange(height, width), out, image);
    const std::vector<T> decoded = image.download(), loaded = out.download();
    for (size_t i = 0; i < decoded.size(); ++i) EXPECT_TRUE(same_bits(decoded[i], loaded[i])) << "texel " << i;

    const Image<T> stored = d.image<T>(format, {height, width}), uploaded = d.image<T>(format, {height, width});
    const Array<T, 2> in = d.upload(values, {height, width});
    writing<T>()(ndrange(height, width), stored, in);
    uploaded.upload(values);
    EXPECT_EQ(stored.download_pixels(), uploaded.download_pixels());
}

/// Values between the bounds, after NaN, infinities and others that conversions treat in ways of their own.
template <class T> std::vector<T> texels(float low, float high) {
    constexpr size_t channels = sizeof(T) / 4;
    constexpr float infinite = std::numeric_limits<float>::infinity();
    constexpr std::array special{
        std::numeric_limits<float>::quiet_NaN(), infinite, -infinite, -0.0f, -1.0f, 1.0f, 0.5f / 255, 1.5f / 127};
    const std::vector<float> from = suite::numbers(size_t(height * width) * channels, 3);
    std::vector<T> all(size_t(height * width));
    constexpr bool is_signed = std::is_same_v<T, int32_t> || std::is_same_v<T, int2> || std::is_same_v<T, int4>;
    constexpr bool is_unsigned = std::is_same_v<T, uint32_t> || std::is_same_v<T, uint2> || std::is_same_v<T, uint4>;
    for (size_t i = 0; i < from.size(); ++i) {
        const bool is_special = !is_signed && !is_unsigned && i < special.size();
        const float value = is_special ? special[i] : low + (high - low) * from[i];
        uint32_t bits = std::bit_cast<uint32_t>(value);
        if constexpr (is_signed) bits = uint32_t(int32_t(value));
        if constexpr (is_unsigned) bits = uint32_t(value);
        std::memcpy(reinterpret_cast<char*>(all.data()) + 4 * i, &bits, 4);
    }
    return all;
}

TEST(Formats, kernels_load_and_store_normalised_texels_as_the_host_does) {
    check<float>(Format::r8_unorm, texels<float>(-0.2f, 1.2f));
    check<float2>(Format::rg8_unorm, texels<float2>(-0.2f, 1.2f));
    check<float4>(Format::rgba8_unorm, texels<float4>(-0.2f, 1.2f));
    check<float4>(Format::bgra8_unorm, texels<float4>(-0.2f, 1.2f));
    check<float>(Format::r16_unorm, texels<float>(-0.2f, 1.2f));
    check<float2>(Format::rg16_unorm, texels<float2>(-0.2f, 1.2f));
    check<float4>(Format::rgba16_unorm, texels<float4>(-0.2f, 1.2f));
    check<float>(Format::r8_snorm, texels<float>(-1.2f, 1.2f));
    check<float2>(Format::rg8_snorm, texels<float2>(-1.2f, 1.2f));
    check<float4>(Format::rgba8_snorm, texels<float4>(-1.2f, 1.2f));
    check<float>(Format::r16_snorm, texels<float>(-1.2f, 1.2f));
    check<float2>(Format::rg16_snorm, texels<float2>(-1.2f, 1.2f));
    check<float4>(Format::rgba16_snorm, texels<float4>(-1.2f, 1.2f));
}

TEST(Formats, kernels_load_and_store_float_texels_as_the_host_does) {
    std::vector<float> edges = texels<float>(-3, 3);
    const float special[] = {65504.0f, 65520.0f, 65519.0f, 1e6f, -1e6f, 6.1e-5f,   6.0e-5f,
                             5.96e-8f, 2.9e-8f,  3.0e-8f,  0.0f, -0.0f, 1.0009765f};
    std::copy(std::begin(special), std::end(special), edges.begin());
    check<float>(Format::r16_float, edges);
    check<float2>(Format::rg16_float, texels<float2>(-100, 100));
    check<float4>(Format::rgba16_float, texels<float4>(-1, 1));
    check<float>(Format::r32_float, edges);
    check<float2>(Format::rg32_float, texels<float2>(-100, 100));
    check<float4>(Format::rgba32_float, texels<float4>(-1, 1));
}

TEST(Formats, kernels_load_and_store_integer_texels_as_the_host_does) {
    check<uint32_t>(Format::r8_uint, texels<uint32_t>(0, 500));
    check<uint2>(Format::rg8_uint, texels<uint2>(0, 500));
    check<uint4>(Format::rgba8_uint, texels<uint4>(0, 500));
    check<uint32_t>(Format::r16_uint, texels<uint32_t>(0, 100000));
    check<uint2>(Format::rg16_uint, texels<uint2>(0, 100000));
    check<uint4>(Format::rgba16_uint, texels<uint4>(0, 100000));
    check<uint32_t>(Format::r32_uint, texels<uint32_t>(0, 4e9f));
    check<uint2>(Format::rg32_uint, texels<uint2>(0, 4e9f));
    check<uint4>(Format::rgba32_uint, texels<uint4>(0, 4e9f));
    check<int32_t>(Format::r8_sint, texels<int32_t>(-200, 200));
    check<int2>(Format::rg8_sint, texels<int2>(-200, 200));
    check<int4>(Format::rgba8_sint, texels<int4>(-200, 200));
    check<int32_t>(Format::r16_sint, texels<int32_t>(-40000, 40000));
    check<int2>(Format::rg16_sint, texels<int2>(-40000, 40000));
    check<int4>(Format::rgba16_sint, texels<int4>(-40000, 40000));
    check<int32_t>(Format::r32_sint, texels<int32_t>(-2e9f, 2e9f));
    check<int2>(Format::rg32_sint, texels<int2>(-2e9f, 2e9f));
    check<int4>(Format::rgba32_sint, texels<int4>(-2e9f, 2e9f));
}

TEST(Formats, srgb_texels_are_decoded_to_linear_light) {
    const Device d = device();
    const auto image = d.image<float4>(Format::rgba8_srgb, {1, 256});
    std::vector<std::byte> pixels;
    for (int i = 0; i < 256; ++i) pixels.insert(pixels.end(), 4, std::byte(i));
    image.upload_pixels(pixels);
    const auto out = d.zeros<float4>({1, 256});
    reading<float4>()(ndrange(1, 256), out, image);
    const std::vector<float4> texels = out.download();
    for (int i = 0; i < 256; ++i) {
        const double s = i / 255.0, wanted = s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
        EXPECT_NEAR(texels[size_t(i)].x, wanted, 3e-7) << i;
        EXPECT_NEAR(texels[size_t(i)].w, s, 1e-7) << i;
    }
    image.upload(texels);
    EXPECT_EQ(image.download_pixels(), pixels);
}

TEST(Formats, a_kernel_stores_one_channel_and_keeps_the_others) {
    const Device d = device();
    const auto redden = kernel("redden", [](InOut<Image<float4>> image) {
        auto [y, x] = global_index<2>();
        image(y, x).x = 1.0f;
    });
    const auto image = d.image<float4>(Format::rgba8_unorm, {2, 3});
    std::vector<std::byte> pixels(24);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = std::byte(7 * i);
    image.upload_pixels(pixels);
    redden(ndrange(2, 3), image);
    for (size_t i = 0; i < pixels.size(); i += 4) pixels[i] = std::byte(255);
    EXPECT_EQ(image.download_pixels(), pixels);
}

TEST(Formats, a_stored_value_is_read_back_as_the_format_rounds_it) {
    const Device d = device();
    const auto round_trip = kernel("round_trip", [](InOut<Image<float, 1>> image, InOut<float> values) {
        auto i = global_index();
        image(i) = values[i];
        values[i] = image(i);
    });
    const auto image = d.image<float>(Format::r8_unorm, {3});
    const auto values = d.upload(std::vector<float>{0.1f, 0.501f, 2.0f});
    round_trip(ndrange(3), image, values);
    EXPECT_EQ(values.download(), image.download());
    EXPECT_NEAR(values.download()[0], 26.0f / 255, 1e-6);
    EXPECT_EQ(values.download()[2], 1.0f);
}

TEST(Formats, images_have_one_to_three_dimensions_and_their_sizes) {
    const Device d = device();
    const auto sizes = kernel("sizes", [](Out<int> out, In<Image<float, 3>> a, In<Image<float, 1>> b) {
        out[0] = a.size(0), out[1] = a.size(1), out[2] = a.size(2), out[3] = b.size();
        out[4] = cast<int>(a(1, 2, 3) * 8.0f + b(6));
    });
    const auto a = d.image<float>(Format::r32_float, {2, 3, 4}), b3 = d.image<float>(Format::r32_float, {2, 3, 4});
    const auto b = d.image<float>(Format::r32_float, {7});
    std::vector<float> texels(24, 0.0f);
    texels[23] = 5;
    a.upload(texels);
    b.upload({0, 0, 0, 0, 0, 0, 2});
    const auto out = d.zeros<int>(5);
    sizes(ndrange(1), out, a, b);
    EXPECT_EQ(out.download(), (std::vector<int>{2, 3, 4, 7, 42}));
    EXPECT_EQ(a.extent(0), 2);
    EXPECT_EQ(a.extent(2), 4);
    a.copy_to(d.zeros<float>({2, 3, 4}));
    const auto array = d.full<float>({2, 3, 4}, 3.0f);
    b3.copy_from(array);
    EXPECT_EQ(b3.download(), array.download());
}

}  // namespace
