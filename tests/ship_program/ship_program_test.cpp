// Programs of a shipped library against the same programs by the library itself: to the bit, unless atomic additions have no
// order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "shipped_programs.hpp"
#include "tests/ship_program/program_functions.h"

extern "C" pumice_status shipped_by_c(pumice_device device, pumice_program program, const pumice_array* y,
                                      const pumice_array* shadow, const pumice_array* x, const pumice_array* x_shadow, float a,
                                      float* a_shadow, float b);

namespace {

namespace rt = pumice::rt;
using Floats = std::vector<float>;

/// The device of the library, and that of the runtime, of one kind.
struct Devices {
    pumice::Device full = pumice::Device::open();
    rt::Device small{std::getenv("PUMICE_DEVICE")};
};
Devices& devices() {
    static Devices all;
    EXPECT_TRUE(all.small) << pumice_error();
    return all;
}

rt::Array<float> on_runtime(const Floats& values) {
    const int64_t extents[] = {int64_t(values.size())};
    rt::Array<float> a = devices().small.array<float>(extents);
    EXPECT_TRUE(a.write(values.data(), int64_t(values.size()))) << pumice_error();
    return a;
}
Floats back(const rt::Array<float>& a) {
    Floats values(size_t(a.count()));
    EXPECT_TRUE(a.read(values.data(), a.count())) << pumice_error();
    return values;
}
/// Adjoints add atomically to shadows. On Vulkan the order of two additions depends on the run, on the processor it does not.
bool in_order() { return !devices().full.name().starts_with("vulkan"); }
Floats wave(int64_t n, float phase) {
    Floats values;
    for (int64_t i = 0; i < n; ++i) values.push_back(0.5f + 0.25f * float((i * 37 + int64_t(phase * 100)) % 29) / 29.0f);
    return values;
}
void expect_equal(const Floats& got, const Floats& want, const char* what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    for (size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof(float)), 0) << what << " " << i << ": " << got[i] << ", not " << want[i];
}

void expect_same_sums(const Floats& got, const Floats& want, const char* what) {
    if (in_order()) return expect_equal(got, want, what);
    float most = 0;
    for (const float w : want) most = std::max(most, std::abs(w));
    ASSERT_EQ(got.size(), want.size()) << what;
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-6f * most) << what << " " << i;
}

struct Heat {
    float loss, d_loss_left;
    Floats gradient;
    float d_rate = 0;
};
Heat heat_by_library(const Floats& u0, const Floats& target, float rate, pumice::ReverseMode mode, bool active) {
    const pumice::Device& device = devices().full;
    auto loss = device.zeros<float>(1), d_loss = device.full<float>(1, 1.0f), u = device.upload(u0),
         d_u = device.zeros<float>(int64_t(u0.size()));
    const auto t = device.upload(target);
    Heat made;
    if (active)
        made.d_rate = std::get<0>(pumice::autodiff(mode, shipped::loss_of, pumice::Duplicated(loss, d_loss),
                                                   pumice::Duplicated(u, d_u), pumice::Const(t), pumice::Active(rate)));
    else
        pumice::autodiff(mode, shipped::loss_of, pumice::Duplicated(loss, d_loss), pumice::Duplicated(u, d_u), pumice::Const(t),
                         pumice::Const(rate));
    made.loss = loss.download()[0], made.d_loss_left = d_loss.download()[0], made.gradient = d_u.download();
    return made;
}
void expect_equal(const Heat& got, const Heat& want) {
    EXPECT_EQ(got.loss, want.loss);
    EXPECT_EQ(got.d_loss_left, want.d_loss_left);
    expect_same_sums(got.gradient, want.gradient, "gradient");
    expect_same_sums({got.d_rate}, {want.d_rate}, "derivative by the rate");
}

TEST(ShipProgram, ForwardRunGivesTheLibrarysResultForEverySize) {
    for (const int64_t n : {16, 64, 65, 1000}) {
        const shipped_programs::inverse program(devices().small, n);
        ASSERT_TRUE(program) << pumice_error();
        for (const float rate : {0.5f, 0.3f}) {
            const Floats u0 = wave(n, rate), target = wave(n, 0.1f);
            const auto loss = on_runtime({0});
            ASSERT_TRUE(program.forward(loss, on_runtime(u0), on_runtime(target), rate)) << pumice_error();
            EXPECT_EQ(back(loss)[0], heat_by_library(u0, target, rate, pumice::Reverse, false).loss) << n << " " << rate;
            EXPECT_GT(back(loss)[0], 0);
        }
    }
}

