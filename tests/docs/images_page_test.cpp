// docs/images.md: the examples are compiled and run as they stand on the page.
#include <pumice/pumice.h>

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace pumice;

TEST(ImagesPage, Examples) {
    const Device device = Device::open();
    const int64_t height = 4, width = 6, samples = 3;
    std::vector<std::byte> pixels(size_t(4 * height * width), std::byte(100));
#include "images/image.inc"
    EXPECT_EQ(result[0], std::byte(150));
    EXPECT_EQ(result[3], std::byte(100));
    EXPECT_NEAR(texels[0].x, 150.0f / 255, 1e-6);
#include "images/texture.inc"
    EXPECT_EQ(bright.download_pixels(), pixels);
    const auto out = device.zeros<float>(samples), d_out = device.full<float>(samples, 1.0f);
    const auto at = device.full<float2>(samples, float2{0.5f, 0.5f}), d_at = device.zeros<float2>(samples);
#include "images/gradient.inc"
    float sum = 0;
    for (const float g : d_map.download()) sum += g;
    EXPECT_NEAR(sum, 3, 1e-5);  // the weights of a sample sum to 1
}

TEST(ImagesPage, ExampleOfAProgram) {
    const Device device = Device::open();
    const int64_t height = 4, width = 6;
    const auto sharpen = kernel("sharpen", [](InOut<Image<float>> image) {
        auto [y, x] = global_index<2>();
        image(y, x) = image(y, x) * image(y, x);
    });
    const auto in = device.full<float>({height, width}, 0.999f), d_in = device.zeros<float>({height, width});
    const auto out = device.zeros<float>({height, width}), d_out = device.full<float>({height, width}, 1.0f);
#include "images/program.inc"
    for (const float g : d_in.download()) EXPECT_NEAR(g, 1024 * std::pow(0.999, 1023), 0.1);
}

}  // namespace
