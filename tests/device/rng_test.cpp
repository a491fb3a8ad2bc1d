// Random numbers: published answers, the host against the device, and independence of the group size.
#include <cmath>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

TEST(Random, SplitMix64HasItsReferenceDraws) {
    rng::Splittable r(1234567);
    for (const uint64_t want :
         {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u, 16408922859458223821u})
        EXPECT_EQ(r.next(), want);
}

TEST(Random, PhiloxHasItsKnownAnswers) {  // Random123's kat_vectors, philox4x32 with 10 rounds
    using Block = std::array<uint32_t, 4>;
    EXPECT_EQ(rng::philox_host({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    const uint32_t ones = 0xffffffff;
    EXPECT_EQ(rng::philox_host({ones, ones, ones, ones}, {ones, ones}), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(rng::philox_host({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

const auto raw_draws = kernel("raw_draws", [](Out<uint32_t, 2> bits, In<rng::State> states, Val<int> draws) {
    auto i = global_index();
    rng::Stream random(states[i]);
    $for(k, range(draws)) {
        auto drawn = random.next();
        bits[i * draws * 2 + k * 2] = drawn.low;
        bits[i * draws * 2 + k * 2 + 1] = drawn.high;
    }
});

TEST(Random, StreamsEqualTheHostBitForBit) {
    const int n = 40, draws = 9;
    const std::vector<rng::State> states = rng::Splittable(12345).split(n);
    EXPECT_NE(states[0], states[1]);
    Array<uint32_t, 2> bits = device().zeros<uint32_t>({n, draws * 2});
    Array<rng::State> d = device().upload(states);
    raw_draws(ndrange(n), bits, d, draws);
    const std::vector<uint32_t> got = bits.download();
    for (int i = 0; i < n; ++i) {
        rng::Splittable host(states[i]);
        for (int k = 0; k < draws; ++k) {
            const uint64_t want = host.next();
            ASSERT_EQ(uint64_t(got[(i * draws + k) * 2 + 1]) << 32 | got[(i * draws + k) * 2], want) << i << ", " << k;
        }
    }
    EXPECT_EQ(d.download(), states);  // the stored states never advance
    Array<uint32_t, 2> again = device().zeros<uint32_t>({n, draws * 2});
    raw_draws(ndrange(n).group(4), again, d, draws);
    EXPECT_EQ(again.download(), got);
}

const auto philox_blocks = kernel("philox_blocks", [](Out<uint32_t> out, In<uint32_t> in) {
    auto i = global_index() * 4;
    const auto block = rng::philox({in[0], in[1], in[2], in[3] + cast<uint32_t>(global_index())}, {in[4], in[5]});
    for (int k = 0; k < 4; ++k) out[i + k] = block[k];
});

TEST(Random, PhiloxOnTheDeviceEqualsTheHost) {
    const std::vector<uint32_t> in{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0};
    Array<uint32_t> out = device().zeros<uint32_t>(16);
    philox_blocks(ndrange(4), out, device().upload(in));
    const std::vector<uint32_t> got = out.download();
    for (uint32_t i = 0; i < 4; ++i) {
        const auto want = rng::philox_host({in[0], in[1], in[2], in[3] + i}, {in[4], in[5]});
        for (int k = 0; k < 4; ++k) EXPECT_EQ(got[i * 4 + k], want[k]);
    }
}

const auto moments = kernel("moments", [](Out<float> uniform, Out<float> normal, Out<int> dice, Val<uint32_t> seed) {
    auto i = global_index();
    rng::Counter random(seed, cast<uint32_t>(i));
    uniform[i] = random.uniform<float>();
    normal[i] = random.normal<float>();
    dice[i] = random.integer(6);
});

TEST(Random, DistributionsHaveTheirMoments) {
    const int n = 20'000;
    Array<float> u = device().zeros<float>(n), z = device().zeros<float>(n);
    Array<int> d = device().zeros<int>(n);
    moments(ndrange(n), u, z, d, 7u);
    double mean = 0, square = 0, z_mean = 0, z_square = 0;
    for (const float x : u.download()) {
        ASSERT_TRUE(x >= 0 && x < 1) << x;
        mean += x;
        square += double(x) * x;
    }
    for (const float x : z.download()) {
        ASSERT_TRUE(std::isfinite(x));
        z_mean += x;
        z_square += double(x) * x;
    }
    // Five standard deviations of each estimate.
    EXPECT_NEAR(mean / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));
    EXPECT_NEAR(square / n, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
    EXPECT_NEAR(z_mean / n, 0, 5 / std::sqrt(double(n)));
    EXPECT_NEAR(z_square / n, 1, 5 * std::sqrt(2.0 / n));
    int counts[6] = {};
    for (const int x : d.download()) {
        ASSERT_TRUE(x >= 0 && x < 6) << x;
        ++counts[x];
    }
    for (const int c : counts) EXPECT_NEAR(c, n / 6.0, 5 * std::sqrt(n * 5.0 / 36));
}

const auto accumulate = kernel("accumulate_draws", [](Out<float> out, In<rng::State> states, In<float> params) {
    auto i = global_index();
    rng::Stream random(states[i]);  // contract 07's kernel
    Private<float, 1> acc;
    acc[0] = 0.0f;
    $for(k, range(0, 100)) { acc[0] += params[0] * random.uniform<float>(); }
    out[i] = acc[0];
});

TEST(Random, MonteCarloDoesNotDependOnTheGroup) {
    const int n = 256;
    Array<rng::State> states = device().upload(rng::Splittable(12345).split(n));
    Array<float> out = device().zeros<float>(n), again = device().zeros<float>(n), params = device().full<float>(1, 2.0f);
    accumulate(ndrange(n), out, states, params);
    accumulate(ndrange(n).group(64), again, states, params);
    EXPECT_EQ(again.download(), out.download());
    double sum = 0;
    for (const float v : out.download()) sum += v;
    EXPECT_NEAR(sum / 2 / (100.0 * n), 0.5, 0.01);
}

TEST(Types, RandomDoubles) {
    const auto k = kernel("random_doubles", [](Out<double> u, Out<double> z, Out<int> n) {
        auto i = global_index();
        rng::Counter random(5u, cast<uint32_t>(i));
        u[i] = random.uniform<double>();
        z[i] = random.normal<double>();
        n[i] = random.integer(10);
    });
    const int count = 4000;
    if (!device().supports(Feature::float64)) {
        Array<double> u = device().zeros<double>(count), z = device().zeros<double>(count);
        Array<int> n = device().zeros<int>(count);
        const std::string message = suite::message_of([&] { k(ndrange(count), u, z, n); });
        EXPECT_EQ(message.find("kernel \"random_doubles\" (rng_test.cpp:"), 0u) << message;
        EXPECT_NE(message.find(") uses double-precision floats (float64), which " + device().name()), std::string::npos)
            << message;
        return;
    }
    Array<double> u = device().zeros<double>(count), z = device().zeros<double>(count);
    Array<int> n = device().zeros<int>(count);
    k(ndrange(count), u, z, n);
    double mean = 0, square = 0, whole = 0;
    for (const double v : u.download()) {
        ASSERT_TRUE(v >= 0 && v < 1);
        mean += v / count;
    }
    for (const double v : z.download()) square += v * v / count;
    for (const int v : n.download()) whole += double(v) / count;
    EXPECT_NEAR(mean, 0.5, 0.02);
    EXPECT_NEAR(square, 1, 0.08);
    EXPECT_NEAR(whole, 4.5, 0.15);
    // The same draws for every group size.
    Array<double> again = device().zeros<double>(count);
    k(ndrange(count).group(32), again, z, n);
    EXPECT_EQ(again.download(), u.download());
}

}  // namespace
