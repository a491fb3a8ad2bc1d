// Loop partial sums: loops in which all items add to the same elements.
#include "autodiff/reverse/derivative_test.h"

namespace pumice::derive::test {
namespace {

constexpr Activity duplicated = Activity::duplicated, constant_ = Activity::constant;

/// The kernels that are made for the sums of a loop: one with the loop in its place, one with loop interchange.
std::pair<bool, bool> ways(const std::string& text, const Signature& signature) {
    const Adjoint a = derive::adjoint(ir::parse(text), signature);
    return {bool(a.loop_partial_sums), bool(a.interchanged)};
}

/// A radial basis network: the sum of a[k] exp(-b[k] |x - c[k]|^2) over k, of points in the plane.
const std::string basis =
    R"(kernel "basis" math contract rank 1 (arg1: out f64[1], arg2: in f64[1], arg3: in f64[1], arg4: in f64[2], arg5: in f64[2]) files ["p.cpp"] {
    %i = global_index 0 : i32
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %n = extent arg2, 0 : i32
    %nothing = constant 0 : f64
    %x = load arg5[%i, %zero] : f64
    %y = load arg5[%i, %one] : f64
    %sum = for %k = %zero to %n step %one carry (%s = %nothing) : f64 {
        %cx = load arg4[%k, %zero] : f64
        %cy = load arg4[%k, %one] : f64
        %dx = sub %x, %cx : f64
        %dy = sub %y, %cy : f64
        %dxx = mul %dx, %dx : f64
        %dyy = mul %dy, %dy : f64
        %r = add %dxx, %dyy : f64
        %b = load arg3[%k] : f64
        %br = mul %b, %r : f64
        %m = neg %br : f64
        %e = exp %m : f64
        %a = load arg2[%k] : f64
        %ae = mul %a, %e : f64
        %t = add %s, %ae : f64
        yield %t
    }
    store arg1[%i], %sum : f64
    return
})";

Values of_basis(size_t n, size_t k) {
    return {some(n), some(k), some(k, 0.3, 1), some(2 * k, -1, 1, {int64_t(k), 2}),
            constant(some(2 * n, -1, 1, {int64_t(n), 2}))};
}

TEST(loop_partial_sums, of_a_radial_basis_network) {
    for (const int64_t k : {1, 3, 9})
        for (const int64_t n : {1, 2, 40}) check_derivatives(basis, of_basis(size_t(n), size_t(k)), {{n}, {8}});
    const auto both = std::pair(true, true);
    EXPECT_EQ(ways(basis, {{duplicated, duplicated, duplicated, duplicated, constant_}, 1}), both);
    // The adjoint of the points belongs to single items, so there is no loop interchange.
    const auto in_place = std::pair(true, false);
    EXPECT_EQ(ways(basis, {{duplicated, duplicated, duplicated, duplicated, duplicated}, 1}), in_place);
    Values values = of_basis(17, 5);
    values[4].constant = false;
    check_derivatives(basis, values, {{17}, {8}});
}

TEST(loop_partial_sums, of_no_iterations) {
    check_derivatives(basis, {some(7), some(0), some(0), some(0, -1, 1, {0, 2}), constant(some(14, -1, 1, {7, 2}))}, {{7}, {4}});
}

TEST(loop_partial_sums, take_uniform_factors_out) {
    // a, b and the centres take the sums of four products: e, e r, e dx and e dy, of which b and a are factors.
    const Adjoint a = derive::adjoint(ir::parse(basis), {{duplicated, duplicated, duplicated, duplicated, constant_}, 1});
    ASSERT_TRUE(a.loop_partial_sums && a.interchanged);
    EXPECT_EQ(a.loop_partial_sums->count, 4);
    EXPECT_EQ(a.interchanged->count, 4);
    EXPECT_EQ(a.interchanged->passed_values, 1);  // the adjoint of the loop's sum
}

