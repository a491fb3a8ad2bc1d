// Division and square root of Math::strict are exact to the bit: random operands of all magnitudes, and operands whose results
// lie next to the midpoint of two floats.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <random>

#include "tests/kept_device.h"

using namespace pumice;

namespace {

float of_bits(uint32_t bits) { return std::bit_cast<float>(bits); }
bool is_subnormal(float x) { return std::fpclassify(x) == FP_SUBNORMAL; }

/// True if the device may flush subnormal numbers to zero: Vulkan allows it where the device's own division is used.
bool may_flush(const Device& device) {
    const char* divides = std::getenv("PUMICE_VULKAN_DIVIDE");
    return device.name() != "interp" && device.name().find("cpu") != 0 && !(divides && *divides == '1');
}

struct Operands {
    std::vector<float> a, b;
    void add(float x, float y) { a.push_back(x), b.push_back(y); }
};

Operands hard_operands() {
    Operands all;
    std::mt19937_64 random(7);
    constexpr uint32_t special[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
                                    0x00800001, 0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x40400000,
                                    0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7e800000};
    for (const uint32_t a : special)
        for (const uint32_t b : special) all.add(of_bits(a), of_bits(b));
    for (int n = 0; n < 100'000; ++n) all.add(of_bits(uint32_t(random())), of_bits(uint32_t(random())));
    for (int n = 0; n < 100'000; ++n) {
        // a is next to b times the midpoint of two floats; with some exponents the quotient is subnormal.
        const double b = 1.0 + double(random() % (1 << 23)) / (1 << 23),
                     middle = 1.0 + (double(random() % (1 << 23)) + 0.5) / (1 << 23);
        const int eb = int(random() % 200) - 100, ea = random() % 4 ? int(random() % 200) - 100 : eb - 126 - int(random() % 24);
        float a = float(b * middle);
        if (random() % 3 == 0) a = std::nextafter(a, random() % 2 ? 0.0f : 4.0f);
        all.add(std::ldexp(a, ea), std::ldexp(float(b), eb));
    }
    return all;
}

void compare(const char* what, const std::vector<float>& got, const Operands& in, float (*wanted)(float, float), bool flush) {
    int wrong = 0;
    for (size_t n = 0; n < got.size() && wrong < 10; ++n) {
        const float want = wanted(in.a[n], in.b[n]);
        if (std::isnan(want) ? std::isnan(got[n]) : std::bit_cast<uint32_t>(want) == std::bit_cast<uint32_t>(got[n])) continue;
        if (flush && (is_subnormal(in.a[n]) || is_subnormal(in.b[n]) || (std::fabs(want) <= FLT_MIN && got[n] == 0))) continue;
        ++wrong;
        ADD_FAILURE() << what << " of " << std::hexfloat << in.a[n] << ", " << in.b[n] << " is " << got[n] << "; expected "
                      << want;
    }
}

TEST(OpsStrict, DivisionAndSquareRootHaveTheBitsOfTheHost) {
    const Device device = kept_device->get();
    const Operands in = hard_operands();
    const int64_t n = int64_t(in.a.size());
    const auto k =
        kernel("strict_division", Math::strict,
               [](Out<float> quotient, Out<float> root, Out<float> fourfold, Out<float> third, In<float> a, In<float> b) {
                   auto i = global_index();
                   quotient[i] = a[i] / b[i];
                   root[i] = sqrt(a[i]);
                   fourfold[i] = a[i] / -0.25f;
                   third[i] = b[i] / 3.0f;
               });
    Array<float> quotient = device.zeros<float>(n), root = device.zeros<float>(n), fourfold = device.zeros<float>(n),
                 third = device.zeros<float>(n);
    k(ndrange(n), quotient, root, fourfold, third, device.upload(in.a), device.upload(in.b));
    const bool flush = may_flush(device);
    compare("the quotient", quotient.download(), in, [](float a, float b) { return a / b; }, flush);
    compare("the square root", root.download(), in, [](float a, float) { return std::sqrt(a); }, flush);
    // A quotient by a power of two is a product, and the device's own instruction is used.
    compare("the quotient by -1/4", fourfold.download(), in, [](float a, float) { return a / -0.25f; }, true);
    compare("the quotient by 3", third.download(), in, [](float, float b) { return b / 3.0f; }, flush);
}

TEST(OpsStrict, DivisionOfHalves) {
    const Device device = kept_device->get();
    if (!device.supports(Feature::float16)) GTEST_SKIP() << "SKIPPED: " << device.name() << " has no halves";
    const auto k = kernel("strict_halves", Math::strict, [](Out<half> quotient, Out<half> root, In<half> a, In<half> b) {
        auto i = global_index();
        quotient[i] = a[i] / b[i];
        root[i] = sqrt(a[i]);
    });
    std::mt19937 random(3);
    std::vector<half> a, b;
    for (int n = 0; n < 20'000; ++n) {
        a.push_back(half(std::ldexp(float(1024 + random() % 1024), int(random() % 10) - 12)));
        b.push_back(half(std::ldexp(float(1024 + random() % 1024), int(random() % 10) - 12)));
    }
    Array<half> quotient = device.zeros<half>(int64_t(a.size())), root = device.zeros<half>(int64_t(a.size()));
    k(ndrange(int64_t(a.size())), quotient, root, device.upload(a), device.upload(b));
    const auto got = quotient.download(), got_root = root.download();
    for (size_t n = 0; n < a.size(); ++n) {
        ASSERT_EQ(float(got[n]), float(half(float(a[n]) / float(b[n])))) << float(a[n]) << " / " << float(b[n]);
        ASSERT_EQ(float(got_root[n]), float(half(std::sqrt(float(a[n]))))) << float(a[n]);
    }
}

}  // namespace
