// Adjoint kernels: their results against central differences, and the form of some of them.
#include "autodiff/reverse/derivative_test.h"

namespace pumice::derive::test {
namespace {

TEST(derivatives, of_saxpy) {
    check_derivatives(R"(kernel "saxpy" math contract rank 1 (arg1: inout f64[1], arg2: in f64[1], arg3: f64) files [] {
        %i = global_index 0 : i32
        %y = load arg1[%i] : f64
        %a = argument arg3 : f64
        %x = load arg2[%i] : f64
        %ax = mul %a, %x : f64
        %s = add %y, %ax : f64
        store arg1[%i], %s : f64
        return
    })",
                      {some(70), some(70), real(1.5)}, {{70}, {32}});
}

TEST(derivatives, of_operations) {
    check_derivatives(R"(kernel "ops" math contract rank 1 (arg1: out f64[1], arg2: in f64[1]) files [] {
        %i = global_index 0 : i32
        %x = load arg2[%i] : f64
        %s = sin %x : f64
        %e = exp %x : f64
        %p = mul %s, %e : f64
        %q = sqrt %e : f64
        %r = div %p, %q : f64
        %l = log %q : f64
        %m = max %r, %l : f64
        %c = gt %x, %s : bool
        %z = select %c, %m, %p : f64
        %t = atan2 %z, %e : f64
        %u = sub %t, %x : f64
        %f = fma %u, %x, %p : f64
        %j = neg %f : f64
        %ii = cast %j : i32
        %back = cast %ii : f64
        %o = mul %back, %j : f64
        %v = add %j, %o : f64
        store arg1[%i], %v : f64
        return
    })",
                      {some(40), some(40, 0.2, 1.0)}, {{40}, {16}}, 3, 1e-5);
}

/// A loop whose running sum is used within the iteration: its adjoint depends on the order of iterations.
TEST(derivatives, of_sums_that_are_used_within_the_loop) {
    check_derivatives(R"(kernel "sums" math contract rank 1 (arg1: out f64[1], arg2: in f64[1]) files [] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %n = extent arg2, 0 : i32
        %nothing = constant 0 : f64
        %total, %last = for %k = %zero to %n step %one carry (%sum = %nothing, %of_sums = %nothing) : (f64, f64) {
          %x = load arg2[%k] : f64
          %next = add %sum, %x : f64
          %all = add %of_sums, %next : f64
          yield %next, %all
        }
        %y = mul %total, %last : f64
        store arg1[%i], %y : f64
        return
    })",
                      {some(3), some(9)}, {{3}, {2}});
}

/// Derivatives by values that are uniform: an argument, an element that all items read, a result of the group.
TEST(derivatives, of_uniform_values) {
    check_derivatives(R"(kernel "same" math contract rank 1 (arg1: out f64[1], arg2: in f64[1], arg3: f64) files [] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %a = argument arg3 : f64
        %first = load arg2[%zero] : f64
        %s = sin %first : f64
        %p = mul %s, %a : f64
        %u = uniform %a : f64
        %v = uniform %p : f64
        %x = load arg2[%i] : f64
        %xu = mul %x, %u : f64
        %y = add %xu, %v : f64
        store arg1[%i], %y : f64
        return
    })",
                      {some(20), some(20), real(0.7)}, {{20}, {8}});
}

TEST(derivatives, of_newtons_iteration) {
    check_derivatives(R"(kernel "newton" math contract rank 1 (arg1: out f64[1], arg2: in f64[1]) files [] {
        %i = global_index 0 : i32
        %v = load arg2[%i] : f64
        %half = constant 0.5 : f64
        %tiny = constant 1e-06 : f64
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %most = constant 50 : i32
        %guess = var %v : f64
        %steps = var %zero : i32
        while () {
          %g = get %guess : f64
          %n = get %steps : i32
          %gg = mul %g, %g : f64
          %d = sub %gg, %v : f64
          %far = abs %d : f64
          %tol = mul %tiny, %v : f64
          %more = gt %far, %tol : bool
          %few = lt %n, %most : bool
          %goes = and %more, %few : bool
          test %goes
        } do {
          %g2 = get %guess : f64
          %q = div %v, %g2 : f64
          %s = add %g2, %q : f64
          %h = mul %half, %s : f64
          set %guess, %h : f64
          %n2 = get %steps : i32
          %n3 = add %n2, %one : i32
          set %steps, %n3 : i32
          yield
        }
        %root = get %guess : f64
        store arg1[%i], %root : f64
        return
    })",
                      {some(30), some(30, 1, 50)}, {{30}, {16}}, 3, 1e-4);
}

