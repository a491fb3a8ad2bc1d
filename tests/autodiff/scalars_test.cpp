// Scalars that a program receives as traced numbers.
#include "tests/autodiff/derivatives.h"

#include <cmath>

using namespace pumice;
using suite::device;

namespace {

const auto axpy = kernel("axpy", [](InOut<float> y, Val<float> a, In<float> x) {
    auto i = global_index();
    y[i] += a * x[i];
});
const auto relax = kernel("relax", [](Out<float> next, In<float> now, Val<float> c, Val<float> decay) {
    auto i = global_index();
    auto n = global_size();
    next[i] = now[i] * exp(-decay) + c * sin(now[(i + 1) % n]);
});
const auto total =
    kernel("total", [](InOut<float> sum, In<float> a) { atomic_add(sum[0], a[global_index()] * a[global_index()]); });

/// The host computes with the numbers and branches on them; launches take some numbers twice, and plain numbers beside them.
const auto program = [](Array<float>& loss, Array<float>& x, auto c, auto decay) {
    using std::min, std::pow, std::sqrt;
    const int n = int(x.count());
    Array<float> now = x.clone(), other = x.device().template zeros<float>(n);
    for (int step = 0; step < 9; ++step) {
        auto rate = 0.5f * c / (1 + sqrt(c * decay)) - pow(decay, 2.0f);
        if (decay > 0.1f) rate = rate + 0.01f * float(step);
        relax(ndrange(n), other, now, step % 3 == 0 ? rate : -c, min(decay, 0.4f));
        std::swap(now, other);
    }
    axpy(ndrange(n), now, 0.25f, x);
    total(ndrange(n), loss, now);
};

/// A program may assign its scalar; the derivative is by the value that it was given.
TEST(AutodiffPrograms, ActiveScalarThatIsAssigned) {
    Array<float> y = device().full<float>(4, 1.0f), dy = device().full<float>(4, 1.0f), x = device().full<float>(4, 3.0f);
    const auto doubles = [&](Array<float>& u, auto& c) {
        c = 2.0f * c;
        axpy(ndrange(4), u, c, x);
    };
    const auto [dc] = autodiff(Reverse, doubles, Duplicated(y, dy), Active(0.5f));
    EXPECT_EQ(dc, 24.0f);
    EXPECT_EQ(y.get(0), 4.0f);
}

struct Found {
    float c, decay;
    std::vector<float> x;
};
template <class Mode> Found reverse(Mode mode, const std::vector<float>& host) {
    const int n = int(host.size());
    Array<float> loss = device().zeros<float>(1), dloss = device().full<float>(1, 1.0f), x = device().upload(host),
                 dx = device().zeros<float>(n);
    const auto [dc, ddecay] = autodiff(mode, program, Duplicated(loss, dloss), Duplicated(x, dx), Active(0.7f), Active(0.2f));
    return {dc, ddecay, dx.download()};
}

TEST(AutodiffPrograms, ActiveScalars) {
    const std::vector<float> host = suite::numbers<float>(16, 3, 0.2, 1.2);
    const auto value = [&](float c, float decay) {
        Array<float> loss = device().zeros<float>(1), x = device().upload(host);
        program(loss, x, c, decay);
        return double(loss.download()[0]);
    };
    const float h = 1e-2f;
    const double by_c = (value(0.7f + h, 0.2f) - value(0.7f - h, 0.2f)) / (2 * h),
                 by_decay = (value(0.7f, 0.2f + h) - value(0.7f, 0.2f - h)) / (2 * h);
    const Found all = reverse(Reverse, host);
    EXPECT_NEAR(all.c, by_c, 1e-2 * std::abs(by_c));
    EXPECT_NEAR(all.decay, by_decay, 1e-2 * std::abs(by_decay));
    for (const int states : {1, 2, 5}) {
        const Found some = reverse(Reverse.checkpoints(states), host);
        EXPECT_NEAR(some.c, all.c, 1e-5 * std::abs(all.c)) << states << " states";
        EXPECT_NEAR(some.decay, all.decay, 1e-5 * std::abs(all.decay)) << states << " states";
    }

    // Forward mode, with one direction and with two.
    Array<float> loss = device().zeros<float>(1), t = device().zeros<float>(1), x = device().upload(host),
                 tx = device().full<float>(16, 0.5f);
    autodiff(Forward, program, Duplicated(loss, t), Duplicated(x, tx), Duplicated(0.7f, 2.0f), Duplicated(0.2f, -1.0f));
    double want = 2.0 * all.c - all.decay;
    for (const float d : all.x) want += 0.5 * d;
    EXPECT_NEAR(t.download()[0], want, 1e-4 * std::abs(want));
    Array<float> t0 = device().zeros<float>(1), t1 = device().zeros<float>(1);
    autodiff(Forward, program, BatchDuplicated(loss, {t0, t1}), Const(x), BatchDuplicated(0.7f, {1.0f, 0.0f}),
             BatchDuplicated(0.2f, {0.0f, 1.0f}));
    EXPECT_NEAR(t0.download()[0], all.c, 1e-4 * std::abs(all.c));
    EXPECT_NEAR(t1.download()[0], all.decay, 1e-4 * std::abs(all.decay));

    // A batch in reverse mode: each derivative is an array.
    Array<float> d0 = device().full<float>(1, 1.0f), d1 = device().full<float>(1, -3.0f);
    const auto [dc, ddecay] = autodiff(Reverse, program, BatchDuplicated(loss, {d0, d1}), Const(x), Active(0.7f), Active(0.2f));
    EXPECT_NEAR(dc[0], all.c, 1e-5 * std::abs(all.c));
    EXPECT_NEAR(dc[1], -3 * all.c, 3e-5 * std::abs(all.c));
    EXPECT_NEAR(ddecay[1], -3 * all.decay, 3e-5 * std::abs(all.decay));
}

TEST(AutodiffPrograms, ActiveScalarOverAMillionItems) {
    const int n = 1'000'000;
    const std::vector<float> host = suite::numbers<float>(n, 7, 0.5, 1.5);
    double want = 0;
    for (const float v : host) want += 3.0 * double(v);
    const auto scaled = [&](Array<float>& y, const Array<float>& x, Traced<float> a) {
        for (int step = 0; step < 3; ++step) axpy(ndrange(n), y, a, x);
    };
    Array<float> y = device().zeros<float>(n), dy = device().full<float>(n, 1.0f), x = device().upload(host);
    const auto [da] = autodiff(Reverse, scaled, Duplicated(y, dy), Const(x), Active(2.0f));
    EXPECT_NEAR(da, want, 1e-5 * want);
}

TEST(AutodiffPrograms, ActiveScalarsThatNothingDependsOn) {
    Array<float> y = device().zeros<float>(4), dy = device().full<float>(4, 1.0f), x = device().full<float>(4, 1.0f);
    const auto [da, db] = autodiff(
        Reverse,
        [&](Array<float>& to, Traced<float> a, Traced<float> b) {
            axpy(ndrange(4), to, a.value(), x);
            no_derivative([&] { axpy(ndrange(4), x, b, to); });
            EXPECT_TRUE(a > b && b < 2.0f && a == 2.0f);
        },
        Duplicated(y, dy), Active(2.0f), Active(1.5f));
    EXPECT_EQ(da, 0.0f);
    EXPECT_EQ(db, 0.0f);
    const auto primal = autodiff(
        ReverseWithPrimal,
        [&](Array<float>& to, Traced<float> a) {
            axpy(ndrange(4), to, a, x);
            return to.clone();
        },
        Const(y), Active(2.0f));
    EXPECT_EQ(std::get<1>(primal).download(), y.download());
}

TEST(AutodiffPrograms, ActiveScalarsFillArrays) {
    Array<float> x = device().full<float>(4, 3.0f);
    const auto program = [&](Array<float>& y, Array<float, 2>& grid, auto c) {
        Array<float> t = y.clone();
        t.fill(2.0f * c);
        axpy(ndrange(4), y, 3.0f, t);
        grid.view({0, 0}, {3, 4}, {2, 2}).fill(c * c);
    };
    for (const int states : {0, 1, 3}) {
        Array<float> y = x.clone(), dy = device().full<float>(4, 1.0f);
        Array<float, 2> grid = device().zeros<float>({4, 4}), dgrid = device().full<float>({4, 4}, 1.0f);
        const auto [dc] = autodiff(states ? Reverse.checkpoints(states) : Reverse, program, Duplicated(y, dy),
                                   Duplicated(grid, dgrid), Active(0.5f));
        EXPECT_EQ(dc, 4 * 3 * 2.0f + 4 * 1.0f);
        EXPECT_EQ(y.download(), std::vector<float>(4, 6.0f));
        EXPECT_EQ(dgrid.get(2, 2), 0.0f);
        EXPECT_EQ(dgrid.get(1, 2), 1.0f);
    }
    Array<float> y = x.clone(), ty = device().zeros<float>(4);
    Array<float, 2> grid = device().zeros<float>({4, 4}), tgrid = device().zeros<float>({4, 4});
    autodiff(Forward, program, Duplicated(y, ty), Duplicated(grid, tgrid), Duplicated(0.5f, 2.0f));
    EXPECT_EQ(ty.download(), std::vector<float>(4, 12.0f));
    EXPECT_EQ(tgrid.get(0, 2), 2.0f);
    // A traced number that outlives its program is a plain one.
    std::optional<Traced<float>> kept;
    autodiff(Reverse, [&](Array<float>& to, auto c) { to.fill(c), kept.emplace(c); }, Duplicated(y, ty), Active(0.5f));
    y.fill(3.0f * *kept);
    EXPECT_EQ(y.download(), std::vector<float>(4, 1.5f));
}

TEST(AutodiffPrograms, ActiveScalarsAndRules) {
    const auto twice = kernel("twice", [](Out<float> y, Val<float> a, In<float> x) {
                           auto i = global_index();
                           y[i] = a * x[i];
                       }).reverse([](const Range&, const Duplicated<Array<float>>&, float a, const Duplicated<Array<float>>&) {
        return 100.0f * a;
    });
    Array<float> y = device().zeros<float>(4), dy = device().full<float>(4, 1.0f), x = device().full<float>(4, 1.0f);
    const auto [da] = autodiff(
        Reverse, [&](Array<float>& to, Traced<float> a) { twice(ndrange(4), to, 3.0f * a, x); }, Duplicated(y, dy), Active(2.0f));
    EXPECT_EQ(da, 1800.0f);
}

}  // namespace
