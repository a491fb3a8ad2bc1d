// Device functions: called in kernels and on the host, with control flow, structs, indices and barriers.
#include <cmath>

#include "tests/device/suite.h"

namespace functions {
struct Ray {
    pumice::float3 from;
    float time = 0;
    int hits = 0;
};
}  // namespace functions
PUMICE_STRUCT(functions::Ray, from, time, hits);

using namespace pumice;
using functions::Ray;
using suite::device;

namespace {

const auto wave = function("wave", [](Val<float> x) { return exp(x) * sin(x); });
const auto collatz = function("collatz", [](Val<int> start) {
    Var n = start;
    Var steps = 0;
    $while(n > 1 && steps < 1000) {
        $if(n % 2 == 0) { n = n / 2; }
        $else { n = 3 * n + 1; }
        steps += 1;
    }
    return steps;  // the value of the variable at the end
});
const auto sum_of = function("sum_of", [](Val<int> n) {
    Var sum = 0;
    $for(k, range(n)) {
        $if(k == 3) { $continue; }
        sum += collatz(k);
        $if(sum > 1000) { $break; }
    }
    return sum;
});

int host_collatz(int n) {
    int steps = 0;
    for (; n > 1; ++steps) n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}
int host_sum_of(int n) {
    int sum = 0;
    for (int k = 0; k < n && sum <= 1000; ++k) sum += k == 3 ? 0 : host_collatz(k);
    return sum;
}

const auto call_them = kernel("call_them", [](Out<float> y, Out<int> n, In<float> x) {
    auto i = global_index();
    y[i] = wave(x[i]) - wave(0.5f * x[i]);
    n[i] = sum_of(cast<int>(x[i] * 64.0f)) + collatz(27);
});

TEST(Functions, InKernelsAndOnTheHost) {
    const std::vector<float> x = {0, 0.125f, 0.5f, 1, 1.5f};
    Array<float> y = device().zeros<float>(5);
    Array<int> n = device().zeros<int>(5);
    call_them(ndrange(5), y, n, device().upload(x));
    for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(y.download()[i], wave(x[i]) - wave(0.5f * x[i]), 1e-5);
        EXPECT_EQ(n.download()[i], host_sum_of(int(x[i] * 64)) + 111);
        EXPECT_EQ(sum_of(int(x[i] * 64)), host_sum_of(int(x[i] * 64)));
    }
    EXPECT_NEAR(wave(1.0f), std::exp(1.0) * std::sin(1.0), 1e-6);
    EXPECT_EQ(collatz(27), 111);
}

const auto advance = function("advance", [](Val<Ray> ray, Val<float3> direction, Val<float> by) {
    Var moved = ray;
    moved.from = ray.from + direction * by;
    moved.time += by;
    $if(moved.from.x > 1.0f) { moved.hits += 1; }
    return moved;
});
const auto divide = function("divide", [](Val<int> a, Val<int> b) { return std::tuple{a / b, a % b}; });
const auto move_rays = kernel("move_rays", [](InOut<Ray> rays, Out<int> out) {
    auto i = global_index();
    rays[i] = advance(advance(rays[i], float3{1, 0, 0}, 0.25f), Val<float3>(0.0f, cast<float>(i), 2.0f), 0.5f);
    auto [quotient, rest] = divide(i * 7, 3);
    out[i] = quotient * 100 + rest;
});

TEST(Functions, OfStructsAndWithSeveralResults) {
    const std::vector<Ray> rays = {{{0, 0, 0}, 0, 0}, {{0.9f, 1, 2}, 1, 5}, {{2, 2, 2}, 0, 0}};
    Array<Ray> a = device().upload(rays);
    Array<int> out = device().zeros<int>(3);
    move_rays(ndrange(3), a, out);
    for (int i = 0; i < 3; ++i) {
        const Ray want = advance(advance(rays[size_t(i)], float3{1, 0, 0}, 0.25f), float3{0, float(i), 2}, 0.5f),
                  got = a.download()[size_t(i)];
        EXPECT_EQ(got.from, want.from);
        EXPECT_EQ(got.time, want.time);
        EXPECT_EQ(got.hits, want.hits);
        const auto [quotient, rest] = divide(i * 7, 3);
        EXPECT_EQ(quotient, i * 7 / 3);
        EXPECT_EQ(out.download()[size_t(i)], quotient * 100 + rest);
    }
    EXPECT_EQ(advance(rays[1], float3{1, 0, 0}, 0.25f).hits, 6);
    EXPECT_EQ(advance(rays[1], float3{1, 0, 0}, 0.25f).from, (float3{1.15f, 1, 2}));
}

const auto types_of = function("types_of", [](Val<bool> b, Val<int8_t> c, Val<uint64_t> u, Val<double> d, Val<half> h) {
    return std::tuple{!b, c - 1, u + 1, d * 0.5, h};
});
TEST(Functions, OnTheHostOfEveryKindOfScalar) {
    const auto [b, c, u, d, h] = types_of(true, int8_t(-128), ~uint64_t(0) - 1, 3.0, half(1.5f));
    EXPECT_FALSE(b);
    EXPECT_EQ(c, 127);
    EXPECT_EQ(u, ~uint64_t(0));
    EXPECT_EQ(d, 1.5);
    EXPECT_EQ(float(h), 1.5f);
}

