// Local and private memory, barriers and atomics.
#include <limits>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

/// Both kinds of memory, with and without whole_groups: where no items lie past the range, the results agree.
template <class... Attribute> auto reverse_static(const char* name, Attribute... attribute) {
    return kernel(name, attribute..., [](InOut<int> a) {
        Local<int, 16> tile;
        auto l = local_index();
        tile[l] = a[global_index()];
        synchronize();
        a[global_index()] = tile[15 - l];
    });
}
template <class... Attribute> auto reverse_dynamic(const char* name, Attribute... attribute) {
    return kernel(name, attribute..., [](InOut<int> a) {
        Local<int> tile(group_size() + 1);
        auto l = local_index();
        tile[l] = a[global_index()];
        synchronize();
        a[global_index()] = tile[group_size() - 1 - l];
    });
}

std::vector<int> reversed_groups(int n, int g) {
    std::vector<int> want(n);
    for (int i = 0; i < n; ++i) want[i] = i / g * g + (g - 1 - i % g);
    return want;
}

TEST(Language, ReversalThroughLocalMemory) {
    const auto dynamic = reverse_dynamic("reverse_dynamic"), whole_dynamic = reverse_dynamic("whole_dynamic", whole_groups);
    for (const auto& k :
         {reverse_static("reverse_static"), reverse_static("whole_static", whole_groups), dynamic, whole_dynamic}) {
        Array<int> a = device().upload(suite::iota<int>(64));
        k(ndrange(64).group(16), a);
        EXPECT_EQ(a.download(), reversed_groups(64, 16)) << k.name();
    }
    for (const auto& k : {dynamic, whole_dynamic}) {  // the size depends on the group of the launch
        Array<int> a = device().upload(suite::iota<int>(64));
        k(ndrange(64).group(32), a);
        EXPECT_EQ(a.download(), reversed_groups(64, 32)) << k.name();
    }
}

/// Reverses groups through local memory of `size`, which depends on the group; stores the size, too.
template <class F> auto reverse_sized(const char* name, F size) {
    return kernel(name, [=](InOut<int> a, Out<int> sizes) {
        auto elements = size(group_size());
        Local<int> tile(elements);
        auto l = local_index();
        tile[elements - 1 - l] = a[global_index()];
        synchronize();
        a[global_index()] = tile[elements - group_size() + l];
        sizes[global_index()] = elements;
    });
}

// The size is computed as the language defines it, also in expressions that drivers fold differently.
TEST(Language, SizesOfLocalMemory) {
    static constexpr int g = 24, least = std::numeric_limits<int>::min();
    const auto check = [&](auto&& k, int elements) {
        Array<int> a = device().upload(suite::iota<int>(2 * g)), sizes = device().zeros<int>(2 * g);
        k(ndrange(2 * g).group(g), a, sizes);
        EXPECT_EQ(a.download(), reversed_groups(2 * g, g)) << k.name();
        EXPECT_EQ(sizes.download(), std::vector<int>(2 * g, elements)) << k.name();
    };
    check(reverse_sized("size_sum", [](auto n) { return n * 3 - 7; }), 65);
    check(reverse_sized("size_quotient", [](auto n) { return (n * 7) / 5; }), 33);
    check(reverse_sized("size_quotient_by_zero", [](auto n) { return n / (n - g); }), g);
    check(reverse_sized("size_negative_quotient", [](auto n) { return (n * -7) / -5; }), 33);
    check(reverse_sized("size_remainder", [](auto n) { return n * 2 + n % 5; }), 52);
    check(reverse_sized("size_remainder_by_zero", [](auto n) { return n + n % (n - g); }), g);
    check(reverse_sized("size_negative_remainder", [](auto n) { return n + 4 + (n * -1) % 5; }), 24);
    check(reverse_sized("size_least", [](auto n) { return n + (n * (least / 8)) / least; }), g + 1);
    check(reverse_sized("size_least_quotient", [](auto n) { return n + (n / 1000 + least) / (n - (g + 1)) / least; }), g + 1);
    check(reverse_sized("size_shifts", [](auto n) { return (n << 33) >> 1; }), 24);
    if (device().supports(Feature::int8))
        check(reverse_sized("size_bytes", [](auto n) { return cast<int>(cast<uint8_t>(n * 11)) + 20; }), 28);
    if (device().supports(Feature::int8))
        check(reverse_sized("size_signed_bytes", [](auto n) { return cast<int>(cast<int8_t>(n * 7)) + 200; }), 112);
    check(reverse_sized("size_wide", [](auto n) { return cast<int>(cast<int64_t>(n) * 5000000000 / 4000000000); }), 30);
    check(reverse_sized("size_unsigned", [](auto n) { return cast<int>(cast<uint32_t>(n - g - 1) >> 27u); }), 31);
    check(reverse_sized("size_float", [](auto n) { return cast<int>(sqrt(cast<float>(n)) * 8.0f); }), 39);
    check(reverse_sized("size_bounds", [](auto n) { return min(max(n, 30), n + 5); }), 29);
    check(reverse_sized("size_bits", [](auto n) { return (n | 7) ^ (n & 3); }), 31);
}

