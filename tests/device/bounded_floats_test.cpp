// Floats that kernels bound before they use them as indices: NaN, infinities and numbers past every integer. The result is that
// of the interpreter on every device, whose code knows that a bounded float is a number.
#include <cmath>
#include <limits>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

std::vector<float> specials() {
    std::vector<float> all = {0,
                              -0.0f,
                              0.5f,
                              -0.5f,
                              1,
                              -1,
                              6.5f,
                              7,
                              7.5f,
                              -7.5f,
                              1e-37f,
                              16777216,
                              2147483520.0f,
                              2147483648.0f,
                              4294967040.0f,
                              4294967296.0f,
                              3e38f,
                              -2147483648.0f,
                              -3e38f,
                              -4294967296.0f,
                              nan,
                              -nan,
                              inf,
                              -inf};
    while (all.size() % 64) all.push_back(float(all.size()) - 20);
    return all;
}

struct Results {
    std::vector<float> bounded;
    std::vector<int> cells;
    std::vector<uint32_t> bytes;
};

/// `math`: as the kernel of a user who wants bits, or not.
Results results_on(const Device& d, Math math) {
    const auto bound = kernel("bound", math, [](Out<float, 2> bounded, Out<int, 2> cells, Out<uint32_t, 2> bytes, In<float> in) {
        auto i = global_index();
        const Val<float> x = in[i], low = 0.0f, high = 7.0f;
        bounded(0, i) = max(x, low), bounded(1, i) = max(low, x), bounded(2, i) = min(x, high), bounded(3, i) = min(high, x);
        bounded(4, i) = clamp(x, low, high), bounded(5, i) = min(max(x, -high), cast<float>(in.size() - 1));
        bounded(6, i) = max(min(x, in[0]), high), bounded(7, i) = min(in[0], max(x, high));
        cells(0, i) = cast<int>(clamp(x, 0.0f, cast<float>(in.size() - 1)));
        cells(1, i) = cast<int>(min(max(x, 0.0f), cast<float>(in.size())));
        cells(2, i) = cast<int>(x), cells(3, i) = cast<int>(max(x, 0.0f));
        bytes(0, i) = cast<uint32_t>(x), bytes(1, i) = cast<uint32_t>(clamp(x, 0.0f, 1.0f) * 255.0f + 0.5f);
        bytes(2, i) = cast<uint32_t>(x * 255.0f + 0.5f);
    });
    const std::vector<float> given = specials();
    const int64_t n = int64_t(given.size());
    const Array<float, 2> bounded = d.zeros<float>({8, n});
    const Array<int, 2> cells = d.zeros<int>({4, n});
    const Array<uint32_t, 2> bytes = d.zeros<uint32_t>({3, n});
    bound(ndrange(n), bounded, cells, bytes, d.upload(given));
    return {bounded.download(), cells.download(), bytes.download()};
}

void compare(Math math) {
    const Results want = results_on(Device::open("interp"), math), got = results_on(device(), math);
    const size_t n = specials().size();
    for (size_t s = 0; s < want.bounded.size(); ++s) {
        const float a = want.bounded[s], b = got.bounded[s];
        EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
            << "row " << s / n << " of " << specials()[s % n] << ": " << b << ", and the interpreter " << a;
    }
    for (size_t s = 0; s < want.cells.size(); ++s)
        EXPECT_EQ(got.cells[s], want.cells[s]) << "row " << s / n << " of " << specials()[s % n];
    for (size_t s = 0; s < want.bytes.size(); ++s)
        EXPECT_EQ(got.bytes[s], want.bytes[s]) << "row " << s / n << " of " << specials()[s % n];
}

TEST(BoundedFloats, are_numbers_on_every_device) { compare(Math::contract); }
TEST(BoundedFloats, are_numbers_on_every_device_under_strict_maths) { compare(Math::strict); }

/// An array without elements may have an extent that no binding has.
TEST(BoundedFloats, an_extent_past_every_binding_bounds_a_float) {
    const auto last = kernel("last", [](Out<int> out, In<float, 2> none, In<float> in) {
        auto i = global_index();
        out[i] = cast<int>(clamp(in[i], 0.0f, cast<float>(none.size(1))));
    });
    const Device d = device();
    const Array<float, 2> none = d.zeros<float>({0, std::numeric_limits<int32_t>::max()});
    const Array<int> out = d.zeros<int>(4);
    last(ndrange(4), out, none, d.upload(std::vector<float>{1.5f, 3e38f, -1.0f, nan}));
    EXPECT_EQ(out.download(), (std::vector<int>{1, std::numeric_limits<int32_t>::max(), 0, 0}));
    const Array<float, 2> some = d.zeros<float>({2, 3});
    last(ndrange(4), out, some, d.upload(std::vector<float>{1.5f, 3e38f, -1.0f, nan}));
    EXPECT_EQ(out.download(), (std::vector<int>{1, 3, 0, 0}));
}

}  // namespace
