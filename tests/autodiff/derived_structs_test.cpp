// Derivatives of structs that hold scalars and arrays, as arguments of kernels and of programs.
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;
using suite::message_of;

// Outside of the unnamed namespace: clang 14 warns of their PUMICE_STRUCT there.
struct Coefficients {
    float a;
    int n;
    float b;
};
struct Grid {
    Array<float> u;
    float h;
};
struct Scene {
    Grid grid;
    Coefficients c;
    Array<int> ids;
};
struct Particle {
    float x;
    int n;
};
PUMICE_STRUCT(Coefficients, a, n, b);
PUMICE_STRUCT(Grid, u, h);
PUMICE_STRUCT(Scene, grid, c, ids);
PUMICE_STRUCT(Particle, x, n);
namespace {

const auto poly = kernel("poly", [](InOut<float> y, Val<Coefficients> c, Val<float> s) {
    auto i = global_index();
    y[i] = y[i] * c.a + c.b * s;
});
const auto scale = kernel("scale", [](InOut<Grid> g, Val<float> c) {
    auto i = global_index();
    g.u[i] = g.u[i] * g.h * c;
});
const auto draw = kernel("draw", [](InOut<Scene> s) {
    auto i = global_index();
    s.grid.u[i] = s.grid.u[i] * s.grid.h * s.c.a + s.c.b * cast<float>(s.ids[i]);
});

struct AutodiffStructs : ::testing::Test {
    const Device d = device();
    Array<float> y = d.full<float>(4, 3.0f), dy = d.full<float>(4, 1.0f), dy2 = d.full<float>(4, 2.0f);
    Grid grid{y, 0.5f}, shadow{dy, 0.0f}, shadow2{dy2, 0.0f};
};

TEST_F(AutodiffStructs, ActiveStructGivesAStructOfDerivatives) {
    const auto [dc, ds] = autodiff(Reverse, poly, ndrange(4), Duplicated(y, dy), Active(Coefficients{2, 7, 5}), Active(0.5f));
    EXPECT_EQ(dc.a, 12.0f);
    EXPECT_EQ(dc.n, 0);
    EXPECT_EQ(dc.b, 2.0f);
    EXPECT_EQ(ds, 20.0f);
    y.fill(3.0f), dy.fill(1.0f);
    const auto [both, dss] =
        autodiff(Reverse, poly, ndrange(4), BatchDuplicated(y, {dy, dy2}), Active(Coefficients{2, 7, 5}), Active(0.5f));
    EXPECT_EQ(both[0].a, 12.0f);
    EXPECT_EQ(both[1].a, 24.0f);
    EXPECT_EQ(both[1].b, 4.0f);
    EXPECT_EQ(dss[1], 40.0f);
}

TEST_F(AutodiffStructs, ForwardModeFollowsScalarsOfStructs) {
    autodiff(Forward, poly, ndrange(4), Duplicated(y, dy), Duplicated(Coefficients{2, 7, 5}, Coefficients{1, 0, 0}), Const(0.5f));
    EXPECT_EQ(dy.download(), std::vector<float>(4, 5.0f));
    EXPECT_EQ(message_of([&] {
                  autodiff(Reverse, poly, ndrange(4), Duplicated(y, dy), Duplicated(Coefficients{2, 7, 5}, Coefficients{}),
                           Const(0.5f));
              }).substr(std::string("the derivative of kernel \"poly\" (derived_structs_test.cpp:33): ").size()),
              "argument 2 (a) is a scalar and Duplicated in reverse mode: write Active(value), and its derivative comes back");
}

TEST_F(AutodiffStructs, MixedDuplicatedAddsToScalarsOfTheShadow) {
    const auto [dc] = autodiff(Reverse, scale, ndrange(4), MixedDuplicated(grid, shadow), Active(2.0f));
    EXPECT_EQ(dc, 6.0f);
    EXPECT_EQ(shadow.h, 24.0f);
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.0f));
    Scene scene{grid, {2, 0, 5}, d.full<int>(4, 3)}, to{shadow, {0, 0, 0}, Array<int>()};
    y.fill(3.0f), dy.fill(1.0f);
    autodiff(Reverse, draw, ndrange(4), MixedDuplicated(scene, to));
    EXPECT_EQ(to.grid.h, 24.0f + 24.0f);
    EXPECT_EQ(to.c.a, 6.0f);
    EXPECT_EQ(to.c.b, 12.0f);
}