TEST(ShipProgram, GradientOfAHeatProblemIsTheLibrarysForEverySize) {
    for (const int64_t n : {16, 64, 200}) {
        const shipped_programs::inverse program(devices().small, n);
        for (const float rate : {0.5f, 0.3f}) {
            const Floats u0 = wave(n, rate), target = wave(n, 0.1f);
            const auto loss = on_runtime({0}), d_loss = on_runtime({1}), d_u = on_runtime(Floats(size_t(n), 0.0f));
            ASSERT_TRUE(program.gradient(loss, d_loss, on_runtime(u0), d_u, on_runtime(target), rate)) << pumice_error();
            expect_equal({back(loss)[0], back(d_loss)[0], back(d_u)}, heat_by_library(u0, target, rate, pumice::Reverse, false));
        }
    }
}

TEST(ShipProgram, CheckpointsAndDerivativeByAScalar) {
    const int64_t n = 64;
    const shipped_programs::kept program(devices().small);
    for (const float rate : {0.5f, 0.7f}) {
        const Floats u0 = wave(n, rate), target = wave(n, 0.1f);
        const auto loss = on_runtime({0}), d_loss = on_runtime({1}), d_u = on_runtime(Floats(size_t(n), 0.0f));
        float d_rate = -1;
        ASSERT_TRUE(program.gradient(loss, d_loss, on_runtime(u0), d_u, on_runtime(target), rate, &d_rate)) << pumice_error();
        const Heat want = heat_by_library(u0, target, rate, pumice::Reverse.checkpoints(3), true);
        expect_equal({back(loss)[0], back(d_loss)[0], back(d_u), d_rate}, want);
        EXPECT_NE(d_rate, 0);
    }
}

TEST(ShipProgram, HalvesOfTheGradientRunApart) {
    const int64_t n = 64;
    const shipped_programs::kept program(devices().small);
    const Floats u0 = wave(n, 0.2f), target = wave(n, 0.1f);
    const auto loss = on_runtime({0}), d_loss = on_runtime({1}), u = on_runtime(u0), d_u = on_runtime(Floats(size_t(n), 0.0f)),
               t = on_runtime(target);
    float d_rate = -1;
    EXPECT_FALSE(program.reverse(d_loss, d_u, &d_rate));
    EXPECT_NE(std::string(pumice_error()).find("second half"), std::string::npos) << pumice_error();
    ASSERT_TRUE(program.augmented(loss, u, t, 0.5f)) << pumice_error();
    EXPECT_EQ(back(d_u), Floats(size_t(n), 0.0f));
    ASSERT_TRUE(program.reverse(d_loss, d_u, &d_rate)) << pumice_error();
    expect_equal({back(loss)[0], back(d_loss)[0], back(d_u), d_rate},
                 heat_by_library(u0, target, 0.5f, pumice::Reverse.checkpoints(3), true));
    EXPECT_FALSE(program.reverse(d_loss, d_u, &d_rate));
}

TEST(ShipProgram, TapeWhoseLengthDependsOnTheData) {
    for (const int64_t n : {40, 77, 300}) {
        const shipped_programs::grow program(devices().small, n);
        ASSERT_TRUE(program) << pumice_error();
        int64_t most_bytes = 0;
        for (const float low : {9.0f, 0.0f, 9.0f}) {  // few iterations, more, and few again
            Floats x = wave(n, 0.3f);
            for (size_t i = 0; i < x.size(); ++i) x[i] = low + float(i % 7);
            const pumice::Device& device = devices().full;
            auto y = device.zeros<float>(n), dy = device.full<float>(n, 1.0f), fx = device.upload(x), dx = device.zeros<float>(n);
            pumice::autodiff(pumice::Reverse, shipped::grow_all, pumice::Duplicated(y, dy), pumice::Duplicated(fx, dx));
            const auto ry = on_runtime(Floats(size_t(n), 0.0f)), rdy = on_runtime(Floats(size_t(n), 1.0f)), rx = on_runtime(x),
                       rdx = on_runtime(Floats(size_t(n), 0.0f));
            ASSERT_TRUE(program.gradient(ry, rdy, rx, rdx)) << pumice_error();
            expect_equal(back(ry), y.download(), "y");
            expect_same_sums(back(rdx), dx.download(), "dx");
            EXPECT_NE(back(rdx)[2], 0);
            EXPECT_EQ(program.bytes() > most_bytes, most_bytes == 0 || low == 0);  // the tape has grown
            most_bytes = program.bytes();
        }
    }
}