const char* nest = R"(kernel "nest" math contract rank 1 (arg1: inout f64[1], arg2: in f64[1], arg3: i32, arg4: f64) files [] {
    %i = global_index 0 : i32
    %x = load arg2[%i] : f64
    %n = argument arg3 : i32
    %a = argument arg4 : f64
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %two = constant 2 : i32
    %three = constant 3 : i32
    %s = for %j = %n to %zero step %back carry (%c = %x) : f64 {
      %odd = rem %j, %two : i32
      %is = eq %odd, %one : bool
      %d = if %is : f64 {
        %sin = sin %c : f64
        %skip = eq %j, %three : bool
        if %skip { continue %sin } else { yield }
        %m = mul %sin, %a : f64
        yield %m
      } else {
        %t = for %k = %zero to %j step %two carry (%u = %c) : f64 {
          %uu = mul %u, %u : f64
          %half = constant 0.25 : f64
          %w = mul %uu, %half : f64
          %big = gt %w, %half : bool
          if %big { break %u } else { yield }
          %ww = add %w, %x : f64
          yield %ww
        }
        %cos = cos %t : f64
        yield %cos
      }
      %e = mul %d, %x : f64
      yield %e
    }
    %y = load arg1[%i] : f64
    %p = mul %y, %s : f64
    %neg = lt %p, %y : bool
    if %neg { return } else { yield }
    store arg1[%i], %p : f64
    return
})";
std::string with_back(std::string text) {
    text.insert(text.find("%s = for"), "%back = constant -1 : i32\n    ");
    return text;
}

TEST(derivatives, of_nested_loops_with_every_kind_of_exit) {
    check_derivatives(with_back(nest), {some(20), some(20), whole(7), real(0.8)}, {{20}, {8}});
}

TEST(derivatives, through_local_memory_and_barriers) {
    check_derivatives(R"(kernel "normalize" math contract rank 1 (arg1: out f64[1], arg2: in f64[1]) files [] {
        local tile: f64[8]
        %l = local_index 0 : i32
        %i = global_index 0 : i32
        %x = load arg2[%i] : f64
        %xx = mul %x, %x : f64
        store tile[%l], %xx : f64
        barrier
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %eight = constant 8 : i32
        %none = constant 0.0 : f64
        %sum = for %k = %zero to %eight step %one carry (%s = %none) : f64 {
          %t = load tile[%k] : f64
          %st = add %s, %t : f64
          yield %st
        }
        %root = sqrt %sum : f64
        %y = div %x, %root : f64
        store arg1[%i], %y : f64
        return
    })",
                      {some(32), some(32)}, {{32}, {8}});
}

TEST(derivatives, through_a_tree_reduction_in_local_memory) {
    // The last group is cut: items past the range store nothing.
    check_derivatives(R"(kernel "tree" math contract rank 1 (arg1: inout f64[1], arg2: in f64[1]) files [] {
        local tile: f64[size %size]
        %size = group_size 0 : i32
        %l = local_index 0 : i32
        %i = global_index 0 : i32
        %n = global_size 0 : i32
        %zero0 = constant 0 : i32
        %x = load arg2[%i] : f64
        %xx = mul %x, %x : f64
        store tile[%l], %xx : f64
        barrier
        %one = constant 1 : i32
        %two = constant 2 : i32
        %half = div %size, %two : i32
        %stride = var %half : i32
        while () {
          %s = get %stride : i32
          %zero = constant 0 : i32
          %goes = gt %s, %zero : bool
          test %goes
        } do {
          %s2 = get %stride : i32
          %low = lt %l, %s2 : bool
          %other = add %i, %s2 : i32
          %there = lt %other, %n : bool
          %both = and %low, %there : bool
          if %both {
            %a = load tile[%l] : f64
            %o = add %l, %s2 : i32
            %b = load tile[%o] : f64
            %ab = mul %a, %b : f64
            %sum = add %a, %ab : f64
            store tile[%l], %sum : f64
            yield
          } else { yield }
          barrier
          %next = div %s2, %two : i32
          set %stride, %next : i32
          yield
        }
        %first = eq %l, %zero0 : bool
        if %first {
          %t = load tile[%l] : f64
          %old = atomic add arg1[%zero0], %t : f64
          yield
        } else { yield }
        return
    })",
                      {some(4), some(21)}, {{21}, {8}});
}