TEST_F(AutodiffStructs, ScalarsOfADuplicatedStructAreConstantInReverseMode) {
    const auto [dc] = autodiff(Reverse, scale, ndrange(4), Duplicated(grid, shadow), Active(2.0f));
    EXPECT_EQ(dc, 6.0f);
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.0f));
    y.fill(3.0f);
    const auto [both] = autodiff(Reverse, scale, ndrange(4), BatchDuplicated(grid, {shadow, shadow2}), Active(2.0f));
    EXPECT_EQ(both, (std::array{6.0f, 12.0f}));
    autodiff(Reverse, [](Grid& g) { scale(ndrange(4), g, 3.0f); }, Duplicated(grid, shadow));
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.5f));
}

/// A program that computes with the scalars of its structs, and assigns one of them.
const auto with_numbers = [](auto& g, auto& c) {
    scale(ndrange(4), g, 0.5f * c.a);
    c.b = c.b * g.h;
    poly(ndrange(4), g.u, c, c.a);
    poly(ndrange(4), g.u, c, float(c.n));
};
/// The same function of plain numbers.
float with_numbers_of(float u, float h, Coefficients c) {
    u *= h * 0.5f * c.a;
    c.b *= h;
    u = u * c.a + c.b * c.a;
    return u * c.a + c.b * float(c.n);
}

TEST_F(AutodiffStructs, ProgramsFollowScalarsOfStructs) {
    const Coefficients c{2, 7, 5};
    const float u = 3, h = 0.5f, by_u = h * 0.5f * c.a * c.a * c.a, by_h = u * by_u / h + c.b * (c.a * c.a + 7),
                by_a = 3 * u * h * 0.5f * c.a * c.a + 2 * c.b * h * c.a, by_b = h * (c.a * c.a + 7);
    for (const ReverseMode mode : {Reverse, Reverse.checkpoints(1), Reverse.checkpoints(2)}) {
        y.fill(u), dy.fill(1.0f), shadow.h = 100;
        const auto [dc] = autodiff(mode, with_numbers, MixedDuplicated(grid, shadow), Active(c));
        EXPECT_FLOAT_EQ(y.get(2), with_numbers_of(u, h, c));
        EXPECT_FLOAT_EQ(dy.get(2), by_u);
        EXPECT_FLOAT_EQ(shadow.h, 100 + 4 * by_h);
        EXPECT_FLOAT_EQ(dc.a, 4 * by_a);
        EXPECT_FLOAT_EQ(dc.b, 4 * by_b);
        EXPECT_EQ(dc.n, 0);
    }
    y.fill(u), dy.fill(1.0f), shadow.h = 3;
    autodiff(Forward, with_numbers, MixedDuplicated(grid, shadow), Duplicated(c, Coefficients{10, 0, 20}));
    EXPECT_FLOAT_EQ(dy.get(2), by_u + 3 * by_h + 10 * by_a + 20 * by_b);
    EXPECT_EQ(shadow.h, 3);
    // Two directions: the scalars of the struct with arrays are constant.
    const auto held = [](Grid& g, auto c) { with_numbers(g, c); };
    y.fill(u), dy.fill(1.0f);
    const auto [both] = autodiff(Reverse, held, BatchDuplicated(grid, {shadow, shadow2}), Active(c));
    EXPECT_FLOAT_EQ(both[0].a, 4 * by_a);
    EXPECT_FLOAT_EQ(both[1].a, 8 * by_a);
    EXPECT_FLOAT_EQ(both[1].b, 8 * by_b);
    EXPECT_FLOAT_EQ(dy2.get(0), 2 * by_u);
}