TEST(ShipProgram, ScalarExpressionsAndPartsOfArrays) {
    for (const int64_t n : {16, 3, 129}) {
        const shipped_programs::scaled program(devices().small, n);
        ASSERT_TRUE(program) << pumice_error();
        for (const float a : {1.5f, -0.7f, 0.1f})
            for (const float b : {2.0f, 3.5f}) {
                const Floats y0 = wave(n, 0.5f), x0 = wave(n, a);
                const pumice::Device& device = devices().full;
                auto y = device.upload(y0), dy = device.upload(wave(n, 0.9f)), x = device.upload(x0), dx = device.zeros<float>(n);
                const auto [d_a] = pumice::autodiff(
                    pumice::Reverse, [](auto&... given) { shipped::scaled(given...); }, pumice::Duplicated(y, dy),
                    pumice::Duplicated(x, dx), pumice::Const(n), pumice::Active(a), pumice::Const(b));
                const auto ry = on_runtime(y0), rdy = on_runtime(wave(n, 0.9f)), rx = on_runtime(x0),
                           rdx = on_runtime(Floats(size_t(n), 0.0f)), forward = on_runtime(y0);
                float r_a = 0;
                ASSERT_TRUE(program.forward(forward, rx, a, b)) << pumice_error();
                ASSERT_TRUE(program.gradient(ry, rdy, rx, rdx, a, &r_a, b)) << pumice_error();
                expect_equal(back(forward), y.download(), "forward");
                expect_equal(back(ry), y.download(), "y");
                expect_equal(back(rdy), dy.download(), "dy");
                expect_same_sums(back(rdx), dx.download(), "dx");
                expect_same_sums({r_a}, {d_a}, "d_a");
            }
    }
}

TEST(ShipProgram, ParametersMayHaveNamesThatTheHeadersUse) {
    const int64_t n = 50;
    const rt::Device& device = devices().small;
    const shipped_programs::scaled plain(device, n);
    const shipped_programs::program_forward named(device, n);
    ASSERT_TRUE(plain && named) << pumice_error();
    const auto copy = [&](float phase) { return on_runtime(wave(n, phase)); };
    const auto y = copy(0.5f), dy = copy(0.9f), x = copy(1.5f), dx = copy(0.1f);
    const auto y2 = copy(0.5f), dy2 = copy(0.9f), x2 = copy(1.5f), dx2 = copy(0.1f);
    float da = 0, da2 = 0;
    ASSERT_TRUE(shipped_programs::pumice_launch(device, 3, y, 0.5f, 0.25f, 1, 2, 4)) << pumice_error();
    EXPECT_EQ(back(y)[2], wave(n, 0.5f)[2] + 7.75f);
    ASSERT_TRUE(plain.gradient(y, dy, x, dx, 1.5f, &da, 2.0f)) << pumice_error();
    ASSERT_EQ(shipped_by_c(device.handle(), named.handle(), y2.get(), dy2.get(), x2.get(), dx2.get(), 1.5f, &da2, 2.0f),
              PUMICE_OK)
        << pumice_error();
    expect_equal(back(y2), back(y), "y");
    expect_equal(back(dy2), back(dy), "dy");
    expect_same_sums(back(dx2), back(dx), "dx");
    expect_same_sums({da2}, {da}, "da");
    const shipped_programs::smoothed smoothed(device, 5, 4);
    const shipped_programs::pumice_stream other(device, 5, 4);
    const auto from = device.array<float>({5, 8}), to = device.array<float>({5, 8}), to2 = device.array<float>({5, 8});
    ASSERT_TRUE(from.write(wave(40, 0.3f).data(), 40) && smoothed.forward(to, from) && other.forward(to2, from))
        << pumice_error();
    Floats got(40), want(40);
    ASSERT_TRUE(to2.read(got.data(), 40) && to.read(want.data(), 40)) << pumice_error();
    expect_equal(got, want, "to");
}

TEST(ShipProgram, FunctionsOfScalarsAreTheLibrarysToTheBit) {
    const shipped_programs::functions program(devices().small);
    ASSERT_TRUE(program) << pumice_error();
    if (!devices().full.supports(pumice::Feature::float64)) {  // a kernel of the program takes a double
        EXPECT_FALSE(program.prepare(PUMICE_FORWARD));
        EXPECT_NE(std::string(pumice_error()).find("add_scalars"), std::string::npos) << pumice_error();
        return;
    }
    for (const float a : {1.5f, 0.3f, 2.125f})
        for (const double b : {0.75, 0.1, 3.3}) {
            const Floats y0 = {0, 1, 100}, seed = {1, 0.5f, -0.25f};
            auto y = devices().full.upload(y0), dy = devices().full.upload(seed);
            const auto [d_a, d_b] = pumice::autodiff(
                pumice::Reverse, [](auto&... given) { shipped::functions(given...); }, pumice::Duplicated(y, dy),
                pumice::Active(a), pumice::Active(b));
            const auto forward = on_runtime(y0), ry = on_runtime(y0), rdy = on_runtime(seed);
            float r_a = 0;
            double r_b = 0;
            ASSERT_TRUE(program.forward(forward, a, b)) << pumice_error();
            ASSERT_TRUE(program.gradient(ry, rdy, a, &r_a, b, &r_b)) << pumice_error();
            expect_equal(back(forward), y.download(), "forward");
            expect_equal(back(ry), y.download(), "y");
            expect_same_sums({r_a, float(r_b)}, {d_a, float(d_b)}, "derivatives");
            EXPECT_TRUE(r_b == d_b || !in_order()) << r_b << " " << d_b;
            EXPECT_TRUE(std::isfinite(r_a) && std::isfinite(r_b) && r_a != 0 && r_b != 0);
        }
}

