// What kernels mean: results of control flow, memory, ranges and atomics, of kernels as recorded and as prepared.
#include "core/interp.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/interp_test.h"

namespace pumice::interp_test {
namespace {

class interp : public ::testing::TestWithParam<InterpMode> {
protected:
    std::shared_ptr<Backend> device = open_interp(GetParam());
    template <class T>
    DeviceArray<T> array(const std::vector<T>& host, std::vector<int64_t> extents = {}) {
        return {*device, host, std::move(extents)};
    }
    template <class... Args>
    void launch(const std::string& kernel, const Range& range, const Args&... args) {
        run(*device, kernel, range, {Launch::Argument(args)...});
    }
};
INSTANTIATE_TEST_SUITE_P(, interp, ::testing::Values(InterpMode::prepared, InterpMode::recorded),
                         [](const auto& info) { return info.param == InterpMode::prepared ? "prepared" : "recorded"; });

std::vector<int> counting(int n) {
    std::vector<int> v(static_cast<size_t>(n));
    std::iota(v.begin(), v.end(), 0);
    return v;
}

TEST_P(interp, saxpy_over_partial_groups) {
    const char* saxpy = R"(kernel "saxpy" math contract rank 1 (arg1: inout f32[1], arg2: in f32[1], arg3: f32) files ["k.cpp"] {
        %i = global_index 0 : i32
        %y = load arg1[%i] : f32
        %a = argument arg3 : f32
        %x = load arg2[%i] : f32
        %ax = mul %a, %x : f32
        %sum = add %y, %ax : f32
        store arg1[%i], %sum : f32
        return
    })";
    for (const int64_t group : {1, 7, 64, 1000, 1024}) {
        std::vector<float> x(1003), want(1003);
        for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 97), want[i] = 1 + 2 * x[i];
        const auto dy = array(std::vector<float>(1003, 1.0f)), dx = array(x);
        launch(saxpy, {{1003}, {group}}, dy, dx, scalar(2.0f));
        EXPECT_EQ(dy.read(), want) << "group " << group;
    }
}

TEST_P(interp, nested_loops_with_break_continue_and_return) {
    // for j in 0..n: if j == 3 continue; for k in j..0 step -1: { if k*j > i break; ++count }; if count > n return
    const char* text = R"(kernel "nest" math contract rank 1 (arg1: inout i32[1], arg2: i32) files [] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %back = constant -1 : i32
        %three = constant 3 : i32
        %n = argument arg2 : i32
        %total = for %j = %zero to %n step %one carry (%count = %zero) : i32 {
          %is3 = eq %j, %three : bool
          if %is3 { continue %count } else { yield }
          %inner = for %k = %j to %zero step %back carry (%c = %count) : i32 {
            %kj = mul %k, %j : i32
            %big = gt %kj, %i : bool
            if %big { break %c } else { yield }
            %c1 = add %c, %one : i32
            yield %c1
          }
          %over = gt %inner, %n : bool
          if %over { return } else { yield }
          yield %inner
        }
        store arg1[%i], %total : i32
        return
    })";
    const int n = 9, items = 130;
    std::vector<int> want(items, -1);
    for (int i = 0; i < items; ++i) {
        int count = 0;
        bool stored = true;
        for (int j = 0; j < n && stored; ++j) {
            if (j == 3) continue;
            for (int k = j; k > 0; --k) {
                if (k * j > i) break;
                ++count;
            }
            if (count > n) stored = false;
        }
        if (stored) want[size_t(i)] = count;
    }
    const auto out = array(std::vector<int>(items, -1));
    launch(text, {{items}, {64}}, out, scalar(n));
    EXPECT_EQ(out.read(), want);
    EXPECT_TRUE(std::count(want.begin(), want.end(), -1) > 0 && std::count(want.begin(), want.end(), -1) < items);
}

