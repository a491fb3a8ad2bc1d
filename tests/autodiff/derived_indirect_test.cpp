// Derivatives of kernels and programs over indirect ranges: those over the same range given by the host.
#include <cmath>

#include "tests/autodiff/derivatives.h"

using namespace pumice;
using suite::device;
using suite::expect_derivatives;
using suite::numbers;

namespace {

Array<float> field(int64_t n, uint64_t seed) { return device().upload(numbers<float>(n, seed, 0.5, 1.5)); }
template <class... N> Array<int> counts(N... n) { return device().upload(std::vector<int>{n...}); }

const auto curve = kernel("curve", [](InOut<float> y, In<float> x) {
    auto i = global_index();
    y[i] = y[i] * sin(x[i]) + x[i] * x[i] / cast<float>(global_size());
});
const auto stencil = kernel("stencil", [](Out<float, 2> y, In<float, 2> x) {
    auto [i, j] = global_index<2>();
    auto [n, m] = global_size<2>();
    y(i, j) = x(max(i - 1, 0), j) * x(min(i + 1, n - 1), j) + x(i, max(j - 1, 0)) * x(i, min(j + 1, m - 1));
});
const auto energy = kernel("energy", [](InOut<float> sum, In<float> x, Val<float> a) {
    auto i = global_index();
    atomic_add(sum[0], a * x[i] * x[i]);
});
const auto tiled = kernel("tiled", static_group<16>, [](InOut<float> y, In<float> x) {
    Local<float, 16> tile;
    auto i = global_index(), l = local_index();
    tile[l] = x[i] * x[i];
    synchronize();
    y[i] = y[i] * tile[max(l - 1, 0)] + group::reduce_add(x[i]);
});
const auto whole = kernel("whole", whole_groups, static_group<16>, [](InOut<float> y, In<float> x) {
    Local<float, 16> tile;
    auto i = global_index(), l = local_index();
    tile[l] = 0.5f;
    $if(in_range()) { tile[l] = exp(x[i]); }
    synchronize();
    $if(in_range()) { y[i] += tile[15 - l] * x[i]; }
});
/// The trip count differs from item to item, so the tape is counted.
const auto looped = kernel("looped", [](InOut<float> y, In<float> x) {
    auto i = global_index();
    Var v = x[i];
    Var left = i % 5;
    $while(left > 0) {
        v = 0.5f * v + 0.2f * v * v;
        left -= 1;
    }
    y[i] *= v;
});

/// The elements of an adjoint after reverse mode.
template <class K, class... A> std::vector<float> adjoint_of_x(const K& k, const Range& range, int n, A... more) {
    Array<float> x = field(n, 3), y = field(n, 4), dx = device().zeros<float>(n), dy = field(n, 5);
    autodiff(Reverse, k, range, Duplicated(y, dy), Duplicated(x, dx), more...);
    std::vector<float> all = dx.download();
    for (const float v : dy.download()) all.push_back(v);
    for (const float v : y.download()) all.push_back(v);
    return all;
}

void expect_close(const std::vector<float>& got, const std::vector<float>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4 * (1 + std::abs(want[i]))) << i;
}

TEST(AutodiffIndirect, ReverseModeIsThatOfTheRangeOfTheCount) {
    for (const int n : {0, 1, 17, 40, 64}) {
        const Range indirectly = indirect(counts(n), 64);
        expect_close(adjoint_of_x(curve, indirectly, 64), adjoint_of_x(curve, ndrange(n), 64));
        expect_close(adjoint_of_x(tiled, indirectly, 64), adjoint_of_x(tiled, ndrange(n), 64));
        expect_close(adjoint_of_x(whole, indirectly, 64), adjoint_of_x(whole, ndrange(n), 64));
        expect_close(adjoint_of_x(looped, indirectly, 64), adjoint_of_x(looped, ndrange(n), 64));
    }
}

TEST(AutodiffIndirect, BothModesAgreeWithDifferences) {
    expect_derivatives(curve, indirect(counts(29), 40), field(40, 1), field(40, 2));
    expect_derivatives(tiled, indirect(counts(29), 48), field(48, 1), field(48, 2));
    expect_derivatives(whole, indirect(counts(29), 48), field(48, 1), field(48, 2));
    expect_derivatives(looped, indirect(counts(29), 40), field(40, 1), field(40, 2));
    expect_derivatives(stencil, indirect(counts(5, 7), 8, 9), field(72, 1).reshape({8, 9}), field(72, 2).reshape({8, 9}));
}

TEST(AutodiffIndirect, ScalarsGetTheSumOverTheItemsOfTheCount) {
    Array<float> sum = device().zeros<float>(1), dsum = device().full<float>(1, 1), x = device().full<float>(50, 2),
                 dx = device().zeros<float>(50);
    const auto [da] = autodiff(Reverse, energy, indirect(counts(30), 50), Duplicated(sum, dsum), Duplicated(x, dx), Active(3.0f));
    EXPECT_FLOAT_EQ(da, 120);
    std::vector<float> want(50, 0);
    std::fill_n(want.begin(), 30, 12.0f);
    EXPECT_EQ(dx.download(), want);
    EXPECT_EQ(sum.get(0), 360);
}