TEST(ShipProgram, TwoSizesStructsAndGroups) {
    using shipped::Particle;
    const pumice::Device& device = devices().full;
    for (const auto& [n, m] : {std::pair<int64_t, int64_t>{100, 4}, {33, 1}, {25, 9}, {260, 7}}) {
        const shipped_programs::particles program(devices().small, n, m);
        ASSERT_TRUE(program) << pumice_error();
        std::vector<Particle> p0, d0(size_t(n), Particle{0, 0});
        std::vector<int32_t> steps0;
        for (int64_t i = 0; i < n; ++i) p0.push_back({0.25f * float(i % 5), 0.5f}), steps0.push_back(int32_t(i % 3));
        const Floats force0 = wave(n * m, 0.4f);

        auto sums = device.zeros<float>(2), d_sums = device.full<float>(2, 1.0f);
        auto p = device.upload(p0), d_p = device.upload(d0);
        auto force = device.upload(force0, {n, m}), d_force = device.zeros<float>({n, m});
        const auto steps = device.upload(steps0);
        pumice::autodiff(pumice::Reverse, shipped::particles, pumice::Duplicated(sums, d_sums), pumice::Duplicated(p, d_p),
                         pumice::Const(steps), pumice::Duplicated(force, d_force));

        const auto r_sums = on_runtime({0, 0}), r_d_sums = on_runtime({1, 1});
        const int64_t line[] = {n}, square[] = {n, m};
        const auto r_p = devices().small.array<Particle>(line), r_d_p = devices().small.array<Particle>(line);
        const auto r_steps = devices().small.array<int32_t>(line);
        const auto r_force = devices().small.array<float>(square), r_d_force = devices().small.array<float>(square);
        EXPECT_TRUE(r_p.write(p0.data(), n) && r_steps.write(steps0.data(), n) && r_force.write(force0.data(), n * m));
        ASSERT_TRUE(program.gradient(r_sums, r_d_sums, r_p, r_d_p, r_steps, r_force, r_d_force)) << pumice_error();
        expect_equal(back(r_sums), sums.download(), "sums");
        Floats d_force_back(size_t(n * m)), particles_back(size_t(2 * n)), wanted;
        EXPECT_TRUE(r_d_force.read(d_force_back.data(), n * m) && r_p.pumice::rt::AnyArray::read(particles_back.data(), 8 * n));
        expect_same_sums(d_force_back, d_force.flat().download(), "d_force");
        for (const Particle& one : p.download()) wanted.push_back(one.position), wanted.push_back(one.velocity);
        expect_equal(particles_back, wanted, "p");
        EXPECT_NE(d_force_back[0], 0);
    }
}

TEST(ShipProgram, StencilHasTheDevicesOwnAdjoint) {
    const pumice::Device& device = devices().full;
    for (const auto& [rows, half] : {std::pair<int64_t, int64_t>{20, 12}, {5, 40}, {64, 64}}) {
        const int64_t columns = 2 * half, extents[] = {rows, columns};
        const shipped_programs::smoothed program(devices().small, rows, half);
        ASSERT_TRUE(program) << pumice_error();
        const Floats from0 = wave(rows * columns, 0.7f), seed = wave(rows * columns, 0.2f);
        auto to = device.zeros<float>({rows, columns}), d_to = device.upload(seed, {rows, columns}),
             from = device.upload(from0, {rows, columns}), d_from = device.zeros<float>({rows, columns});
        pumice::autodiff(pumice::Reverse, shipped::smoothed, pumice::Duplicated(to, d_to), pumice::Duplicated(from, d_from),
                         pumice::Const(rows), pumice::Const(columns));
        const auto array = [&] { return devices().small.array<float>(extents); };
        const auto r_to = array(), r_d_to = array(), r_from = array(), r_d_from = array();
        EXPECT_TRUE(r_d_to.write(seed.data(), rows * columns) && r_from.write(from0.data(), rows * columns));
        ASSERT_TRUE(program.gradient(r_to, r_d_to, r_from, r_d_from)) << pumice_error();
        Floats got(size_t(rows * columns));
        EXPECT_TRUE(r_to.read(got.data(), rows * columns));
        expect_equal(got, to.flat().download(), "to");
        EXPECT_TRUE(r_d_from.read(got.data(), rows * columns));
        expect_same_sums(got, d_from.flat().download(), "d_from");
    }
}