TEST(Language, ImpossibleSizesOfLocalMemory) {
    static constexpr int g = 16;
    const auto message = [&](const char* name, auto size) {
        const auto k = kernel(name, [=](Out<int> out) {
            Local<int> tile(size(group_size()));
            tile[0] = 1;
            synchronize();
            out[global_index()] = tile[0];
        });
        Array<int> out = device().zeros<int>(g);
        const std::string said = suite::message_of([&] { k(ndrange(g).group(g), out).wait(); });
        Array<int> after = device().upload(suite::iota<int>(g));  // the device still works
        EXPECT_EQ(after.download(), suite::iota<int>(g));
        return said;
    };
    const auto holds = [](const std::string& message, const std::string& part) {
        EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    holds(message("size_zero", [](auto n) { return n - g; }), "has a local array of 0 elements (local_memory_test.cpp:");
    holds(message("size_negative", [](auto n) { return n / 3 - n; }),
          "has a local array of -11 elements (local_memory_test.cpp:");
    holds(message("size_least", [](auto n) { return n / 1000 + std::numeric_limits<int>::min(); }),
          "has a local array of -2147483648 elements (local_memory_test.cpp:");
    const std::string limit = text("is ", device().limits().local_memory, " bytes");
    for (const auto& said : {message("size_too_large", [](auto n) { return n * 100000; }),
                             message("size_largest", [](auto n) { return n / 1000 + std::numeric_limits<int>::max(); })}) {
        holds(said, "bytes of local memory for a group of 16 work-items; the limit of");
        holds(said, limit);
    }
    holds(message("size_too_large", [](auto n) { return n * 100000; }), "needs 6400000 bytes");
    holds(message("size_largest", [](auto n) { return n / 1000 + std::numeric_limits<int>::max(); }), "needs 8589934588 bytes");
}

const auto barrier_in_for = kernel("barrier_in_for", [](InOut<int> a, Val<int> times) {
    Local<int, 16> tile;
    auto l = local_index();
    auto i = global_index();
    tile[l] = a[i] + 3;
    $for(j, range(0, times)) {
        tile[l] -= j;
        synchronize();
    }
    a[i] = tile[group_size() - 1 - l];
});

TEST(Language, BarrierInFor) {
    for (const int times : {1, 2, 5}) {
        Array<int> a = device().upload(suite::iota<int>(64));
        barrier_in_for(ndrange(64).group(16), a, times);
        std::vector<int> want(64);
        for (int i = 0; i < 64; ++i) want[i] = (i / 16 * 16 + 15 - i % 16) + 3 - times * (times - 1) / 2;
        EXPECT_EQ(a.download(), want) << times;
    }
}

const auto two_tiles = kernel("two_tiles", [](Out<float, 2> out, In<float, 2> a) {
    Local<float, 8, 9> tile;  // a column of padding
    Local<int, 8> row;
    auto [i, j] = global_index<2>();
    auto [y, x] = local_index<2>();
    tile(y, x) = a(i, j);
    $if(x == 0) { row[y] = cast<int>(a(i, j)); }
    synchronize();
    out(i, j) = tile(x, y) + cast<float>(row[x]);
});

TEST(Language, LocalArraysOfOneAndTwoDimensions) {
    Array<float, 2> a = device().upload(suite::iota<float>(64), {8, 8}), out = device().zeros<float>({8, 8});
    two_tiles(ndrange(8, 8).group(8, 8), out, a);
    std::vector<float> want(64);
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) want[i * 8 + j] = float(j * 8 + i) + float(j * 8);
    EXPECT_EQ(out.download(), want);
}