// Each call has its own tile: otherwise the second call would overwrite elements that items in the first one still read.
const auto left_neighbour = function("left_neighbour", [](Val<int> v) {
    Local<int> tile(group_size());
    tile[local_index()] = v;
    synchronize();
    return select(local_index() > 0, tile[max(local_index() - 1, 0)], -1);
});
const auto add_to = function("add_to", [](Val<int> v) { return v + group_index() * 1000; });
const auto neighbours = kernel("neighbours", [](InOut<int> a) {
    auto i = global_index();
    const auto left = left_neighbour(a[i]);
    a[i] = add_to(left_neighbour(left));
});

TEST(Functions, FunctionsWithIndicesAndBarriers) {
    for (const int n : {32, 27}) {
        Array<int> a = device().upload(suite::iota<int>(n));
        neighbours(ndrange(n).group(8), a);
        for (int i = 0; i < n; ++i) EXPECT_EQ(a.download()[size_t(i)], (i % 8 > 1 ? i - 2 : -1) + i / 8 * 1000) << i;
    }
}

// A callable that is chosen when the kernel is made: a lambda or a function.
template <class F> auto map_kernel(const char* name, F f) {
    return kernel(name, [f](InOut<float> a) {
        auto i = global_index();
        a[i] = f(a[i]);
    });
}

TEST(Functions, ACallableIsChosenWhileRecording) {
    const auto twice = map_kernel("twice", [](const auto& x) { return x + x; });
    const auto waves = map_kernel("waves", wave);
    Array<float> a = device().upload<float>({1, 2, 3});
    twice(ndrange(3), a);
    EXPECT_EQ(a.download(), (std::vector<float>{2, 4, 6}));
    waves(ndrange(3), a);
    EXPECT_NEAR(a.download()[0], wave(2.0f), 1e-5);
}

// A host call inside a kernel gives a host number, which is then a constant.
const auto with_constant = kernel("with_constant", [](InOut<float> a) {
    const float factor = wave(1.0f);
    a[global_index()] *= factor;
});
TEST(Functions, HostCallsWhileAKernelIsRecorded) {
    Array<float> a = device().upload<float>({1, 2});
    with_constant(ndrange(2), a);
    EXPECT_NEAR(a.download()[1], 2 * wave(1.0f), 1e-5);
}

const auto clipped = function("clipped", [](Val<float> x) {
                         return min(x, 1.0f);
                     }).reverse([](Val<float>, Val<float>, Val<float> dy) {
                           return dy;
                       }).forward([](Val<float>, Val<float> dx) { return dx; });
const auto counted = function("counted", [](Val<float> x) { return floor(x); }).inactive();
const auto product =
    function("product", [](Val<float> x, Val<float3> v) {
        return v * x;
    }).reverse([](Val<float> x, Val<float3> v, Val<float3>, Val<float3> dy) { return std::tuple{dot(v, dy), dy * x}; });
const auto with_rules = kernel("with_rules", [](InOut<float> a) {
    auto i = global_index();
    a[i] = clipped(a[i]) + counted(a[i]) + product(a[i], float3{1, 2, 3}).z;
});

TEST(Functions, WithRulesForTheirDerivatives) {
    Array<float> a = device().upload<float>({0.5f, 1.5f});
    with_rules(ndrange(2), a);
    EXPECT_EQ(a.download(), (std::vector<float>{0.5f + 0 + 1.5f, 1 + 1 + 4.5f}));
    EXPECT_EQ(clipped(3.0f), 1.0f);
    EXPECT_EQ(product(2.0f, float3{1, 2, 3}), (float3{2, 4, 6}));
    // The text of a kernel keeps the derivative rules, and the parsed kernel runs like the recorded one.
    const std::string text = with_rules.ir();
    EXPECT_NE(text.find("reverse \"clipped.reverse\" forward \"clipped.forward\""), text.npos) << text;
    EXPECT_NE(text.find("inactive"), text.npos);
    const AnyKernel read = parse_ir(text);
    EXPECT_EQ(read.ir(), text);
    Array<float> b = device().upload<float>({0.5f, 1.5f});
    read(ndrange(2), b);
    EXPECT_EQ(b.download(), a.download());
}

TEST(Functions, OfOneNameAreToldApart) {
    const auto one = function("same", [](Val<int> x) { return x + 1; });
    const auto ten = function("same", [](Val<int> x) { return x + 10; });
    const auto use = kernel("use", [&](InOut<int> a) { a[global_index()] = one(ten(a[global_index()])); });
    Array<int> a = device().upload<int>({1});
    use(ndrange(1), a);
    EXPECT_EQ(a.download()[0], 12);
}

}  // namespace
