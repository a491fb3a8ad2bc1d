// Semantics of kernels: local and private memory, barriers, atomics, structs and arguments.
#include <limits>

#include "core/interp/interp_test.h"

namespace pumice::interp_test {
namespace {

const char* const reverse = R"(kernel "reverse" math contract rank 1 (arg1: inout i32[1]) files ["k.cpp"] {
    local tile: i32[size %size]
    %i = global_index 0 : i32
    %l = local_index 0 : i32
    %size = group_size 0 : i32
    %one = constant 1 : i32
    %v = load arg1[%i] : i32
    store tile[%l], %v : i32
    barrier
    %last = sub %size, %one : i32
    %mirror = sub %last, %l : i32
    %w = load tile[%mirror] : i32
    store arg1[%i], %w : i32
    return
})";

TEST_P(interp, local_memory_sized_by_the_launch) {
    for (const int g : {8, 16, 64}) {
        std::vector<int> want(64);
        for (int i = 0; i < 64; ++i) want[size_t(i)] = i / g * g + (g - 1 - i % g);
        const auto a = array(counting(64));
        launch(reverse, {{64}, {g}}, a);
        EXPECT_EQ(a.read(), want) << "group " << g;
    }
}

TEST_P(interp, barriers_in_loops_order_global_memory) {
    const char* rotate = R"(kernel "rotate" math contract rank 1 (arg1: inout i32[1], arg2: i32) files [] {
        %l = local_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %times = argument arg2 : i32
        %size = group_size 0 : i32
        %right = add %l, %one : i32
        %from = rem %right, %size : i32
        for %k = %zero to %times step %one {
          %next = load arg1[%from] : i32
          barrier
          store arg1[%l], %next : i32
          barrier
          yield
        }
        return
    })";
    std::vector<int> want(64);
    for (int i = 0; i < 64; ++i) want[size_t(i)] = (i + 6) % 64;
    const auto ring = array(counting(64));
    launch(rotate, {{64}, {64}}, ring, scalar(6));
    EXPECT_EQ(ring.read(), want);
}

TEST_P(interp, atomics_on_global_and_local_memory) {
    const char* histogram =
        R"(kernel "histogram" math contract rank 1 (arg1: inout u32[1], arg2: in i32[1], arg3: inout f32[1], arg4: inout i32[1]) files [] {
        local partial: u32[8]
        %i = global_index 0 : i32
        %l = local_index 0 : i32
        %eight = constant 8 : i32
        %zero = constant 0 : u32
        %one = constant 1 : u32
        %first = lt %l, %eight : bool
        if %first { store partial[%l], %zero : u32 yield } else { yield }
        barrier
        %v = load arg2[%i] : i32
        %bin = rem %v, %eight : i32
        %o1 = atomic add partial[%bin], %one : u32
        %origin = constant 0 : i32
        %f = cast %v : f32
        %o2 = atomic add arg3[%origin], %f : f32
        %o3 = atomic max arg4[%origin], %v : i32
        barrier
        if %first {
          %p = load partial[%l] : u32
          %o4 = atomic add arg1[%l], %p : u32
          yield
        } else { yield }
        return
    })";
    const int n = 200;
    std::vector<int> data(n);
    std::vector<uint32_t> want(8);
    float sum = 0;
    for (int i = 0; i < n; ++i)
        data[size_t(i)] = i * 37 % 101, ++want[size_t(data[size_t(i)] % 8)], sum += float(data[size_t(i)]);
    const auto bins = array(std::vector<uint32_t>(8));
    const auto total = array(std::vector<float>(1));
    const auto values = array(data), high = array<int>({-5});
    launch(histogram, {{n}, {64}}, bins, values, total, high);
    EXPECT_EQ(bins.read(), want);
    EXPECT_EQ(total.read()[0], sum);
    EXPECT_EQ(high.read()[0], *std::ranges::max_element(data));
}