/// A layer of a small network and the next one: the sum of v[j] tanh(w[j, 0] x + w[j, 1] y + u[j]) over j.
const std::string layer =
    R"(kernel "layer" math contract rank 1 (arg1: out f64[1], arg2: in f64[2], arg3: in f64[1], arg4: in f64[1], arg5: in f64[2]) files ["p.cpp"] {
    %i = global_index 0 : i32
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %n = extent arg2, 1 : i32
    %nothing = constant 0 : f64
    %x = load arg5[%i, %zero] : f64
    %y = load arg5[%i, %one] : f64
    %three = constant 3 : i32
    %big = for %m = %zero to %three step %one carry (%o = %x) : f64 {
        %oy = mul %o, %y : f64
        yield %oy
    }
    %sum = for %j = %one to %n step %one carry (%s = %big) : f64 {
        %wx = load arg2[%j, %zero] : f64
        %wy = load arg2[%j, %one] : f64
        %px = mul %wx, %x : f64
        %py = mul %wy, %y : f64
        %p = add %px, %py : f64
        %u = load arg3[%j] : f64
        %q = add %p, %u : f64
        %h = tanh %q : f64
        %v = load arg4[%j] : f64
        %vh = mul %v, %h : f64
        %vhb = mul %vh, %big : f64
        %t = sub %s, %vhb : f64
        yield %t
    }
    %ss = mul %sum, %sum : f64
    store arg1[%i], %ss : f64
    return
})";

/// The first iteration is number 1, so that element 0 does not change; items hand over the results of the other loop.
TEST(loop_partial_sums, of_a_network_layer_with_two_loops) {
    for (const size_t m : {1, 2, 6})
        check_derivatives(layer,
                          {some(33), some(2 * m, -1, 1, {int64_t(m), 2}), some(m), some(m), constant(some(66, -1, 1, {33, 2}))},
                          {{33}, {8}});
    const Adjoint a = derive::adjoint(ir::parse(layer), {{duplicated, duplicated, duplicated, duplicated, constant_}, 1});
    ASSERT_TRUE(a.interchanged);
    EXPECT_EQ(a.interchanged->passed_values, 2);
}

/// Additions under a condition, and additions to an element that the item chooses, stay atomic.
TEST(loop_partial_sums, beside_additions_that_stay_atomic) {
    const std::string text =
        R"(kernel "others" math contract rank 1 (arg1: out f64[1], arg2: in f64[1], arg3: in f64[1], arg4: in f64[1], arg5: f64) files ["p.cpp"] {
    %i = global_index 0 : i32
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %three = constant 3 : i32
    %n = extent arg2, 0 : i32
    %nothing = constant 0 : f64
    %x = load arg4[%i] : f64
    %c = argument arg5 : f64
    %sum = for %k = %zero to %n step %one carry (%s = %nothing) : f64 {
        %a = load arg2[%k] : f64
        %ik = add %i, %k : i32
        %at = rem %ik, %three : i32
        %z = load arg3[%at] : f64
        %ax = mul %a, %x : f64
        %positive = gt %ax, %nothing : bool
        %more = if %positive : f64 {
            %o = load arg3[%k] : f64
            %ao = mul %o, %ax : f64
            yield %ao
        } else {
            yield %nothing
        }
        %az = mul %ax, %z : f64
        %azc = mul %az, %c : f64
        %e = exp %azc : f64
        %p = mul %e, %a : f64
        %q = add %p, %more : f64
        %t = add %s, %q : f64
        yield %t
    }
    store arg1[%i], %sum : f64
    return
})";
    check_derivatives(text, {some(20), some(5), some(5), constant(some(20)), real(0.3)}, {{20}, {4}});
    check_derivatives(text, {some(20), some(5), some(5), constant(some(20)), constant(real(0.3))}, {{20}, {4}});
    EXPECT_TRUE(ways(text, {{duplicated, duplicated, duplicated, constant_, constant_}, 1}).second);
}

}  // namespace
}  // namespace pumice::derive::test