TEST_P(interp, while_with_break_and_variables) {
    const char* collatz = R"(kernel "collatz" math contract rank 1 (arg1: out i32[1], arg2: in i32[1]) files [] {
        %i = global_index 0 : i32
        %start = load arg2[%i] : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %two = constant 2 : i32
        %three = constant 3 : i32
        %limit = constant 100 : i32
        %n = var %start : i32
        %count = var %zero : i32
        while () {
          %n1 = get %n : i32
          %goes = ne %n1, %one : bool
          test %goes
        } do {
          %n2 = get %n : i32
          %r = rem %n2, %two : i32
          %even = eq %r, %zero : bool
          if %even {
            %half = div %n2, %two : i32
            set %n, %half : i32
            yield
          } else {
            %triple = mul %n2, %three : i32
            %next = add %triple, %one : i32
            set %n, %next : i32
            yield
          }
          %c = get %count : i32
          %c1 = add %c, %one : i32
          set %count, %c1 : i32
          %stop = ge %c1, %limit : bool
          if %stop { break } else { yield }
          yield
        }
        %steps = get %count : i32
        store arg1[%i], %steps : i32
        return
    })";
    const auto start = array<int>({1, 2, 3, 6, 7, 27}), steps = array(std::vector<int>(6));
    launch(collatz, {{6}}, steps, start);
    EXPECT_EQ(steps.read(), (std::vector<int>{0, 1, 7, 8, 16, 100}));
}

TEST_P(interp, while_carries_values_in_parallel) {
    // Fibonacci: (a, b) becomes (b, a + b), i times; the carried values change places.
    const char* text = R"(kernel "fib" math contract rank 1 (arg1: out i32[1]) files [] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %fa, %fb, %fn = while (%a = %zero, %b = %one, %n = %i) : (i32, i32, i32) {
          %goes = gt %n, %zero : bool
          test %goes, %a, %b, %n
        } do {
          %sum = add %a, %b : i32
          %less = sub %n, %one : i32
          yield %b, %sum, %less
        }
        store arg1[%i], %fa : i32
        return
    })";
    const auto out = array(std::vector<int>(10));
    launch(text, {{10}}, out);
    EXPECT_EQ(out.read(), (std::vector<int>{0, 1, 1, 2, 3, 5, 8, 13, 21, 34}));
}

TEST_P(interp, loops_swap_carried_values) {
    const char* text = R"(kernel "swap" math contract rank 1 (arg1: out i32[1]) files [] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %two = constant 2 : i32
        %ra, %rb = for %j = %zero to %i step %one carry (%a = %one, %b = %two) : (i32, i32) { yield %b, %a }
        store arg1[%i], %ra : i32
        return
    })";
    const auto out = array(std::vector<int>(4));
    launch(text, {{4}}, out);
    EXPECT_EQ(out.read(), (std::vector<int>{1, 2, 1, 2}));
}

TEST_P(interp, loop_bounds) {
    // How often a loop over i8 runs from arg2 to arg3 by arg4, at most 1000 times.
    const char* text =
        R"(kernel "bounds" math contract rank 1 (arg1: out i32[1], arg2: in i8[1], arg3: in i8[1], arg4: in i8[1]) files [] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %from = load arg2[%i] : i8
        %to = load arg3[%i] : i8
        %step = load arg4[%i] : i8
        %count = for %j = %from to %to step %step carry (%c = %zero) : i32 {
          %c1 = add %c, %one : i32
          yield %c1
        }
        store arg1[%i], %count : i32
        return
    })";
    const auto from = array<int8_t>({0, 0, 5, 5, 0, 100, -100, 0}), to = array<int8_t>({10, 10, 0, 0, 0, 127, -128, 1});
    const auto step = array<int8_t>({1, 3, -2, 1, 1, 20, -20, 0});
    const auto out = array(std::vector<int>(8, -1));
    launch(text, {{8}}, out, from, to, step);
    EXPECT_EQ(out.read(), (std::vector<int>{10, 4, 3, 0, 0, 2, 2, 0})) << "an index past i8 ends the loop; step 0 runs nothing";
}

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

TEST_P(interp, items_past_the_range_do_not_exist) {
    // The last group has 4 of 16 items; they still pass the barrier together.
    const char* shift = R"(kernel "shift" math contract rank 1 (arg1: out i32[1], arg2: in i32[1]) files [] {
        local tile: i32[16]
        %i = global_index 0 : i32
        %l = local_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %v = load arg2[%i] : i32
        store tile[%l], %v : i32
        barrier
        %left = sub %l, %one : i32
        %at = max %left, %zero : i32
        %w = load tile[%at] : i32
        store arg1[%i], %w : i32
        return
    })";
    const auto out = array(std::vector<int>(40, -1)), in = array(counting(36));
    launch(shift, {{36}, {16}}, out, in);
    std::vector<int> want(40, -1);
    for (int i = 0; i < 36; ++i) want[size_t(i)] = i % 16 == 0 ? i : i - 1;
    EXPECT_EQ(out.read(), want);
}