/// The strategy of a reverse sweep, which otherwise depends on the sizes, is one for all sizes.
TEST(ShipProgram, GradientsOfProductsOfMatricesAreForEverySize) {
    const pumice::Device& device = devices().full;
    for (const auto& size : {std::array<int64_t, 3>{20, 12, 8}, {65, 13, 132}, {5, 3, 2}, {300, 3, 2}, {5, 90, 2}}) {
        const int64_t n = size[0], m = size[1], k = size[2];
        const shipped_programs::layers program(devices().small, n, k, m);
        ASSERT_TRUE(program) << pumice_error();
        const Floats x0 = wave(n * m, 0.7f), first0 = wave(m * k, 0.3f), second0 = wave(k * k, 0.1f), seeds = wave(n * k, 0.2f);
        auto y = device.zeros<float>({n, k}), dy = device.upload(seeds, {n, k}), x = device.upload(x0, {n, m}),
             dx = device.zeros<float>({n, m}), first = device.upload(first0, {m, k}), d_first = device.zeros<float>({m, k}),
             second = device.upload(second0, {k, k}), d_second = device.zeros<float>({k, k});
        pumice::autodiff(pumice::Reverse, shipped::layers, pumice::Duplicated(y, dy), pumice::Duplicated(x, dx),
                         pumice::Duplicated(first, d_first), pumice::Duplicated(second, d_second));
        const auto made = [](int64_t rows, int64_t columns, const Floats& values) {
            const int64_t extents[] = {rows, columns};
            auto a = devices().small.array<float>(extents);
            EXPECT_TRUE(a.write(values.data(), int64_t(values.size()))) << pumice_error();
            return a;
        };
        const auto none = [](int64_t count) { return Floats(size_t(count), 0.0f); };
        const auto r_y = made(n, k, none(n * k)), r_dy = made(n, k, seeds), r_x = made(n, m, x0), r_dx = made(n, m, none(n * m)),
                   r_first = made(m, k, first0), r_d_first = made(m, k, none(m * k)), r_second = made(k, k, second0),
                   r_d_second = made(k, k, none(k * k));
        ASSERT_TRUE(program.gradient(r_y, r_dy, r_x, r_dx, r_first, r_d_first, r_second, r_d_second)) << pumice_error();
        const auto expect_near = [&](const auto& got, const Floats& want, const char* what) {
            Floats values(want.size());
            EXPECT_TRUE(got.read(values.data(), int64_t(values.size()))) << pumice_error();
            const float most = *std::ranges::max_element(want);
            for (size_t e = 0; e < want.size() && !testing::Test::HasFailure(); ++e)
                EXPECT_NEAR(values[e], want[e], 1e-5f * most) << what << ", element " << e << ", n = " << n;
        };
        expect_near(r_y, y.flat().download(), "y");
        expect_near(r_dx, dx.flat().download(), "dx");
        expect_near(r_d_first, d_first.flat().download(), "d_first");
        expect_near(r_d_second, d_second.flat().download(), "d_second");
    }
}

