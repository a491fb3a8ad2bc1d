// Derivatives of kernels with static groups and ranges, and of kernels over more than three dimensions.
#include "tests/autodiff/derivatives.h"

using namespace pumice;
using suite::device;
using suite::expect_derivatives;
using suite::numbers;

namespace {

Array<float> field(int64_t n, uint64_t seed) { return device().upload(numbers<float>(n, seed, 0.5, 1.5)); }

/// Items of a group share values by local memory; entries past the end of the range are not read.
void shared_product(const InOut<float>& y, const In<float>& x) {
    Local<float, 32> tile;
    auto i = global_index(), l = local_index();
    tile[l] = x[i] * x[i];
    synchronize();
    y[i] = y[i] * tile[max(l - 1, 0)] + tile[0];
}
/// Only the device knows the trip count, so the tape is counted.
Val<float> often_halved(Val<float> x, Val<int> times) {
    Var v = x;
    Var left = times;
    $while(left > 0) {
        v = 0.5f * v + 0.2f * v * v;
        left -= 1;
    }
    return v;
}

TEST(AutodiffRanges, StaticGroup) {
    const auto shared = kernel("shared", static_group<32>, [](InOut<float> y, In<float> x) { shared_product(y, x); });
    expect_derivatives(shared, ndrange(48), field(48, 1), field(48, 2));
    const auto sums = kernel("sums", static_group<16>, [](InOut<float> y, In<float> x) {
        auto s = subgroup::reduce_add(x[global_index()] * x[global_index()]);
        $if(subgroup::elect()) { atomic_add(y[0], s); }
    });
    expect_derivatives(sums, ndrange(40), field(1, 3), field(40, 4));
    const auto guarded = kernel("guarded", whole_groups, static_group<4, 8>, [](InOut<float, 2> y, In<float, 2> x) {
        auto [i, j] = global_index<2>();
        Local<float, 4, 8> tile;
        auto [a, b] = local_index<2>();
        tile(a, b) = 0.5f;
        $if(in_range()) { tile(a, b) = often_halved(x(i, j), (i + j) % 5); }
        synchronize();
        $if(in_range()) { y(i, j) += tile(3 - a, 7 - b) * x(i, j); }
    });
    expect_derivatives(guarded, ndrange(6, 11), field(66, 5).reshape({6, 11}), field(66, 6).reshape({6, 11}));
}

TEST(AutodiffRanges, StaticRange) {
    const auto shared =
        kernel("shared", static_group<16>, static_range<40>, [](InOut<float> y, In<float> x) { shared_product(y, x); });
    const auto often = kernel("often", static_range<40>, [](InOut<float> y, In<float> x) {
        auto i = global_index();
        y[i] *= often_halved(x[i], i % 5) + x[i];
    });
    const auto stencil = kernel("stencil", static_range<5, 8>, [](InOut<float, 2> y, In<float, 2> x) {
        auto [i, j] = global_index<2>();
        y(i, j) = sin(x(i, j) + x(i, j + 1) * x(i + 1, j));
    });
    const auto total = kernel("total", static_range<40>, [](InOut<float> y, In<float> x) {
        auto i = global_index();
        atomic_add(y[0], x[i] * x[i]);
    });
    for (const bool own : {true, false}) {
        const Range range = own ? ndrange() : ndrange(40);
        expect_derivatives(shared, range, field(40, 7), field(40, 8));
        expect_derivatives(often, range, field(40, 9), field(40, 10));
        expect_derivatives(total, range, field(1, 11), field(40, 12));
        expect_derivatives(stencil, own ? ndrange() : ndrange(5, 8), field(40, 13).reshape({5, 8}),
                           field(54, 14).reshape({6, 9}));
    }
}

/// So many items that sums are chunked, unless the range is static.
TEST(AutodiffRanges, StaticRangeOfManyItems) {
    constexpr int n = 3 << 17;
    const auto scaled = kernel("scaled", static_range<n>, [](InOut<float> y, In<float> x, Val<float> a) {
        auto i = global_index();
        y[i] += a * x[i];
    });
    const Array<float> y = device().zeros<float>(n), dy = device().full<float>(n, 1.0f);
    const Array<float> x = device().full<float>(n, 0.5f), dx = device().zeros<float>(n);
    const auto [da] = autodiff(Reverse, scaled, ndrange(), Duplicated(y, dy), Duplicated(x, dx), Active(3.0f));
    EXPECT_EQ(da, n / 2);
    EXPECT_EQ(dx.get(n - 1), 3.0f);
}

TEST(AutodiffRanges, MoreThanThreeDimensionsAreRefused) {
    const auto scaled = kernel("scaled_4", [](InOut<float, 4> y, In<float, 4> x) {
        auto [a, b, c, d] = global_index<4>();
        y(a, b, c, d) *= x(a, b, c, d);
    });
    Array<float, 4> y = field(120, 15).reshape({2, 3, 4, 5}), x = y.clone(), dy = y.clone(), dx = y.clone();
    const std::string want =
        "the derivative of kernel \"scaled_4\" (derived_ranges_test.cpp:92): it takes ranges of 4 dimensions, and there are "
        "derivatives "
        "of kernels "
        "over 3 at most";
    EXPECT_EQ(suite::message_of([&] { autodiff(Reverse, scaled, ndrange(2, 3, 4, 5), Duplicated(y, dy), Duplicated(x, dx)); }),
              want);
    const auto program = [&](const Array<float, 4>& u, const Array<float, 4>& v) { scaled(ndrange(2, 3, 4, 5), u, v); };
    EXPECT_EQ(suite::message_of([&] { autodiff(Reverse, program, Duplicated(y, dy), Duplicated(x, dx)); }), want);
    // A kernel that uses no index of these dimensions has a derivative.
    const auto shared = kernel("shared_linear", [](InOut<float> y, In<float> x) {
        Local<float> tile(group_size_linear());
        tile[local_index_linear()] = x[global_index_linear()] * x[global_index_linear()];
        synchronize();
        y[global_index_linear()] *= tile[local_index_linear()] + 1.0f;
    });
    expect_derivatives(shared, ndrange(2, 3, 4, 5), field(120, 16), field(120, 17));
}

}  // namespace
