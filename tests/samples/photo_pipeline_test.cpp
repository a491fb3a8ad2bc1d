// The kernels of the photo sample against plain C++ on the host, and the sample's comparison of devices.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "samples/photo/agreement.h"
#include "samples/photo/photo_kernels.h"

using namespace pumice;

namespace {

/// A fixed picture with many unevenly distributed luminances and varying alpha.
Picture noisy(int width, int height) {
    Picture picture{width, height, {}};
    uint32_t state = 12345;
    for (int i = 0; i < width * height; ++i) {
        state = state * 1664525u + 1013904223u;
        picture.pixels.push_back((state >> 8 & 0x007f3f7f) + 0x00102030 + (uint32_t(i) << 24));
    }
    return picture;
}

int luminance_of(uint32_t p) { return int(54 * (p & 255) + 183 * (p >> 8 & 255) + 19 * (p >> 16 & 255) + 128) / 256; }

/// The expected result of the pipeline, in double where the pipeline uses floats.
struct Expected {
    std::vector<uint32_t> histogram = std::vector<uint32_t>(256), equalised;
    std::vector<double> blurred, edges;
};

Expected expect_of(const Picture& picture) {
    const int w = picture.width, h = picture.height;
    Expected e;
    for (const uint32_t p : picture.pixels) ++e.histogram[size_t(luminance_of(p))];
    std::vector<int64_t> curve(256);
    int64_t below = 0, lowest = -1;
    for (int level = 0; level < 256; ++level) {
        below += e.histogram[size_t(level)];
        if (lowest < 0 && below > 0) lowest = below;
        curve[size_t(level)] = lowest < 0 ? 0 : (below - lowest) * 255 / std::max<int64_t>(int64_t(w) * h - lowest, 1);
    }
    std::vector<double> bright;
    for (const uint32_t p : picture.pixels) {
        const int before = luminance_of(p);
        const uint32_t after = uint32_t(curve[size_t(before)]);
        uint32_t q = p & 0xff000000u;
        for (int shift : {0, 8, 16})
            q |= std::min<uint32_t>((p >> shift & 255) * after / uint32_t(std::max(before, 1)), 255) << shift;
        e.equalised.push_back(q);
        bright.push_back(after);
    }
    const auto at = [&](const std::vector<double>& v, int y, int x) {
        return v[size_t(std::clamp(y, 0, h - 1) * w + std::clamp(x, 0, w - 1))];
    };
    const auto bell = [](int d) { return std::exp(-d * d / (2.0 * 2 * 2)); };  // a standard deviation of 2 pixels
    // In two dimensions at once: the kernels' two passes must give the same.
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            double sum = 0, weights = 0;
            for (int v = -6; v <= 6; ++v)
                for (int u = -6; u <= 6; ++u) sum += bell(u) * bell(v) * at(bright, y + v, x + u), weights += bell(u) * bell(v);
            e.blurred.push_back(sum / weights);
        }
    const double weights[3] = {1, 2, 1};
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            double dx = 0, dy = 0;
            for (int k = -1; k <= 1; ++k) {
                dx += weights[k + 1] * (at(e.blurred, y + k, x + 1) - at(e.blurred, y + k, x - 1)) / 8;
                dy += weights[k + 1] * (at(e.blurred, y + 1, x + k) - at(e.blurred, y - 1, x + k)) / 8;
            }
            e.edges.push_back(std::hypot(dx, dy));
        }
    return e;
}

void check(const Picture& picture) {
    Pipeline pipeline(Device::open(), picture);
    pipeline.run();
    pipeline.run();  // a second run clears its bins
    const Results got = pipeline.results();
    const Expected want = expect_of(picture);
    EXPECT_EQ(got.histogram, want.histogram);
    EXPECT_EQ(got.equalised, want.equalised);
    ASSERT_EQ(got.blurred.size(), want.blurred.size());
    ASSERT_EQ(got.edges.size(), want.edges.size());
    for (size_t i = 0; i < want.blurred.size(); ++i) {
        ASSERT_NEAR(got.blurred[i], want.blurred[i], blurred_tolerance) << "pixel " << i;
        ASSERT_NEAR(got.edges[i], want.edges[i], edges_tolerance) << "pixel " << i;
    }
}

}  // namespace

