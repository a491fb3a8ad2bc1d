// Semantics of kernels: results of control flow and ranges, of kernels as recorded and as prepared.
#include "core/interp/interp_test.h"

namespace pumice::interp_test {
namespace {

INSTANTIATE_TEST_SUITE_P(, interp, ::testing::Values(InterpMode::prepared, InterpMode::recorded),
                         [](const auto& info) { return info.param == InterpMode::prepared ? "prepared" : "recorded"; });

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
    EXPECT_TRUE(std::ranges::count(want, -1) > 0 && std::ranges::count(want, -1) < items);
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
    // The trip count of a loop over i8 from arg2 to arg3 by arg4, at most 1000.
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

}  // namespace
}  // namespace pumice::interp_test