/// The same for sums in cells, which pay for many items, and for pairs; the examples have few items, or many.
template <class Program> void expect_gradient_of_forces(const std::vector<std::pair<int64_t, int64_t>>& sizes) {
    const pumice::Device& device = devices().full;
    for (const auto& size : sizes) {
        const int64_t n = size.first, k = size.second;
        const Program program(devices().small, n, k);
        ASSERT_TRUE(program) << pumice_error();
        const Floats x0 = wave(n * k, 0.7f), z0 = wave(k, 0.3f), seeds = wave(n, 0.2f);
        auto y = device.zeros<float>(n), dy = device.upload(seeds), z = device.upload(z0), dz = device.zeros<float>(k);
        auto x = device.upload(x0, {n, k}), dx = device.zeros<float>({n, k});
        pumice::autodiff(pumice::Reverse, shipped::dense_forces, pumice::Duplicated(y, dy), pumice::Duplicated(x, dx),
                         pumice::Duplicated(z, dz));
        const int64_t extents[] = {n, k};
        const auto r_x = devices().small.array<float>(extents), r_dx = devices().small.array<float>(extents);
        const Floats none(size_t(n * k), 0.0f);
        EXPECT_TRUE(r_x.write(x0.data(), n * k) && r_dx.write(none.data(), n * k)) << pumice_error();
        const auto r_y = on_runtime(Floats(size_t(n))), r_dy = on_runtime(seeds), r_z = on_runtime(z0),
                   r_dz = on_runtime(Floats(size_t(k)));
        ASSERT_TRUE(program.gradient(r_y, r_dy, r_x, r_dx, r_z, r_dz)) << pumice_error();
        const auto expect_near = [&](const Floats& got, const Floats& want, const char* what) {
            float most = 0;
            for (const float w : want) most = std::max(most, std::abs(w));
            for (size_t e = 0; e < want.size() && !testing::Test::HasFailure(); ++e)
                EXPECT_NEAR(got[e], want[e], 1e-4f * most) << what << ", element " << e << ", n = " << n << ", k = " << k;
        };
        expect_near(back(r_y), y.download(), "y");
        expect_near(back(r_dz), dz.download(), "dz");
        Floats got(size_t(n * k));
        EXPECT_TRUE(r_dx.read(got.data(), n * k)) << pumice_error();
        expect_near(got, dx.flat().download(), "dx");
    }
}
TEST(ShipProgram, GradientsOfSumsInCellsAreForEverySize) {
    expect_gradient_of_forces<shipped_programs::few_forces>({{8, 5}, {30, 20}, {255, 6}, {256, 7}, {1000, 5}});
    expect_gradient_of_forces<shipped_programs::many_forces>({{175, 5}, {255, 60}, {256, 7}, {700, 20}, {1500, 6}});
}

TEST(ShipProgram, IndirectRangesRunOverTheCountsOfEachRun) {
    const pumice::Device& device = devices().full;
    for (const int64_t n : {100, 25, 333, 5000}) {
        const shipped_programs::counted program(devices().small, n);
        ASSERT_TRUE(program) << pumice_error();
        for (const float scale : {1.0f, 1.2f, 0.5f}) {  // some items, more, none
            Floats y0 = wave(n, 0.5f), x0 = wave(n, 0.2f);
            for (float& x : x0) x *= scale;
            auto y = device.upload(y0), dy = device.upload(wave(n, 0.9f)), x = device.upload(x0), dx = device.zeros<float>(n);
            pumice::autodiff(pumice::Reverse, shipped::counted, pumice::Duplicated(y, dy), pumice::Duplicated(x, dx));
            const auto forward = on_runtime(y0), ry = on_runtime(y0), rdy = on_runtime(wave(n, 0.9f)), rx = on_runtime(x0),
                       rdx = on_runtime(Floats(size_t(n), 0.0f));
            ASSERT_TRUE(program.forward(forward, rx)) << pumice_error();
            ASSERT_TRUE(program.gradient(ry, rdy, rx, rdx)) << pumice_error();
            expect_equal(back(forward), y.download(), "forward");
            expect_equal(back(ry), y.download(), "y");
            expect_equal(back(rdy), dy.download(), "dy");
            expect_same_sums(back(rdx), dx.download(), "dx");
            EXPECT_EQ(back(rdx) == Floats(size_t(n), 0.0f), scale == 0.5f);
            EXPECT_EQ(back(forward) == y0, scale == 0.5f);
        }
    }
}

TEST(ShipProgram, CountsBeyondTheirLimitsAreClampedAndReported) {
    const int64_t n = 100, line[] = {n}, one[] = {1};
    const shipped_programs::marked program(devices().small, n);
    const auto hits = devices().small.array<int32_t>(line), counts = devices().small.array<int32_t>(one);
    const auto run = [&](int32_t count) {
        const std::vector<int32_t> zeros(size_t(n), 0);
        EXPECT_TRUE(hits.write(zeros.data(), n) && counts.write(&count, 1)) << pumice_error();
        EXPECT_TRUE(program.forward(hits, counts)) << pumice_error();
        const rt::Status status = devices().small.synchronize();
        return status ? std::string() : std::string(status.message());
    };
    const auto expect_hits = [&](int64_t twice, int64_t once) {
        std::vector<int32_t> got(size_t(n), 0), want(size_t(n), 0);
        EXPECT_TRUE(hits.read(got.data(), n)) << pumice_error();
        std::fill_n(want.begin(), once, 1), std::fill_n(want.begin(), twice, 2);
        EXPECT_EQ(got, want);
    };
    EXPECT_EQ(run(77), "");
    expect_hits(77, 77);
    const std::string beyond = run(95);
    EXPECT_NE(beyond.find(
                  "ernel \"marked.mark\" fails a requirement: its indirect range has a count of 95 along dimension 0, and counts "
                  "are from 0 to 90: it takes 90"),
              beyond.npos)
        << beyond;
    EXPECT_NE(beyond.find("program_functions.h:"), beyond.npos) << beyond;
    expect_hits(90, 95);
    EXPECT_NE(run(-1).find("a count of -1 along dimension 0, and counts are from 0 to"), std::string::npos);
    expect_hits(0, 0);
    EXPECT_EQ(run(0), "");
    expect_hits(0, 0);
}

