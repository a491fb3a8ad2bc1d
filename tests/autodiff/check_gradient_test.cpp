// check_gradient itself: it finds what is wrong in arrays of any elements, and holds and keeps the rest.
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

// Outside of the unnamed namespace: clang 14 warns of their PUMICE_STRUCT there.
struct CheckedSpring {
    float3 force;
    int kind;
    float length;
};
PUMICE_STRUCT(CheckedSpring, force, kind, length);
struct CheckedWorld {
    Array<CheckedSpring> springs;
    Array<int> steps;
    float stiffness;
};
PUMICE_STRUCT(CheckedWorld, springs, steps, stiffness);

namespace {

TEST(CheckGradient, FindsTheWorstComponent) {
    const auto bad = kernel("bad", [](Out<float> y, In<float> x) { y[global_index()] = x[global_index()] * x[global_index()]; });
    const auto rule = kernel("bad_rule", [](InOut<float> dx, InOut<float> dy, In<float> x) {
        auto i = global_index();
        dx[i] += dy[i] * select(i == 5, 9.0f, 2.0f) * x[i];
        dy[i] = 0.0f;
    });
    Array<float> x = device().full<float>(16, 1.5f), y = device().zeros<float>(16);
    EXPECT_TRUE(check_gradient(bad, ndrange(16), y, x));
    bad.reverse([&](const Range& range, const Duplicated<Array<float>>& y, const Duplicated<Array<float>>& x) {
        rule(range, x.shadow, y.shadow, x.value);
    });
    const GradientCheck found = check_gradient(bad, ndrange(16), y, x);
    EXPECT_FALSE(found);
    EXPECT_EQ(found.argument, 2);
    EXPECT_EQ(found.index, 5);
    EXPECT_NEAR(found.gradient / found.difference, 4.5, 0.5);
    EXPECT_EQ(found.text().find("the gradient disagrees with central differences by "), 0u);
    EXPECT_EQ(y.download(), std::vector<float>(16, 0.0f));
}

/// Integers and Const arrays that the kernel writes begin each run anew, and the caller's stay.
TEST(CheckGradient, WorksOnCopies) {
    const auto counts = kernel("counts", [](InOut<float> y, InOut<int> n, InOut<float> held) {
        const auto i = global_index();
        y[i] = y[i] * y[i] * cast<float>(n[i]) * held[i];
        n[i] += 1;
        held[i] += 1.0f;
    });
    const Array<float> y = device().full<float>(5, 1.5f), held = device().full<float>(5, 2.0f);
    const Array<int> n = device().full<int>(5, 3);
    const GradientCheck found = check_gradient(counts, ndrange(5), y, n, Const(held));
    EXPECT_TRUE(found) << found.text();
    EXPECT_EQ(y.download(), std::vector<float>(5, 1.5f));
    EXPECT_EQ(n.download(), std::vector<int>(5, 3));
    EXPECT_EQ(held.download(), std::vector<float>(5, 2.0f));
}

TEST(CheckGradient, ChecksVectors) {
    const auto k = kernel("of_vectors", [](Out<float3> y, In<float3> x) {
        const auto i = global_index();
        y[i] = x[i] * x[i].y;
    });
    const Array<float3> x = device().full<float3>(6, float3{1.5f, 2.0f, -0.5f}), y = device().zeros<float3>(6);
    const GradientCheck right = check_gradient(k, ndrange(6), y, x);
    EXPECT_TRUE(right) << right.text();
    const auto rule = kernel("wrong_rule", [](InOut<float3> dx, InOut<float3> dy, In<float3> x) {
        const auto i = global_index();
        Var<float3> d = dy[i] * x[i].y;
        d.y += dot(dy[i], x[i]);
        $if(i == 4) { d.z *= 3.0f; }
        dx[i] += d;
        dy[i] = 0.0f * dy[i];
    });
    k.reverse([&](const Range& range, const Duplicated<Array<float3>>& y, const Duplicated<Array<float3>>& x) {
        rule(range, x.shadow, y.shadow, x.value);
    });
    const GradientCheck wrong = check_gradient(k, ndrange(6), y, x);
    EXPECT_FALSE(wrong);
    EXPECT_EQ(wrong.argument, 2);
    EXPECT_EQ(wrong.index, 4);
    EXPECT_EQ(wrong.member, "z");
    EXPECT_NE(wrong.text().find(": at element 4 (z) of argument 2 it is "), std::string::npos) << wrong.text();
}

TEST(CheckGradient, ChecksStructsOfArraysOfStructs) {
    const auto relax = kernel("relax", [](InOut<CheckedWorld> world, Out<float> energy) {
        const auto i = global_index();
        const Val<float> l = world.springs[i].length, f = dot(world.springs[i].force, world.springs[i].force);
        energy[i] = world.stiffness * l * l * f + cast<float>(world.steps[i] + world.springs[i].kind);
        world.springs[i].length = l * 2.0f;
        world.steps[i] = world.steps[i] + 1;
    });
    std::vector<CheckedSpring> springs;
    for (int i = 0; i < 7; ++i) springs.push_back({{0.5f * float(i), 1.0f, -0.25f}, i, 1.0f + 0.25f * float(i)});
    const CheckedWorld world{device().upload(springs), device().full<int>(7, 2), 0.75f};
    const GradientCheck found = check_gradient(relax, ndrange(7), world, device().zeros<float>(7));
    EXPECT_TRUE(found) << found.text();
    EXPECT_EQ(world.steps.download(), std::vector<int>(7, 2));
    EXPECT_EQ(world.springs.download()[3].length, 1.75f);
    // A gradient that lacks a term: the function is not differentiated through `ignored`.
    const auto ignored = function("ignored_square", [](Val<float> x) { return x * x; }).inactive();
    const auto lacks = kernel("lacks", [&](In<CheckedWorld> world, Out<float> energy) {
        const auto i = global_index();
        energy[i] = select(i == 5, ignored(world.springs[i].length), world.springs[i].length);
    });
    const GradientCheck wrong = check_gradient(lacks, ndrange(7), world, device().zeros<float>(7));
    EXPECT_FALSE(wrong);
    EXPECT_EQ(wrong.argument, 1);
    EXPECT_EQ(wrong.array, "springs");
    EXPECT_EQ(wrong.index, 5);
    EXPECT_EQ(wrong.member, "length");
    EXPECT_NE(wrong.text().find(": at element 5 (length) of argument 1 (springs) it is "), std::string::npos) << wrong.text();
    EXPECT_TRUE(check_gradient(lacks, ndrange(7), Const(world), device().zeros<float>(7)));
}

TEST(CheckGradient, RefusesNarrowFloatsThatAreNotConst) {
    if (!device().supports(Feature::float16)) GTEST_SKIP() << "SKIPPED: " << device().name() << " has no float16";
    const auto k = kernel("of_halves", [](Out<float> y, In<half> x) { y[global_index()] = cast<float>(x[global_index()]); });
    const Array<float> y = device().zeros<float>(3);
    const Array<half> x = device().full<half>(3, half(1.5f));
    EXPECT_EQ(
        suite::message_of([&] { check_gradient(k, ndrange(3), y, x); }),
        "check_gradient is given an array with numbers of type f16 as argument 2; they are too coarse for differences: give "
        "the array as Const, or check the kernel in float");
    EXPECT_TRUE(check_gradient(k, ndrange(3), y, Const(x)));
}

}  // namespace