TEST_P(interp, whole_groups_run_past_the_range) {
    const char* text = R"(kernel "whole" math contract whole_groups rank 1 (arg1: inout i32[1]) files [] {
        %i = global_index 0 : i32
        %in = in_range : bool
        %n = cast %in : i32
        store arg1[%i], %n : i32
        return
    })";
    const auto out = array(std::vector<int>(16, -1));
    launch(text, {{10}, {8}}, out);
    EXPECT_EQ(out.read(), (std::vector<int>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0}));
}

TEST_P(interp, two_and_three_dimensions_with_offsets) {
    const char* flat = R"(kernel "grid" math contract rank 2 (arg1: out i32[2]) files [] {
        %j = global_index 0 : i32
        %i = global_index 1 : i32
        %w = extent arg1, 0 : i32
        %row = mul %i, %w : i32
        %sum = add %row, %j : i32
        store arg1[%i, %j], %sum : i32
        return
    })";
    const auto out = array(std::vector<int>(8 * 11, -1), {8, 11});
    launch(flat, {{6, 9}, {4, 4}, {1, 2}}, out);
    std::vector<int> want(8 * 11, -1);
    for (int i = 1; i < 7; ++i)
        for (int j = 2; j < 11; ++j) want[size_t(i * 11 + j)] = i * 11 + j;
    EXPECT_EQ(out.read(), want);

    // Every index of a 3-D launch, as the digits of one number; the array by one linear index.
    const char* cube = R"(kernel "cube" math contract rank 3 (arg1: out i32[3]) files [] {
        %x = global_index 0 : i32
        %y = global_index 1 : i32
        %z = global_index 2 : i32
        %gx = group_index 0 : i32
        %gy = group_index 1 : i32
        %gz = group_index 2 : i32
        %ly = local_index 1 : i32
        %sx = global_size 0 : i32
        %sy = global_size 1 : i32
        %cx = group_count 0 : i32
        %zy = mul %z, %sy : i32
        %zy1 = add %zy, %y : i32
        %zyx = mul %zy1, %sx : i32
        %at = add %zyx, %x : i32
        %ten = constant 10 : i32
        %a = mul %gz, %ten : i32
        %b = add %a, %gy : i32
        %c = mul %b, %ten : i32
        %d = add %c, %gx : i32
        %e = mul %d, %ten : i32
        %f = add %e, %ly : i32
        %g = mul %f, %ten : i32
        %h = add %g, %cx : i32
        store arg1[%at], %h : i32
        return
    })";
    const auto volume = array(std::vector<int>(3 * 5 * 7), {3, 5, 7});
    launch(cube, {{3, 5, 7}, {2, 2, 4}}, volume);
    std::vector<int> digits;
    for (int z = 0; z < 3; ++z)
        for (int y = 0; y < 5; ++y)
            for (int x = 0; x < 7; ++x) digits.push_back(((z / 2 * 10 + y / 2) * 10 + x / 4) * 100 + y % 2 * 10 + 2);
    EXPECT_EQ(volume.read(), digits);
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
    EXPECT_EQ(high.read()[0], *std::max_element(data.begin(), data.end()));
}

TEST_P(interp, atomics_give_the_old_value) {
    // Every operation once, by one item; then a compare_exchange that fits and one that does not.
    const std::pair<const char*, int> cases[] = {{"add", 12 + 10}, {"sub", 12 - 10}, {"min", 10}, {"max", 12},
                                                 {"and", 12 & 10}, {"or", 12 | 10}, {"xor", 12 ^ 10}, {"exchange", 10}};
    for (const auto& [what, result] : cases) {
        const std::string text = R"(kernel "old" math contract rank 1 (arg1: inout i32[1]) files [] {
            %zero = constant 0 : i32
            %one = constant 1 : i32
            %v = constant 10 : i32
            %old = atomic )" + std::string(what) + R"( arg1[%zero], %v : i32
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
    struct Mixed { float x; uint8_t n; double d; };
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