TEST(ShipProgram, EntriesTakeTurnsInOneMemory) {
    const int64_t n = 64;
    const shipped_programs::inverse program(devices().small, n);
    for (int round = 0; round < 3; ++round) {
        const float rate = 0.4f + 0.1f * float(round);
        const Floats u0 = wave(n, rate), target = wave(n, 0.1f);
        const Heat want = heat_by_library(u0, target, rate, pumice::Reverse, false);
        const auto loss = on_runtime({0}), d_loss = on_runtime({1}), u = on_runtime(u0),
                   d_u = on_runtime(Floats(size_t(n), 0.0f)), t = on_runtime(target);
        ASSERT_TRUE(program.forward(loss, u, t, rate)) << pumice_error();
        EXPECT_EQ(back(loss)[0], want.loss);
        ASSERT_TRUE(program.gradient(loss, d_loss, u, d_u, t, rate)) << pumice_error();
        expect_equal({back(loss)[0], back(d_loss)[0], back(d_u)}, want);
        ASSERT_TRUE(program.forward(loss, u, t, rate)) << pumice_error();
        EXPECT_EQ(back(loss)[0], want.loss);
    }
}

/// The gradient needs larger pieces of memory than the forward run, whose buffers move.
TEST(ShipProgram, GradientMovesTheMemoryOfTheForwardRun) {
    using shipped::Particle;
    const int64_t n = 100, m = 4, line[] = {n}, square[] = {n, m};
    const shipped_programs::particles program(devices().small, n, m);
    const auto p = devices().small.array<Particle>(line), d_p = devices().small.array<Particle>(line);
    const auto steps = devices().small.array<int32_t>(line);
    const auto force = devices().small.array<float>(square), d_force = devices().small.array<float>(square);
    EXPECT_TRUE(force.write(wave(n * m, 0.4f).data(), n * m));
    const std::vector<Particle> start(size_t(n), Particle{0.5f, 0.25f});
    Floats first;
    std::vector<rt::Array<float>> others;
    for (int run = 0; run < 4; ++run) {
        const auto sums = on_runtime({0, 0}), d_sums = on_runtime({1, 1});
        ASSERT_TRUE(p.write(start.data(), n)) << pumice_error();
        const rt::Status status =
            run % 2 == 0 ? program.forward(sums, p, steps, force) : program.gradient(sums, d_sums, p, d_p, steps, force, d_force);
        ASSERT_TRUE(status) << pumice_error();
        if (run == 0) first = back(sums);
        expect_equal(back(sums), first, "sums");
        // Others take the memory that was given back.
        for (size_t count = 32; count <= 1024; count += 32) others.push_back(on_runtime(Floats(count, -1.0f)));
    }
    EXPECT_NE(first[0], 0);
}

TEST(ShipProgram, RunsOnStreamsAreInOrder) {
    const int64_t n = 1000;
    const pumice_device device = devices().small.handle();
    pumice_stream streams[2] = {};
    for (pumice_stream& s : streams) ASSERT_EQ(pumice_stream_create(device, 0, &s), PUMICE_OK) << pumice_error();
    {
        const shipped_programs::grow program(devices().small, n);
        const Floats x = wave(n, 0.3f);
        const auto y = on_runtime(Floats(size_t(n), 0.0f)), fx = on_runtime(x), dx = on_runtime(Floats(size_t(n), 0.0f)),
                   dy = on_runtime(Floats(size_t(n), 1.0f)), again = on_runtime(Floats(size_t(n), 0.0f));
        // The second run works in the memory of the first, on another stream.
        ASSERT_TRUE(program.gradient(y, dy, fx, dx, streams[0])) << pumice_error();
        ASSERT_TRUE(program.forward(again, fx, streams[1])) << pumice_error();
        ASSERT_TRUE(devices().small.synchronize()) << pumice_error();
        expect_equal(back(again), back(y), "y");
        EXPECT_NE(back(dx)[0], 0);
    }
    for (const pumice_stream s : streams) pumice_stream_release(s);
}

