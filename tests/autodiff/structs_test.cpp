// Derivatives of what holds several numbers and arrays: structs as arguments of kernels and of programs.
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

TEST_F(AutodiffStructs, ActiveGivesOneBack) {
    const auto [dc, ds] = autodiff(Reverse, poly, ndrange(4), Duplicated(y, dy), Active(Coefficients{2, 7, 5}), Active(0.5f));
    EXPECT_EQ(dc.a, 12.0f);
    EXPECT_EQ(dc.n, 0);
    EXPECT_EQ(dc.b, 2.0f);
    EXPECT_EQ(ds, 20.0f);
    y.fill(3.0f), dy.fill(1.0f);
    const auto [both, dss] = autodiff(Reverse, poly, ndrange(4), BatchDuplicated(y, {dy, dy2}), Active(Coefficients{2, 7, 5}), Active(0.5f));
    EXPECT_EQ(both[0].a, 12.0f);
    EXPECT_EQ(both[1].a, 24.0f);
    EXPECT_EQ(both[1].b, 4.0f);
    EXPECT_EQ(dss[1], 40.0f);
}

TEST_F(AutodiffStructs, NumbersForwards) {
    autodiff(Forward, poly, ndrange(4), Duplicated(y, dy), Duplicated(Coefficients{2, 7, 5}, Coefficients{1, 0, 0}), Const(0.5f));
    EXPECT_EQ(dy.download(), std::vector<float>(4, 5.0f));
    EXPECT_EQ(message_of([&] {
                  autodiff(Reverse, poly, ndrange(4), Duplicated(y, dy), Duplicated(Coefficients{2, 7, 5}, Coefficients{}),
                           Const(0.5f));
              }).substr(std::string("the derivative of kernel \"poly\" (structs_test.cpp:33): ").size()),
              "argument 2 (a) is a scalar and Duplicated in reverse mode: write Active(value), and its derivative comes back");
}

TEST_F(AutodiffStructs, MixedAddsToTheNumbers) {
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

TEST_F(AutodiffStructs, DuplicatedHoldsTheNumbersInReverse) {
    const auto [dc] = autodiff(Reverse, scale, ndrange(4), Duplicated(grid, shadow), Active(2.0f));
    EXPECT_EQ(dc, 6.0f);
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.0f));
    y.fill(3.0f);
    const auto [both] = autodiff(Reverse, scale, ndrange(4), BatchDuplicated(grid, {shadow, shadow2}), Active(2.0f));
    EXPECT_EQ(both, (std::array{6.0f, 12.0f}));
    autodiff(Reverse, [](Grid& g) { scale(ndrange(4), g, 3.0f); }, Duplicated(grid, shadow));
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.5f));
}

TEST_F(AutodiffStructs, ProgramsDoNotFollowTheirNumbers) {
    const auto program = [](Grid& g) { scale(ndrange(4), g, 2.0f); };
    EXPECT_EQ(message_of([&] { autodiff(Reverse, program, MixedDuplicated(grid, shadow)); }),
              "the derivative of a program: argument 1 (h) is a number of a struct, which the derivative of a program does not "
              "follow: pass it beside the "
              "struct as Active, and the struct as Duplicated, whose numbers are constant");
    EXPECT_EQ(message_of([&] {
                  autodiff(
                      Reverse, [](Array<float>&, Coefficients) {}, Duplicated(y, dy), Active(Coefficients{}));
              }),
              "the derivative of a program: argument 2 (a) is a number of a struct, which the derivative of a program does not "
              "follow: pass it beside the "
              "struct as Active, and the struct as Duplicated, whose numbers are constant");
    shadow.h = 1.0f;
    EXPECT_EQ(message_of([&] { autodiff(Forward, program, Duplicated(grid, shadow)); }),
              "the derivative of a program: argument 1 (h) has a tangent in a struct, and the derivative of a program does not "
              "follow the numbers of structs: "
              "pass it beside the struct as Duplicated(value, tangent), and make its tangent in the struct 0");
    shadow.h = 0.0f;
    autodiff(Forward, program, Duplicated(grid, shadow));
    EXPECT_EQ(y.download(), std::vector<float>(4, 3.0f));
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.0f));
}

/// Copies of every other element: the derivative goes with the floats whatever lies beside them.
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
