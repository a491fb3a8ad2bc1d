// Argmax reduction: loops through which derivatives flow by a running maximum or minimum.
#include "autodiff/reverse/derivative_test.h"

namespace pumice::derive::test {
namespace {

/// For each row: the largest sine of every second element, downwards from the third last, and the least of the negative elements.
const char* extremes =
    R"(kernel "extremes" math contract rank 1 (arg1: out f64[1], arg2: in f64[2], arg3: inout f64[1], arg4: i32) files [] {
    %i = global_index 0 : i32
    %n = extent arg2, 0 : i32
    %stop = argument arg4 : i32
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %down = constant -2 : i32
    %three = constant 3 : i32
    %nothing = constant 0.0 : f64
    %first = load arg3[%i] : f64
    %last = sub %n, %three : i32
    %m, %count = for %k = %last to %stop step %down carry (%c = %first, %steps = %zero) : (f64, i32) {
      %x = load arg2[%i, %k] : f64
      %s = sin %x : f64
      %w = cast %steps : f64
      %sw = mul %s, %w : f64
      %next = max %c, %sw : f64
      %more = add %steps, %one : i32
      yield %next, %more
    }
    %l = for %j = %zero to %n step %one carry (%d = %nothing) : f64 {
      %y = load arg2[%i, %j] : f64
      %low = lt %y, %nothing : bool
      %z = if %low : f64 { %yy = mul %y, %m : f64 yield %yy } else { yield %y }
      %least = min %d, %z : f64
      yield %least
    }
    %ml = mul %m, %l : f64
    %both = add %ml, %m : f64
    store arg1[%i], %both : f64
    store arg3[%i], %l : f64
    return
})";

TEST(derivatives, of_running_maximum_and_minimum) {
    check_derivatives(extremes, {some(20), some(20 * 9, -1, 1, {20, 9}), some(20, 0.1, 2), whole(0)}, {{20}, {16}});
    check_derivatives(extremes, {some(20), some(20 * 9, -1, 1, {20, 9}), some(20), whole(9)}, {{20}, {16}});  // no iterations
    const Adjoint once =
        adjoint(ir::parse(extremes), {{Activity::duplicated, Activity::duplicated, Activity::duplicated, Activity::constant}, 1});
    const std::string text = ir::print(once.kernel);
    size_t loops = 0;
    for (size_t at = 0; (at = text.find(" for ", at)) != text.npos; ++at) ++loops;
    EXPECT_EQ(loops, 2u) << "one iteration of each is reversed\n" << text;
}

const char* log_sum_exp = R"(kernel "lse" math contract rank 1 (arg1: out f64[1], arg2: in f64[2]) files ["l.cpp"] {
    %i = global_index 0 : i32
    %n = extent arg2, 0 : i32
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %none = constant 0.0 : f64
    %x0 = load arg2[%i, %zero] : f64
    %m = for %k = %zero to %n step %one carry (%c = %x0) : f64 {
      %x = load arg2[%i, %k] : f64
      %d = max %c, %x : f64
      yield %d
    }
    %s = for %l = %zero to %n step %one carry (%e = %none) : f64 {
      %y = load arg2[%i, %l] : f64
      %z = sub %y, %m : f64
      %f = exp %z : f64
      %g = add %e, %f : f64
      yield %g
    }
    %log = log %s : f64
    %cube = mul %m, %m : f64
    %sum = add %log, %cube : f64
    store arg1[%i], %sum : f64
    return
})";

TEST(derivatives, of_log_sum_exp_need_no_tape) {
    check_derivatives(log_sum_exp, {some(9), some(63, -1, 1, {9, 7})}, {{9}, {4}});
    const Derivatives d(log_sum_exp, {{9}});
    const Adjoint adjoint = derive::adjoint(d.kernel, {{Activity::duplicated, Activity::duplicated}, 1});
    EXPECT_TRUE(adjoint.tapes.empty());
    for (const Accumulated& a : adjoint.accumulated) EXPECT_EQ(a.how, Accumulation::plain) << "rows of items are disjoint";
    // If several attain the maximum, the last one gets the derivative.
    const std::vector<double> x{1, 3, 3, 2, 3, 0, 0};
    const Derivatives one(log_sum_exp, {{1}, {1}});
    const auto gradient = one.reverse({reals({0}), reals(x, {1, 7})}, {{{1}, std::vector<double>(7, 0)}}).adjoints[1];
    double sum = 0;
    for (const double v : x) sum += std::exp(v - 3);
    for (size_t i = 0; i < x.size(); ++i)
        EXPECT_NEAR(gradient[i], std::exp(x[i] - 3) / sum + (i == 4 ? 2 * 3 - 1 : 0), 1e-12) << i;
}

/// Beside a sum, every iteration is reversed and compares its term with the maximum: the term must be rounded as in the primal.
TEST(derivatives, of_a_running_maximum_beside_a_sum_are_strict) {
    const Adjoint beside =
        adjoint(ir::parse(R"(kernel "beside" math contract rank 1 (arg1: out f32[1], arg2: in f32[2]) files [] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %n = extent arg2, 1 : i32
        %low = constant -10.0 : f32
        %last, %most = for %k = %zero to %n step %one carry (%sum = %low, %m = %low) : (f32, f32) {
          %x = load arg2[%i, %k] : f32
          %square = mul %x, %x : f32
          %term = add %square, %x : f32
          %next = add %sum, %term : f32
          %largest = max %m, %term : f32
          yield %next, %largest
        }
        %y = sub %last, %most : f32
        store arg1[%i], %y : f32
        return
    })"),
                {{Activity::duplicated, Activity::duplicated}, 1});
    EXPECT_EQ(beside.kernel.math, ir::Math::strict);
    const Adjoint alone = adjoint(ir::parse(log_sum_exp), {{Activity::duplicated, Activity::duplicated}, 1});
    EXPECT_EQ(alone.kernel.math, ir::Math::contract);
}

}  // namespace
}  // namespace pumice::derive::test
