// Misuse of images: one sentence each.
#include "tests/images/images.h"

using namespace pumice;
using suite::device;
using suite::message_of;

namespace {

const auto copy = kernel("copy", [](Out<Image<float4>> to, In<Image<float4>> from) {
    auto [y, x] = global_index<2>();
    to(y, x) = from(y, x);
});

void expect_in(const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(ImageErrors, an_image_of_the_wrong_type_extent_or_level) {
    const Device d = device();
    expect_in(message_of([&] { d.image<float>(Format::rgba8_unorm, {2, 2}); }),
              "an image of format rgba8_unorm has 4 channels of f32, and its type in C++ has 1 channel of f32");
    expect_in(message_of([&] { d.image<float>(Format::r8_uint, {2, 2}); }),
              "has 1 channel of u32, and its type in C++ has 1 channel of f32");
    expect_in(message_of([&] { d.image<float>(Format::r8_unorm, {2, 0}); }),
              "an image of extent 0 along dimension 1 is asked for: extents are 1 to 32768");
    expect_in(message_of([&] { d.image<float>(Format::r8_unorm, {4, 4}, {.levels = 4}); }),
              "with 4 levels is asked for: it has 1 to 3");
    expect_in(message_of([&] { d.image_array<float>(Format::r8_unorm, 0, {4, 4}); }), "an image of 0 layers is asked for");
    const auto image = d.image<float>(Format::r8_unorm, {2, 3});
    expect_in(message_of([&] { image.upload({1, 2}); }),
              "2 texels are copied into level 0 of an r8_unorm image of 2 x 3, which has 6");
    expect_in(message_of([&] { image.download(1); }), "level 1 of an r8_unorm image of 2 x 3 is asked for; it has 1");
    expect_in(message_of([&] { image.upload_pixels(std::vector<std::byte>(5)); }), "5 bytes are copied into level 0");
    expect_in(message_of([&] { Image<float>().download(); }), "an image that was never made is used");
}

TEST(ImageErrors, an_image_that_does_not_fit_the_kernel) {
    const Device d = device();
    const auto a = d.image<float4>(Format::rgba8_unorm, {2, 2}), b = d.image<float4>(Format::rgba8_unorm, {2, 2});
    const auto read_only = d.image<float4>(Format::rgba8_unorm, {2, 2}, {.read_only = true});
    const auto srgb = d.image<float4>(Format::rgba8_srgb, {2, 2});
    copy(ndrange(2, 2), a, b);
    expect_in(message_of([&] { copy(ndrange(2, 2), read_only, a); }), "that kernels only read, and the kernel writes to it");
    expect_in(message_of([&] { copy(ndrange(2, 2), srgb, a); }),
              "argument 1 is an rgba8_srgb image of 2 x 2 that kernels only read, and the kernel writes to it");
    expect_in(message_of([&] { copy(ndrange(2, 2), a, a); }),
              "argument 1 and argument 2 overlap in memory, and argument 1 is written");
    expect_in(message_of([&] { copy(ndrange(2, 2), a, Image<float4>()); }), "argument 2 is an image that was never made");
    b.release();
    expect_in(message_of([&] { copy(ndrange(2, 2), a, b); }), "argument 2 is an image that was released");
    expect_in(message_of([&] { b.download(); }), "an image is used after its release()");
    const Device other = Device::open(d.name() == "interp" ? "cpu" : "interp");
    const auto elsewhere = other.image<float4>(Format::rgba8_unorm, {2, 2});
    expect_in(message_of([&] { copy(ndrange(2, 2), a, elsewhere); }), "lies on");
}

TEST(ImageErrors, kernels_and_texts_without_an_image) {
    expect_in(message_of([&] { copy.glsl(); }), "takes images, whose formats only a launch knows");
    const AnyKernel any = parse_ir(copy.ir());
    const Device d = device();
    const auto array = d.zeros<float4>({2, 2});
    expect_in(message_of([&] { any(ndrange(2, 2), array, array); }), "argument 1 is an array, and the kernel takes an image");
    const auto one = d.image<float>(Format::r8_unorm, {2, 2});
    expect_in(message_of([&] { any(ndrange(2, 2), one, one); }),
              "is an image of 1 channel of f32, and the kernel takes one of 4 channels of f32");
    const auto line = d.image<float4>(Format::rgba8_unorm, {2});
    expect_in(message_of([&] { any(ndrange(2, 2), line, line); }),
              "is a plain image of 1 dimension, and the kernel takes a plain one of 2");
    const auto whole = d.image<float4>(Format::rgba8_unorm, {2, 2});
    expect_in(message_of([&] { any(ndrange(2, 2), texture(whole), whole); }),
              "argument 1 is a texture, and the kernel takes an image");
    const auto plain = kernel("plain", [](Out<float> x) { x[global_index()] = 1.0f; });
    expect_in(message_of([&] { parse_ir(plain.ir())(ndrange(2), one); }), "is an image, and the kernel takes none there");
}

TEST(ImageErrors, integers_are_not_filtered) {
    const auto image = device().image<uint32_t>(Format::r8_uint, {2, 2});
    expect_in(message_of([&] { texture(image); }),
              "a texture of format r8_uint is filtered by Filter::linear: integers are read by Filter::nearest");
    texture(image, {.filter = Filter::nearest});
    const auto image2 = device().image<float>(Format::r8_unorm, {2, 2});
    expect_in(message_of([&] { texture(image2, {.mip_filter = Filter::cubic}); }),
              "levels are filtered by Filter::nearest or linear");
}

TEST(ImageErrors, the_image_of_a_texture_that_was_never_made) {
    const Texture<float> none;
    expect_in(message_of([&] { none.image(); }), "an image that was never made is used");
}

TEST(ImageErrors, a_kernel_that_takes_images_is_prepared) {
    const auto invert = kernel("invert", [](InOut<Image<float, 1>> image) {
        auto i = global_index();
        image(i) = 1.0f - image(i);
    });
    const auto refused = [&](std::vector<ImageDescription> images) {
        return message_of([&] { prepare(invert, device(), {.range = ndrange(4), .images = std::move(images)}); });
    };
    expect_in(refused({}), "is prepared for 0 images, and lacks argument 1");
    expect_in(refused({{Format::r8_unorm}, {Format::r8_unorm}}), "is prepared for 2 images, and takes 1");
    expect_in(refused({{Format::r8_unorm, {4, 4}}}), "is prepared for 2 extents of argument 1, an image of 1 dimension");
    expect_in(refused({{Format::rgba8_unorm}}), "an image of format rgba8_unorm has 4 channels of f32");
    expect_in(refused({{Format::r8_unorm, {0}}}), "an image of extent 0 along dimension 0");
    expect_in(refused({{Format::r8_unorm, {4}, 1, {.read_only = true}}}), "that kernels only read, and the kernel writes to it");
    prepare(invert, device(), {.range = ndrange(4), .images = {{Format::r8_unorm}}});
}

/// A texture of one level has no index for it in code; the interpreter reports another level all the same.
TEST(ImageErrors, a_level_that_a_texture_lacks) {
    const Device d = Device::open("interp");
    const auto fetch = kernel("fetch", [](Out<float> to, In<Texture<float, 1>> from, In<int> level) {
        auto i = global_index();
        to[i] = from.fetch(level[i], i);
    });
    const Array<float> to = d.zeros<float>(3);
    for (const int levels : {1, 2}) {
        const auto image = d.image<float>(Format::r32_float, {4}, {.levels = levels});
        image.upload({1, 2, 3, 4});
        fetch(ndrange(3), to, texture(image), d.upload(std::vector<int>{0, 0, 0}));
        EXPECT_EQ(to.download(), (std::vector<float>{1, 2, 3}));
        expect_in(message_of([&] {
                      fetch(ndrange(3), to, texture(image), d.upload(std::vector<int>{0, 0, levels}));
                      d.synchronize();
                  }),
                  "Kernel \"fetch\" reads argument 2 at index ");
    }
}

TEST(ImageErrors, an_atomic_of_an_image) {
    const auto add = kernel("add", [](InOut<Image<uint32_t, 1>> image) { atomic_add(image(global_index()), 1u); });
    expect_in(message_of([&] { add.ir(); }), "atomics need an array or local memory");
}

}  // namespace