TEST_P(interp, atomics_give_the_old_value) {
    // Every operation once, by one item; then a compare_exchange that fits and one that does not.
    const std::pair<const char*, int> cases[] = {{"add", 12 + 10}, {"sub", 12 - 10}, {"min", 10},      {"max", 12},
                                                 {"and", 12 & 10}, {"or", 12 | 10},  {"xor", 12 ^ 10}, {"exchange", 10}};
    for (const auto& [what, result] : cases) {
        const std::string text = R"(kernel "old" math contract rank 1 (arg1: inout i32[1]) files [] {
            %zero = constant 0 : i32
            %one = constant 1 : i32
            %v = constant 10 : i32
            %old = atomic )" + std::string(what) +
                                 R"( arg1[%zero], %v : i32
            store arg1[%one], %old : i32
            return
        })";
        const auto a = array<int>({12, 0});
        launch(text, {{1}}, a);
        EXPECT_EQ(a.read(), (std::vector<int>{result, 12})) << what;
    }
    const char* exchange = R"(kernel "cas" math contract rank 1 (arg1: inout i32[1], arg2: out i32[1], arg3: i32) files [] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %expected = argument arg3 : i32
        %old = compare_exchange arg1[%zero], %expected, %i : i32
        store arg2[%i], %old : i32
        return
    })";
    const auto a = array<int>({7}), old = array(std::vector<int>(3, -1));
    launch(exchange, {{3}}, a, old, scalar(7));
    EXPECT_EQ(old.read(), (std::vector<int>{7, 0, 0})) << "the items go in order: the first exchanges 7 for 0";
    EXPECT_EQ(a.read()[0], 0);
}

TEST_P(interp, structs_private_arrays_and_conversions) {
    const char* text =
        R"(kernel "mixed" math contract rank 1 (arg1: inout {x: f32 @0, n: u8 @4, d: f64 @8}:16[1], arg2: out i32[1], arg3: out f16[1]) files [] {
        private mine: i32[4]
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %four = constant 4 : i32
        for %j = %zero to %four step %one {
          %v = mul %i, %j : i32
          store mine[%j], %v : i32
          yield
        }
        %sum = for %j2 = %zero to %four step %one carry (%s = %zero) : i32 {
          %w = load mine[%j2] : i32
          %s1 = add %s, %w : i32
          yield %s1
        }
        %x = load arg1[%i].x : f32
        %big = constant 1e10 : f32
        %huge = mul %x, %big : f32
        %clipped = cast %huge : i32
        store arg2[%i], %clipped : i32
        %h = cast %x : f16
        store arg3[%i], %h : f16
        %u = cast %sum : u8
        store arg1[%i].n, %u : u8
        %d = cast %sum : f64
        store arg1[%i].d, %d : f64
        return
    })";
    struct Mixed {
        float x;
        uint8_t n;
        double d;
    };
    static_assert(sizeof(Mixed) == 16);
    const auto a = array<Mixed>({{1.5f, 0, 0}, {-2, 0, 0}, {std::numeric_limits<float>::quiet_NaN(), 0, 0}, {0, 0, 0}});
    const auto out = array(std::vector<int>(4, -1));
    const auto halves = array(std::vector<uint16_t>(4));
    launch(text, {{4}}, a, out, halves);
    EXPECT_EQ(out.read(), (std::vector<int>{INT32_MAX, INT32_MIN, 0, 0}));
    EXPECT_EQ(halves.read()[0], 0x3e00);
    EXPECT_EQ(halves.read()[1], 0xc000);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(a.read()[size_t(i)].n, 6 * i);
        EXPECT_EQ(a.read()[size_t(i)].d, 6.0 * i);
    }
    EXPECT_EQ(a.read()[0].x, 1.5f) << "members beside the stored ones are left alone";
}

TEST_P(interp, scalar_arguments_of_every_type) {
    const char* text =
        R"(kernel "scalars" math contract rank 1 (arg1: out f64[1], arg2: bool, arg3: i8, arg4: u16, arg5: i64, arg6: f16, arg7: f64) files [] {
        %b = argument arg2 : bool
        %c = argument arg3 : i8
        %s = argument arg4 : u16
        %l = argument arg5 : i64
        %h = argument arg6 : f16
        %d = argument arg7 : f64
        %i0 = constant 0 : i32
        %i1 = constant 1 : i32
        %i2 = constant 2 : i64
        %i3 = constant 3 : u8
        %i4 = constant 4 : u64
        %i5 = constant 5 : i16
        %v0 = cast %b : f64
        %v1 = cast %c : f64
        %v2 = cast %s : f64
        %v3 = cast %l : f64
        %v4 = cast %h : f64
        store arg1[%i0], %v0 : f64
        store arg1[%i1], %v1 : f64
        store arg1[%i2], %v2 : f64
        store arg1[%i3], %v3 : f64
        store arg1[%i4], %v4 : f64
        store arg1[%i5], %d : f64
        return
    })";
    const auto out = array(std::vector<double>(6));
    launch(text, {{1}}, out, scalar(true), scalar(int8_t(-3)), scalar(uint16_t(65535)), scalar(int64_t(-1) << 40),
           scalar(half(0.5f)), scalar(2.25));
    EXPECT_EQ(out.read(), (std::vector<double>{1, -3, 65535, -1099511627776.0, 0.5, 2.25}));
}

}  // namespace
}  // namespace pumice::interp_test