/// Structs in structs, with integers and an array that was never allocated.
TEST_F(AutodiffStructs, ProgramsFollowScalarsOfNestedStructs) {
    Scene scene{grid, {2, 0, 5}, d.full<int>(4, 3)}, to{shadow, {0, 0, 0}, Array<int>()};
    autodiff(
        Reverse,
        [](auto& s) {
            EXPECT_EQ(s.c.n, 0);
            EXPECT_EQ(s.ids.count(), 4);
            s.grid.h = s.grid.h * s.c.a;
            draw(ndrange(4), s);
        },
        MixedDuplicated(scene, to));
    EXPECT_EQ(y.get(1), 3 * 0.5f * 4 + 15);
    EXPECT_EQ(dy.get(1), 0.5f * 4);
    EXPECT_EQ(to.grid.h, 4 * 3.0f * 4);
    EXPECT_EQ(to.c.a, 4 * 3 * 0.5f * 4);
    EXPECT_EQ(to.c.b, 12.0f);
}

TEST_F(AutodiffStructs, ScalarsThatAProgramCannotFollow) {
    const auto program = [](auto& g) { scale(ndrange(4), g, 2.0f); };
    EXPECT_EQ(
        message_of([&] { autodiff(Reverse, [](auto&, auto&) {}, MixedDuplicated(grid, shadow), BatchDuplicated(y, {dy, dy2})); }),
        "the derivative of a program: argument 1 (u) has 1 shadow, and the batch has 2 directions");
    EXPECT_EQ(
        message_of([&] {
            autodiff(Reverse, [](Array<float>&, auto&) {}, Duplicated(y, dy), Duplicated(Coefficients{}, Coefficients{}));
        }),
        "the derivative of a program: argument 2 (a) is a scalar and Duplicated in reverse mode: write Active(value), and its "
        "derivative comes back");
    shadow.h = 1.0f;
    EXPECT_EQ(message_of([&] { autodiff(Forward, program, Duplicated(grid, shadow)); }),
              "the derivative of a program: argument 1 (h) has a tangent in a struct that is Duplicated, whose numbers the "
              "derivative of a program does "
              "not follow: write MixedDuplicated, and let the program take the struct as auto&");
    shadow.h = 0.0f;
    autodiff(Forward, program, Duplicated(grid, shadow));
    EXPECT_EQ(y.download(), std::vector<float>(4, 3.0f));
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.0f));
}

/// Copies of every other element: floats are copied with their derivatives, and other members do not matter.
TEST_F(AutodiffStructs, StridedCopies) {
    Array<Particle> p = d.upload(std::vector<Particle>(6, {3, 1})), dp = d.upload(std::vector<Particle>(6, {0, 0}));
    Array<Particle> q = d.upload(std::vector<Particle>(3, {0, 0})), dq = d.upload(std::vector<Particle>(3, {1, 0}));
    autodiff(
        Reverse, [](Array<Particle>& to, const Array<Particle>& from) { View<Particle>(to).copy_from(from.view(0, 6, 2)); },
        Duplicated(q, dq), Duplicated(p, dp));
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(dp.download()[i].x, i % 2 ? 0.0f : 1.0f) << i;
    EXPECT_EQ(dq.download()[1].x, 0.0f);
    EXPECT_EQ(q.download()[1].n, 1);
    if (!device().supports(Feature::float16)) return;
    Array<half> h = d.full<half>(6, half(3.0f)), dh = d.full<half>(6, half(0.0f)), g = d.full<half>(3, half(0.0f)),
                dg = d.full<half>(3, half(1.0f));
    autodiff(
        Reverse, [](Array<half>& to, const Array<half>& from) { View<half>(to).copy_from(from.view(0, 6, 2)); },
        Duplicated(g, dg), Duplicated(h, dh));
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(float(dh.download()[i]), i % 2 ? 0.0f : 1.0f) << i;
}

}  // namespace
