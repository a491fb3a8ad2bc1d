// Kernels with groups: local memory, barriers, collective operations, fixed groups and ranges, and sums.
#include "tests/runtime/rt_compare.h"
#include "tests/runtime/rt_kernels.h"

using namespace rt_test;
using pumice::ndrange;

namespace {

TEST(RuntimeEqual, TiledProduct) {
    for (const auto& [m, k, n] :
         {std::tuple<int64_t, int64_t, int64_t>(1, 1, 1), {16, 16, 16}, {17, 33, 47}, {128, 64, 96}, {250, 31, 129}}) {
        const pumice::Range range = ndrange(m, n);
        same(rt_kernels::matmul, range.group(16, 16), random<float>({m, n}, 1), random<float>({m, k}), random<float>({k, n}, 2));
    }
}

TEST(RuntimeEqual, FixedGroupsAndRanges) {
    for (const int64_t n : {8, 16, 1000, 4096}) same(rt_kernels::fixed_group, ndrange(n), random<int>({n}, 1));
    same(rt_kernels::fixed_group, ndrange(64).group(8), random<int>({64}));
    same(rt_kernels::fixed_range, ndrange(), random<int>({12}));
    same(rt_kernels::fixed_range, ndrange(12).group(5), random<int>({12}));
    same(rt_kernels::fixed_both, ndrange(), random<int>({16, 24}));
    same(rt_kernels::fixed_both, ndrange(16, 24).group(4, 8), random<int>({16, 24}));
}

TEST(RuntimeEqual, ItemsThatTellTheirGroup) {
    for (const int64_t n : {0, 1, 7, 63, 64, 65, 1000, 4097, 100000})
        for (const int group : {64, 32, 7}) {
            same(rt_kernels::told_group, ndrange(n).group(group), random<int>({n}));
            if (n > 10) same(rt_kernels::told_group, ndrange({3}, {n - 3}).group(group), random<int>({n}));
        }
    for (const int64_t n : {1, 8, 10, 1000}) same(rt_kernels::whole, ndrange(n).group(8), random<int>({1}), random<int>({1}));
    for (const int64_t n : {16, 1600}) same(rt_kernels::sized_local, ndrange(n).group(16), random<int>({n}));
}

TEST(RuntimeEqual, CollectiveOperations) {
    for (const int64_t n : {1, 5, 64, 100, 1000, 4097})
        for (const int group : {64, 5}) {
            const Data<int, 1> x = made<int>({n}, [](int64_t i) { return (i * 37) % 101 - 20; });
            // The sum of floats of a group is rounded in no fixed order.
            same(rt_kernels::collective, ndrange(n).group(group), random<int>({4 * n}),
                 about(made<float>({n}, [](int64_t) { return 0; }), 1e-5), x, random<uint32_t>({n}));
        }
}

TEST(RuntimeEqual, Sums) {
    for (const int64_t n : {0, 1, 7, 63, 64, 65, 1000, 4097, 1 << 20}) {
        // A float sum's order depends on the threads: each addition rounds by at most 2^-24 of the partial sum.
        const auto one = [](int64_t i) { return double(i % 8) / 8; };
        same(rt_kernels::total, ndrange(n), about(made<float>({1}, one), 1e-4), made<float>({n}, one, 1));
        same(rt_kernels::count, ndrange(n), random<uint32_t>({1}), random<uint32_t>({n}));
        same(rt_kernels::histogram, ndrange(n), random<uint32_t>({61}, 1), random<uint32_t>({n}));
        same(rt_kernels::deep_sums, ndrange(n), random<uint32_t>({3, 5, 7, 11}), random<uint32_t>({n}));
        Data<int, 1> five = random<int>({5}, 1);
        same(rt_kernels::many_sums, ndrange(n), five, five, five, five, five, five, five, five, five, five, five, five, five,
             five, five, five, five, five, random<uint64_t>({3}), made<float>({1}, [](int64_t) { return 0; }));
    }
    for (const auto& [h, w] : {std::pair<int64_t, int64_t>(1, 1), {7, 1000}, {1000, 7}, {300, 400}})
        same(rt_kernels::row_sums, ndrange(h, w), about(made<double>({h}, [](int64_t i) { return i; }), 1e-9),
             random<float>({h, w}));
}

/// Starts of rows with 0 to 6 elements.
Data<int, 1> row_starts(int64_t rows, int64_t shift) {
    return made<int>({rows + 1}, [](int64_t i) { return int(i / 7 * 21 + i % 7 * (i % 7 - 1) / 2); }, shift);
}

TEST(RuntimeEqual, SumsOverRangesThatItemsOwn) {
    for (const int64_t rows : {0, 1, 7, 1000, 50001}) {
        const Data<int, 1> starts = row_starts(rows, 3);
        const int64_t n = Data<int, 1>(starts).data()[rows];
        const auto some = [](int64_t i) { return double(i * 7919 % 97) / 97 - 0.5; };
        const Data<int, 1> columns = made<int>({n}, [&](int64_t i) { return (i * 7919) % rows; });
        // Several rows add to one element of the vector's derivative, in any order.
        same(rt_kernels::adjoint_of_sparse, ndrange(rows), made<double>({rows}, some), made<double>({rows}, some),
             made<double>({n}, some), made<double>({n}, some, 1), made<double>({rows}, some),
             about(made<double>({rows}, some), 1e-9), starts, columns);
    }
    const int64_t items = 100000;
    const Data<int, 1> sums = made<int>({items}, [](int64_t i) { return i; });
    same(rt_kernels::range_sums, ndrange({100}, {items}), sums, made<int>({items + 3}, [](int64_t i) { return i / 2; }), 1);
    // Bounds that decrease: all ranges are the first 200 elements, or empty.
    same(rt_kernels::range_sums, ndrange(items), sums, made<int>({items + 3}, [](int64_t i) { return i % 2 * 200; }), 1);
}

TEST(RuntimeEqual, ItemsShareNoElementsIfSeveralThreadsRunThem) {
    int parallel = 0;
    pumice_hooks hooks{};
    hooks.user = &parallel;
    hooks.parallel = [](void* user, int parts, void (*body)(void*, int), void* context) {
        ++*static_cast<int*>(user);
        for (int part = 0; part < parts; ++part) body(context, part);
    };
    const Opened opened(2, hooks);
    const int64_t items = 100000;
    const auto parallel_runs = [&](auto bound, const pumice::Range& range) {
        Held sums = to_runtime(opened.device, made<int>({items}, [](int64_t) { return 0; })),
             bounds = to_runtime(opened.device, made<int>({items + 3}, bound));
        parallel = 0;
        EXPECT_EQ(launch(opened.device, "range_sums", range_of(range), sums, bounds, 1), PUMICE_OK) << pumice_error();
        for (Held* held : {&sums, &bounds}) pumice_array_release(&held->all);
        return parallel;
    };
    const auto one_falls = [&](int64_t at) { return [=](int64_t i) { return i / 2 - 5 * (i == at); }; };
    EXPECT_EQ(parallel_runs(one_falls(-1), ndrange(items)), 1);
    for (const int64_t at : {1, 2}) EXPECT_EQ(parallel_runs(one_falls(at), ndrange(items)), 1) << "not of an item: " << at;
    for (const int64_t at : {3, 12, 30001, int(items) + 1, int(items) + 2})
        EXPECT_EQ(parallel_runs(one_falls(at), ndrange(items)), 0) << at;
    EXPECT_EQ(parallel_runs(one_falls(3), ndrange({2}, {items})), 1) << "before the range";
    EXPECT_EQ(parallel_runs(one_falls(5), ndrange({2}, {items})), 0);
}

TEST(RuntimeEqual, AtomicsOfAllTypes) {
    for (const int64_t n : {1, 64, 1000, 100000})
        same(rt_kernels::atomics, ndrange(n), random<int64_t>({3}),
             made<uint64_t>({4}, [](int64_t i) { return i == 3 ? 0 : ~0ull >> i; }), random<int8_t>({4}),
             made<float>({1}, [](int64_t) { return -5; }), made<int>({n}, [](int64_t i) { return (i * 7919) % 1000; }));
}

}  // namespace