const char* diffusion =
    R"(kernel "diffusion" math contract rank 2 (arg1: out f64[2], arg2: in f64[2], arg3: f64) files ["d.cpp"] {
    %j = global_index 0 : i32
    %i = global_index 1 : i32
    %one = constant 1 : i32
    %four = constant 4.0 : f64
    %c = argument arg3 : f64
    %n = sub %i, %one : i32
    %s = add %i, %one : i32
    %w = sub %j, %one : i32
    %e = add %j, %one : i32
    %xn = load arg2[%n, %j] : f64
    %xs = load arg2[%s, %j] : f64
    %xw = load arg2[%i, %w] : f64
    %xe = load arg2[%i, %e] : f64
    %xc = load arg2[%i, %j] : f64
    %a = add %xn, %xs : f64
    %b = mul %xw, %xe : f64
    %d = add %a, %b : f64
    %f = mul %four, %xc : f64
    %g = sub %d, %f : f64
    %h = mul %c, %g : f64
    %y = add %xc, %h : f64
    store arg1[%i, %j], %y : f64
    return
})";

TEST(derivatives, of_a_stencil_gather) {
    check_derivatives(diffusion, {some(99, -1, 1, {9, 11}), some(99, -1, 1, {9, 11}), real(0.3)}, {{7, 9}, {4, 4}, {1, 1}});
    // A range that leaves out some of the elements, and one so small that all its items are at the boundary.
    check_derivatives(diffusion, {some(99, -1, 1, {9, 11}), some(99, -1, 1, {9, 11}), real(0.3)}, {{3, 5}, {2, 2}, {2, 3}});
    check_derivatives(diffusion, {some(99, -1, 1, {9, 11}), some(99, -1, 1, {9, 11}), real(0.3)}, {{1, 1}, {2, 2}, {2, 3}});
    const Derivatives d(diffusion, {{7, 9}});
    const Adjoint adjoint = derive::adjoint(d.kernel, {{Activity::duplicated, Activity::duplicated, Activity::constant}, 1});
    ASSERT_EQ(adjoint.accumulated.size(), 5u);
    for (const Accumulated& a : adjoint.accumulated) EXPECT_EQ(a.how, Accumulation::gather);
    ASSERT_EQ(adjoint.after.size(), 1u);
    EXPECT_TRUE(adjoint.after[0].row_by_row);
    ASSERT_TRUE(adjoint.halo_gather);
    EXPECT_TRUE(adjoint.halo_gather->by_rows);
    EXPECT_EQ(adjoint.halo_gather->before, (std::array<int64_t, 3>{1, 1, 0}));
    EXPECT_EQ(adjoint.halo_gather->after, (std::array<int64_t, 3>{1, 1, 0}));
}

