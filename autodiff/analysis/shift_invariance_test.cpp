// Shift invariance: values to which the result is invariant, as the maximum in log-sum-exp and softmax.
#include "autodiff/analysis/shift_invariance.h"
#include "autodiff/reverse/derivative_test.h"

namespace pumice::derive::test {
namespace {

/// For each row x: m is the largest element, then come sum(exp(x - m)), the instructions `end`, and the store.
std::string softened(const std::string& loop, const std::string& end) {
    return R"(kernel "softened" math contract rank 1 (arg1: out f64[1], arg2: in f64[2], arg3: out f64[2]) files [] {
    %i = global_index 0 : i32
    %n = extent arg2, 0 : i32
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %nothing = constant 0.0 : f64
    %two = constant 2.0 : f64
    %first = load arg2[%i, %zero] : f64
    %m = for %k = %zero to %n step %one carry (%c = %first) : f64 {
      %x = load arg2[%i, %k] : f64
      %more = max %c, %x : f64
      yield %more
    }
    %s = for %j = %zero to %n step %one carry (%t = %nothing) : f64 {
      %y = load arg2[%i, %j] : f64
      )" + loop +
           R"(
      %next = add %t, %e : f64
      yield %next
    }
    )" + end +
           R"(
    return
})";
}

const std::string exponential = "%d = sub %y, %m : f64\n%e = exp %d : f64";
const std::string logarithm = "%l = log %s : f64\n%r = add %m, %l : f64\nstore arg1[%i], %r : f64";

int found(const std::string& kernel) {
    const ir::Kernel k = ir::parse(kernel);
    EXPECT_EQ(ir::verify(k), "");
    const std::vector<bool> all = shift_invariant_values(k, ir::Structure(k));
    return int(std::ranges::count(all, true));
}

int loops(const std::string& kernel) {
    const std::string text =
        ir::print(adjoint(ir::parse(kernel), {{Activity::duplicated, Activity::duplicated, Activity::duplicated}, 1}).kernel);
    int count = 0;
    for (size_t at = 0; (at = text.find(" for ", at)) != text.npos; ++at) ++count;
    return count;
}

TEST(shift_invariance, found_in_log_sum_exp) {
    const std::string kernel = softened(exponential, logarithm);
    EXPECT_EQ(found(kernel), 1);
    check_derivatives(kernel.c_str(), {some(20), some(20 * 9, -1, 1, {20, 9}), some(20 * 9, -1, 1, {20, 9})}, {{20}, {16}});
    EXPECT_EQ(loops(kernel), 3) << "the sum's loop alone is reversed";
    EXPECT_EQ(
        found(softened("%d = sub %y, %m : f64\n%f = exp %d : f64\n%limit = constant -9.0 : f64\n%near = gt %d, %limit : bool\n"
                       "%e = select %near, %f, %nothing : f64",
                       logarithm)),
        0)
        << "the distance from m decides";
    EXPECT_EQ(found(softened("%d = sub %y, %m : f64\n%dd = mul %d, %two : f64\n%e = exp %dd : f64",
                             "%l = log %s : f64\n%h = div %l, %two : f64\n%r = add %m, %h : f64\nstore arg1[%i], %r : f64")),
              1);
}

TEST(shift_invariance, found_in_softmax) {
    const std::string kernel = softened(exponential, R"(
    for %p = %zero to %n step %one {
      %z = load arg2[%i, %p] : f64
      %a = sub %z, %m : f64
      %b = exp %a : f64
      %q = div %b, %s : f64
      store arg3[%i, %p], %q : f64
      yield
    })");
    EXPECT_EQ(found(kernel), 1);
    check_derivatives(kernel.c_str(), {some(20), some(20 * 9, -1, 1, {20, 9}), some(20 * 9, -1, 1, {20, 9})}, {{20}, {16}});
}

TEST(shift_invariance, not_found_where_a_result_depends_on_the_value) {
    for (const char* end :
         {"store arg1[%i], %m : f64", "%l = log %s : f64\nstore arg1[%i], %l : f64",
          "%l = log %s : f64\n%r = sub %m, %l : f64\nstore arg1[%i], %r : f64",
          "%l = log %s : f64\n%mm = mul %m, %two : f64\n%r = add %mm, %l : f64\nstore arg1[%i], %r : f64",
          "%l = log %s : f64\n%r = add %m, %l : f64\n%big = gt %m, %nothing : bool\nif %big { store arg1[%i], %r : f64 yield } "
          "else { yield }"}) {
        const std::string kernel = softened(exponential, end);
        EXPECT_EQ(found(kernel), 0) << kernel;
        check_derivatives(kernel.c_str(), {some(20), some(20 * 9, -1, 1, {20, 9}), some(20 * 9, -1, 1, {20, 9})}, {{20}, {16}});
    }
    EXPECT_EQ(found(softened("%d = sub %y, %m : f64\n%f = exp %d : f64\n%e = add %f, %two : f64", logarithm)), 0);
    EXPECT_EQ(found(softened("%d = sub %m, %y : f64\n%e = exp %d : f64", logarithm)), 0);
}

/// A loop in which each iteration has a shift of its own and carries its result to the next iteration.
TEST(shift_invariance, not_found_where_the_next_iteration_depends_on_the_value) {
    const auto chain = [](const char* carried) {
        return text(R"(kernel "chain" math contract rank 1 (arg1: inout f64[1]) files [] {
    %i = global_index 0 : i32
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %three = constant 3 : i32
    %first = load arg1[%i] : f64
    %r = for %k = %zero to %three step %one carry (%c = %first) : f64 {
      %m = sin %c : f64
      %d = sub %c, %m : f64
      %e = exp %d : f64
      %l = log %e : f64
      %back = add %l, %m : f64
      %half = sub %c, %l : f64
      yield )",
                    carried, R"(
    }
    store arg1[%i], %r : f64
    return
})");
    };
    EXPECT_EQ(found(chain("%back")), 1);
    EXPECT_EQ(found(chain("%half")), 0);
    for (const char* carried : {"%back", "%half"}) check_derivatives(chain(carried).c_str(), {some(8)}, {{8}, {4}});
}

}  // namespace
}  // namespace pumice::derive::test