TEST(PhotoPipeline, AgreesWithPlainCpuCode) { check(noisy(67, 41)); }
TEST(PhotoPipeline, TakesPicturesSmallerThanTheBlur) {
    check(noisy(1, 1));
    check(noisy(1, 40));
    check(noisy(5, 3));
}
TEST(PhotoPipeline, TakesAPictureOfOneGreyLevel) {
    check(Picture{20, 20, std::vector<uint32_t>(400, 0xff808080u)});
    check(Picture{20, 20, std::vector<uint32_t>(400, 0)});
}
TEST(PhotoPipeline, ReportsEachKernelBeforeItRuns) {
    Pipeline pipeline(Device::open(), noisy(8, 8));
    std::vector<std::string> told, names;
    pipeline.run([&](int step, const std::string& kernel) {
        EXPECT_EQ(step, int(told.size()));
        told.push_back(kernel);
    });
    for (const KernelBase& kernel : Pipeline::kernels()) names.push_back(kernel.name());
    EXPECT_EQ(told, names);
}

TEST(PhotoAgreement, FindsEachKindOfDifference) {
    Results a{{1, 2}, {0xff000000u, 0x10203040u}, {1, 2}, {3, 4}};
    const auto changed = [&](auto change) {
        Results b = a;
        change(b);
        return compare(a, b);
    };
    EXPECT_TRUE(compare(a, a).good());
    EXPECT_FALSE(changed([](Results& b) { b.histogram[1] = 5; }).good());
    EXPECT_EQ(changed([](Results& b) { b.histogram[1] = 5; }).histogram, 3);
    EXPECT_FALSE(changed([](Results& b) { b.equalised[1] = 0x10223040u; }).good());
    EXPECT_EQ(changed([](Results& b) { b.equalised[1] = 0x10223040u; }).equalised, 2);
    EXPECT_TRUE(changed([](Results& b) { b.blurred[0] += 0.0005f; }).good());
    EXPECT_FALSE(changed([](Results& b) { b.blurred[0] += 0.002f; }).good());
    EXPECT_TRUE(changed([](Results& b) { b.edges[1] -= 0.0015f; }).good());
    EXPECT_FALSE(changed([](Results& b) { b.edges[1] -= 0.003f; }).good());
    EXPECT_FALSE(changed([](Results& b) { b.edges[0] = NAN; }).good());
    const std::string sentence = changed([](Results& b) { b.edges[1] -= 1; }).sentence();
    EXPECT_NE(sentence.find("edge picture differs by up to 1 levels"), std::string::npos) << sentence;
}

TEST(PhotoPicture, CropsAndLaysOut) {
    const Picture p = noisy(10, 7), crop = crop_to_centre(p, 4, 100);
    EXPECT_EQ(crop.width, 4);
    EXPECT_EQ(crop.height, 7);
    for (int y = 0; y < 7; ++y)
        for (int x = 0; x < 4; ++x) EXPECT_EQ(crop.pixels[size_t(y * 4 + x)], p.pixels[size_t(y * 10 + x + 3)]);
    const Picture four = grid(p, p, p, p);
    EXPECT_EQ(four.width, 28);
    EXPECT_EQ(four.height, 22);
    EXPECT_EQ(four.pixels[size_t(21 * 28 + 27)], p.pixels.back());
    EXPECT_EQ(four.pixels[size_t(0 * 28 + 12)], 0xffffffffu);
    const Picture wide{3001, 2, std::vector<uint32_t>(6002, 0xff402010u)}, shrunk = grid(wide, wide, wide, wide);
    EXPECT_EQ(shrunk.width, 2 * 750 + 8);
    EXPECT_EQ(shrunk.pixels[0], 0xff402010u);
    EXPECT_EQ(grey({-5, 0.4f, 254.6f, 300}, 2, 2).pixels,
              (std::vector<uint32_t>{0xff000000u, 0xff000000u, 0xffffffffu, 0xffffffffu}));
}