TEST(derivatives, of_tiled_matmul_fill_the_tiles_again) {
    const std::string matmul =
        R"(kernel "matmul" math contract rank 2 (arg1: out f64[2], arg2: in f64[2], arg3: in f64[2]) files ["m.cpp"] {
        local ta: f64[4, 4]
        local tb: f64[4, 4]
        %col = global_index 0 : i32
        %row = global_index 1 : i32
        %lx = local_index 0 : i32
        %ly = local_index 1 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %four = constant 4 : i32
        %none = constant 0.0 : f64
        %n = extent arg2, 0 : i32
        %tiles = div %n, %four : i32
        %sum = for %t = %zero to %tiles step %one carry (%acc = %none) : f64 {
          %first = mul %t, %four : i32
          %ac = add %first, %lx : i32
          %a = load arg2[%row, %ac] : f64
          store ta[%ly, %lx], %a : f64
          %br = add %first, %ly : i32
          %b = load arg3[%br, %col] : f64
          store tb[%ly, %lx], %b : f64
          barrier
          %part = for %k = %zero to %four step %one carry (%s = %acc) : f64 {
            %x = load ta[%ly, %k] : f64
            %y = load tb[%k, %lx] : f64
            %xy = mul %x, %y : f64
            %p = add %s, %xy : f64
            yield %p
          }
          barrier
          yield %part
        }
        store arg1[%row, %col], %sum : f64
        return
    })";
    const Values values{some(96, -1, 1, {8, 12}), some(64, -1, 1, {8, 8}), some(96, -1, 1, {8, 12})};
    check_derivatives(matmul, values, {{8, 12}, {4, 4}});
    const Derivatives d(matmul, {{8, 12}, {4, 4}});
    EXPECT_TRUE(derive::adjoint(d.kernel, signature(values, true)).tapes.empty());
}

TEST(derivatives, of_whole_groups) {
    // Items past the range share zeros, and write tapes too.
    check_derivatives(
        R"(kernel "whole" math contract whole_groups rank 1 (arg1: out f64[1], arg2: in f64[1], arg3: f64, arg4: i32) files ["w.cpp"] {
        local tile: f64[8]
        %i = global_index 0 : i32
        %l = local_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %eight = constant 8 : i32
        %none = constant 0.0 : f64
        %a = argument arg3 : f64
        %n = argument arg4 : i32
        %in = in_range : bool
        %x = if %in : f64 {
          %y = load arg2[%i] : f64
          yield %y
        } else { yield %none }
        store tile[%l], %x : f64
        barrier
        %s = for %k = %zero to %eight step %one carry (%c = %a) : f64 {
          %t = load tile[%k] : f64
          %tt = mul %t, %c : f64
          %u = sin %tt : f64
          %v = add %c, %u : f64
          yield %v
        }
        %p = for %q = %zero to %n step %one carry (%r = %s) : f64 {
          %w = sin %r : f64
          yield %w
        }
        if %in {
          store arg1[%i], %p : f64
          yield
        } else { yield }
        return
    })",
        {some(21), some(21), real(0.7), whole(3)}, {{21}, {8}});
}

TEST(derivatives, of_functions_by_their_rules) {
    // The rules are wrong by a factor, so that the result shows which rule was used. A mode without a rule uses the body.
    const std::string text = R"(kernel "rules" math contract rank 1 (arg1: inout f64[1]) files [] {
        function "square" (%a: f64, %n: i32) : f64 reverse "square.reverse" forward "square.forward" {
          %r = mul %a, %a : f64
          yield %r
        }
        function "square.reverse" (%a1: f64, %n1: i32, %r1: f64, %dr: f64) : (f64, i32) {
          %s1 = mul %a1, %dr : f64
          %t1 = constant 20.0 : f64
          %st1 = mul %s1, %t1 : f64
          yield %st1, %n1
        }
        function "square.forward" (%a2: f64, %n2: i32, %da: f64, %dn: i32) : f64 {
          %s2 = mul %a2, %da : f64
          %t2 = constant 40.0 : f64
          %st2 = mul %s2, %t2 : f64
          yield %st2
        }
        function "still" (%b: f64) : f64 inactive {
          %q = mul %b, %b : f64
          yield %q
        }
        %i = global_index 0 : i32
        %x = load arg1[%i] : f64
        %y = call "square" %x, %i : f64
        %z = call "still" %x : f64
        %w = mul %y, %z : f64
        store arg1[%i], %w : f64
        return
    })";
    const Derivatives d(text, {{5}});
    const std::vector<double> x{1, 2, 3, 4, 5}, one(5, 1);
    const Values values{reals(x)};
    const auto reverse = d.reverse(values, {{one}}).adjoints[0], forward = d.forward(values, {one})[0];
    for (size_t i = 0; i < 5; ++i) {
        EXPECT_DOUBLE_EQ(reverse[i], 20 * x[i] * x[i] * x[i]);
        EXPECT_DOUBLE_EQ(forward[i], 40 * x[i] * x[i] * x[i]);
    }
}

}  // namespace
}  // namespace pumice::derive::test