TEST(AutodiffIndirect, HalvesRunOverTheCountOfTheFirst) {
    Array<int> count = counts(3);
    Array<float> x = device().full<float>(5, 2), dx = device().zeros<float>(5), y = device().full<float>(5, 1),
                 dy = device().full<float>(5, 1);
    const auto square =
        kernel("square", [](InOut<float> y, In<float> x) { y[global_index()] = x[global_index()] * x[global_index()]; });
    const auto [forward, reverse] = autodiff_split(square, indirect(count, 5), Duplicated(y, dy), Duplicated(x, dx));
    const auto tape = forward(Duplicated(y, dy), Duplicated(x, dx));
    count.fill(5);
    x.fill(0.0f);
    reverse(Duplicated(y, dy), Duplicated(x, dx), tape);
    EXPECT_EQ(y.download(), (std::vector<float>{4, 4, 4, 1, 1}));
    EXPECT_EQ(dx.download(), (std::vector<float>{4, 4, 4, 0, 0}));
    EXPECT_EQ(dy.download(), (std::vector<float>{0, 0, 0, 1, 1}));
}

/// Ten steps over a range that shrinks by what the items compute; the count is overwritten before the reverse sweep.
void shrinking(Array<float>& loss, Array<float>& x) {
    static const auto step = kernel("step", [](InOut<float> x) {
        auto i = global_index();
        x[i] = x[i] * 0.9f + 0.1f * x[i] * x[i];
    });
    static const auto fewer = kernel("fewer", [](InOut<int> count) { count[0] = count[0] - 7; });
    static const auto total = kernel("total", [](InOut<float> sum, In<float> x) { atomic_add(sum[0], x[global_index()]); });
    Array<int> count = device().full<int>(1, 64);
    for (int n = 0; n < 8; ++n) {
        step(indirect(count, 64), x);
        fewer(ndrange(1), count);
    }
    loss.fill(0.0f);
    total(indirect(count, 64), loss, x);
}
void shrinking_by_host(Array<float>& loss, Array<float>& x) {
    static const auto step = kernel("step", [](InOut<float> x) {
        auto i = global_index();
        x[i] = x[i] * 0.9f + 0.1f * x[i] * x[i];
    });
    static const auto total = kernel("total", [](InOut<float> sum, In<float> x) { atomic_add(sum[0], x[global_index()]); });
    int count = 64;
    for (int n = 0; n < 8; ++n, count -= 7) step(ndrange(count), x);
    loss.fill(0.0f);
    total(ndrange(count), loss, x);
}

TEST(AutodiffIndirect, ProgramsReverseOverTheCountsOfTheirLaunches) {
    const auto gradient_of = [](auto program, auto mode) {
        Array<float> loss = device().zeros<float>(1), dloss = device().full<float>(1, 1), x = field(64, 7),
                     dx = device().zeros<float>(64);
        autodiff(mode, program, Duplicated(loss, dloss), Duplicated(x, dx));
        std::vector<float> all = dx.download();
        all.push_back(loss.get(0));
        return all;
    };
    const std::vector<float> want = gradient_of(shrinking_by_host, Reverse);
    expect_close(gradient_of(shrinking, Reverse), want);
    expect_close(gradient_of(shrinking, Reverse.checkpoints(2)), want);
}

TEST(AutodiffIndirect, ProgramsForwardOverTheCountsOfTheirLaunches) {
    const auto tangent_of = [](auto program) {
        Array<float> loss = device().zeros<float>(1), dloss = device().zeros<float>(1), x = field(64, 7), dx = field(64, 8);
        autodiff(Forward, program, Duplicated(loss, dloss), Duplicated(x, dx));
        std::vector<float> all = dx.download();
        all.push_back(dloss.get(0));
        return all;
    };
    expect_close(tangent_of(shrinking), tangent_of(shrinking_by_host));
}

TEST(AutodiffIndirect, RulesGetTheRangeOfTheLaunch) {
    const auto wrong = kernel("wrong", [](InOut<float> y, In<float> x) { y[global_index()] = x[global_index()]; });
    const auto seven = kernel("seven", [](InOut<float> dx, In<float> dy) { dx[global_index()] += 7.0f * dy[global_index()]; });
    wrong.reverse([&](const Range& range, const Duplicated<Array<float>>& y, const Duplicated<Array<float>>& x) {
        seven(range, x.shadow, y.shadow);
    });
    Array<int> count = counts(3);
    Array<float> x = device().full<float>(4, 2), dx = device().zeros<float>(4), y = device().zeros<float>(4),
                 dy = device().full<float>(4, 1);
    autodiff(Reverse, wrong, indirect(count, 4), Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(dx.download(), (std::vector<float>{7, 7, 7, 0}));
    EXPECT_EQ(y.download(), (std::vector<float>{2, 2, 2, 0}));
    // As a step of a program, which overwrites the count afterwards.
    dx.fill(0.0f);
    autodiff(
        Reverse,
        [&](Array<float>& y, Array<float>& x) {
            wrong(indirect(count, 4), y, x);
            count.fill(1);
        },
        Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(dx.download(), (std::vector<float>{7, 7, 7, 0}));
}

TEST(AutodiffIndirect, ACountPastItsLimitIsReported) {
    Array<float> x = field(10, 1), dx = device().zeros<float>(10), y = field(10, 2), dy = field(10, 3);
    autodiff(Reverse, curve, indirect(counts(11), 10), Duplicated(y, dy), Duplicated(x, dx));
    const std::string message = suite::message_of([] { device().synchronize(); });
    EXPECT_NE(message.find("Kernel \"curve\" fails a requirement: its indirect range has a count of 11 along dimension 0"),
              message.npos)
        << message;
    const std::string wrong =
        suite::message_of([&] { autodiff(Reverse, curve, indirect(counts(1, 1), 10), Duplicated(y, dy), Duplicated(x, dx)); });
    EXPECT_NE(wrong.find("its indirect range has 1 limit, and the array of its counts has 2 elements"), wrong.npos) << wrong;
}

}  // namespace