TEST(ShipProgram, AnotherScalarWithTheSameArrays) {
    const shipped_programs::inverse program(devices().small, 64);
    const auto loss = on_runtime({0}), u = on_runtime(wave(64, 0.3f)), target = on_runtime(wave(64, 0.1f));
    for (const float rate : {0.5f, 0.25f, 0.5f}) {
        ASSERT_TRUE(program.forward(loss, u, target, rate)) << pumice_error();
        EXPECT_EQ(back(loss)[0], heat_by_library(wave(64, 0.3f), wave(64, 0.1f), rate, pumice::Reverse, false).loss) << rate;
    }
}

// ---- misuse ----

void expect_refused(rt::Status status, const char* part) {
    EXPECT_FALSE(status);
    EXPECT_NE(std::string(status.message()).find(part), std::string::npos) << status.message();
}

TEST(ShipProgram, WrongInputsAreSentences) {
    const shipped_programs::inverse program(devices().small, 64);
    const auto one = on_runtime({0}), u = on_runtime(Floats(64, 0.0f)), longer = on_runtime(Floats(65, 0.0f));
    expect_refused(program.forward(one, longer, u, 0.5f),
                   "program \"inverse\": u0 has extent 65 along dimension 0, and the program takes 64");
    expect_refused(program.forward(rt::Array<float>(), u, u, 0.5f), "program \"inverse\": loss is no array");
    expect_refused(program.gradient(one, one, u, longer, u, 0.5f), "program \"inverse\": the shadow of u0 has extent 65");
    expect_refused(program.gradient(one, one, u, longer, u, 0.5f), "the shadow of u0");
    const auto shadow = on_runtime({1}), d_u = on_runtime(Floats(64, 0.0f));
    expect_refused(program.gradient(one, one, u, d_u, u, 0.5f), "overlaps");
    pumice_argument scalar[4] = {rt::argument(one), rt::argument(u), rt::argument(u), rt::argument(0.5)};
    expect_refused(pumice_program_run(program.handle(), PUMICE_FORWARD, scalar, 4, nullptr, 0, nullptr),
                   "program \"inverse\": rate is of type f64, and the program takes f32");
    expect_refused(pumice_program_run(program.handle(), PUMICE_FORWARD, scalar, 3, nullptr, 0, nullptr), "takes 4 arguments");
    const int64_t extents[] = {64};
    const auto ints = devices().small.array<int32_t>(extents);
    scalar[1] = rt::argument(ints), scalar[3] = rt::argument(0.5f);
    expect_refused(pumice_program_run(program.handle(), PUMICE_FORWARD, scalar, 4, nullptr, 0, nullptr),
                   "program \"inverse\": u0 is of type i32");
    const rt::Device other("cpu");
    const auto elsewhere = other.array<float>(extents);
    expect_refused(program.forward(one, elsewhere, u, 0.5f), "the program was made for");
    // The program works as before.
    ASSERT_TRUE(program.gradient(one, shadow, u, d_u, u, 0.5f)) << pumice_error();
    EXPECT_EQ(back(one)[0], 0);
}

TEST(ShipProgram, SizesOutOfRangeAreSentences) {
    EXPECT_FALSE(shipped_programs::inverse(devices().small, 15));
    EXPECT_STREQ(pumice_error(), "program \"inverse\": size n is 15; it is at least 16");
    EXPECT_FALSE(shipped_programs::inverse(devices().small, 0));
    EXPECT_FALSE(shipped_programs::inverse(devices().small, -5));
    const shipped_programs::inverse huge(devices().small, int64_t(1) << 61);
    EXPECT_TRUE(huge);
    expect_refused(huge.prepare(PUMICE_FORWARD), "program \"inverse\"");
}

TEST(ShipProgram, MemoryOfDeadBuffersIsUsedAgain) {
    const int64_t n = 1 << 16;
    const shipped_programs::inverse program(devices().small, n);
    ASSERT_TRUE(program.prepare(PUMICE_FORWARD)) << pumice_error();
    EXPECT_LE(program.bytes(), 4 * 3 * n + 4096);  // u, other and errors
    ASSERT_TRUE(program.prepare(PUMICE_GRADIENT)) << pumice_error();
    EXPECT_LE(program.bytes(), 4 * 5 * n + 4096);  // and one more for the shadows
    // With checkpoints there are dozens of buffers, of which few live at once. A buffer of this program takes a slot of 256
    // bytes.
    const shipped_programs::kept kept(devices().small);
    ASSERT_TRUE(kept.prepare(PUMICE_GRADIENT)) << pumice_error();
    EXPECT_LE(kept.bytes(), 128 * 256);
}

}  // namespace