const auto across_barriers = kernel("across_barriers", [](InOut<int> a) {
    Local<int, 32> tile;
    Private<int, 4> mine;
    auto l = local_index();
    auto i = global_index();
    Var v = a[i];
    $for(k, range(0, 4)) { mine[k] = v * k; }
    tile[l] = v;
    synchronize();
    v += tile[(l + 1) % group_size()];
    synchronize();
    tile[l] = v;
    synchronize();
    Var sum = 0;
    $for(k, range(0, 4)) { sum += mine[k]; }
    a[i] = sum + tile[(l + 1) % group_size()];
});

TEST(Language, PrivateArraysAndVarsAcrossBarriers) {
    Array<int> a = device().upload(suite::iota<int>(64));
    across_barriers(ndrange(64).group(32), a);
    std::vector<int> want(64);
    for (int i = 0; i < 64; ++i) {
        const auto next = [](int n) { return n / 32 * 32 + (n % 32 + 1) % 32; };
        want[i] = 6 * i + next(i) + next(next(i));
    }
    EXPECT_EQ(a.download(), want);
}

const auto barrier_shapes = kernel("barrier_shapes", [](InOut<int> a, Val<int> outer, Val<int> inner) {
    Local<int, 32> tile;
    Local<int, 1> trips;
    auto l = local_index();
    auto i = global_index();
    tile[l] = a[i];
    $if(l == 0) { trips[0] = inner; }
    synchronize();
    $for(p, range(0, outer)) {
        Var q = 0;
        $while(q < trips[0]) {  // the trip count comes from local memory
            auto next = tile[(l + 1) % group_size()];
            synchronize();
            tile[l] = next + p;
            synchronize();
            q += 1;
        }
    }
    $for(p, range(0, 2)) {  // two loops back to back
        auto next = tile[(l + 2) % group_size()];
        synchronize();
        tile[l] = next;
        synchronize();
    }
    a[i] = tile[l];
});

TEST(Language, BarriersInNestedConstructs) {
    const int outer = 3, inner = 2;
    Array<int> a = device().upload(suite::iota<int>(64));
    barrier_shapes(ndrange(64).group(32), a, outer, inner);
    std::vector<int> want(64);
    for (int i = 0; i < 64; ++i) want[i] = i / 32 * 32 + (i % 32 + outer * inner + 4) % 32 + inner * (0 + 1 + 2);
    EXPECT_EQ(a.download(), want);
}

const auto partial_barriers = kernel("partial_barriers", [](InOut<int> a, Val<int> times) {
    Local<int, 32> tile;
    auto l = local_index();
    auto i = global_index();
    Var v = a[i];
    $for(k, range(0, times)) {
        tile[l] = v;
        synchronize();
        v += tile[l / 2];  // never past the element of this item
        synchronize();
    }
    a[i] = v;
});

TEST(Language, BarriersInPartialGroups) {
    const int n = 45, times = 3;
    Array<int> a = device().upload(suite::iota<int>(n));
    partial_barriers(ndrange(n).group(32), a, times);
    std::vector<int> v = suite::iota<int>(n);
    for (int k = 0; k < times; ++k) {
        std::vector<int> next = v;
        for (int i = 0; i < n; ++i) next[i] += v[i / 32 * 32 + i % 32 / 2];
        v = next;
    }
    EXPECT_EQ(a.download(), v);
}

const auto global_order = kernel("global_order", [](InOut<int> a) {
    auto i = global_index();
    a[i] = i;
    synchronize();
    auto other = a[group_index() * group_size() + (local_index() + 5) % group_size()];
    synchronize();
    a[i] = other + 1;
});

TEST(Language, BarriersOrderGlobalMemory) {
    const int g = suite::at_most_group(256);
    Array<int> a = device().zeros<int>(g * 4);
    global_order(ndrange(g * 4).group(g), a);
    std::vector<int> want(g * 4);
    for (int i = 0; i < g * 4; ++i) want[i] = i / g * g + (i % g + 5) % g + 1;
    EXPECT_EQ(a.download(), want);
}

const auto atomics = kernel("atomics", [](InOut<int> a, InOut<uint32_t> u, InOut<float> f) {
    auto i = global_index();
    Local<int, 1> most;
    $if(local_index() == 0) { most[0] = -1; }
    synchronize();
    atomic_max(most[0], i);
    synchronize();
    atomic_add(a[0], i);
    atomic_sub(a[1], 2);
    atomic_min(a[2], 5 - i);
    atomic_max(a[3], most[0]);
    atomic_and(u[0], ~(Val<uint32_t>(1u) << (cast<uint32_t>(i) % 16u)));
    atomic_or(u[1], Val<uint32_t>(1u) << cast<uint32_t>(i % 32));
    atomic_xor(u[2], cast<uint32_t>(i));
    atomic_add(f[0], 0.5f);
    atomic_max(f[1], cast<float>(i));
    $if(atomic_compare_exchange(a[4], 0, 77) == 0) { atomic_add(a[5], 1); }
});

TEST(Language, Atomics) {
    const int n = 200;
    Array<int> a = device().zeros<int>(6);
    Array<uint32_t> u = device().upload(std::vector<uint32_t>{0xffffffffu, 0, 0});
    Array<float> f = device().zeros<float>(2);
    atomics(ndrange(n).group(50), a, u, f);
    uint32_t x = 0;
    for (int i = 0; i < n; ++i) x ^= uint32_t(i);
    EXPECT_EQ(a.download(), (std::vector<int>{n * (n - 1) / 2, -2 * n, 5 - (n - 1), n - 1, 77, 1}));
    EXPECT_EQ(u.download(), (std::vector<uint32_t>{0xffff0000u, 0xffffffffu, x}));
    EXPECT_EQ(f.download(), (std::vector<float>{100.0f, 199.0f}));
}

const auto trips = kernel("trips", [](InOut<int> out, In<int> counts) {
    Local<int, 1> total;
    auto l = local_index();
    auto n = uniform(counts[group_index()]);  // uniform in the group: loops on it may contain barriers
    $if(l == 0) { total[0] = 0; }
    synchronize();
    $for(k, range(n)) {
        $if(l == k) { total[0] += k + 1; }
        synchronize();
    }
    out[global_index()] = total[0];
});

TEST(Language, UniformValues) {
    Array<int> out = device().zeros<int>(24);
    trips(ndrange(24).group(8), out, device().upload<int>({2, 0, 5}));
    for (int i = 0; i < 24; ++i) EXPECT_EQ(out.download()[size_t(i)], (std::vector<int>{3, 0, 15})[size_t(i / 8)]);
}

const auto guarded = kernel("guarded", [](InOut<int> y, Val<int> n) {
    auto i = global_index();
    Local<int, 8> fixed;
    Local<int> sized(group_size());
    Local<int, 2, 3> grid;
    Private<int, 4> own;
    auto l = local_index();
    $if(l == 0) {
        sized[7] = 70;  // the group has 16 items
        fixed[7] = 1;
    }
    own[3] = 3;
    synchronize();
    // Outside of the arrays: an error only if an item gets here.
    $if(n > 1000) {
        fixed[9] = 1;
        sized[2000000000] = 1;
        sized[-1] = 1;
        grid(2, 0) = 1;
        own[4] = 1;
        own[-1] = 1;
        y[-1] = fixed[8] + sized[31] + grid(0, -1) + own[5];
        atomic_add(fixed[-2], 1);
    }
    y[i] = sized[7] + fixed[7] + own[3];
});

TEST(Language, UnreachedConstantIndicesOutsideOfArrays) {
    Array<int> y = device().zeros<int>(32);
    guarded(ndrange(32).group(16), y, 5);
    EXPECT_EQ(y.download(), std::vector<int>(32, 74));
}

}  // namespace
