// Derivatives of subgroup operations.
#include "autodiff/reverse/derivative_test.h"

namespace pumice::derive::test {
namespace {

TEST(derivatives, of_subgroup_operations) {
    const std::string text = R"(kernel "lanes" math contract rank 1 (arg1: out f64[1], arg2: in f64[1]) files ["s.cpp"] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %x = load arg2[%i] : f64
        %a = subgroup reduce_add %x : f64
        %b = subgroup reduce_max %x : f64
        %c = subgroup inclusive_add %x : f64
        %d = subgroup exclusive_add %x : f64
        %e = subgroup broadcast %x, %zero : f64
        %f = subgroup broadcast_first %x : f64
        %g = subgroup shuffle_xor %x, %one : f64
        %h = subgroup reduce_min %x : f64
        %ab = mul %a, %b : f64
        %cd = mul %c, %d : f64
        %ef = mul %e, %f : f64
        %gh = mul %g, %h : f64
        %p = add %ab, %cd : f64
        %q = sub %ef, %gh : f64
        %r = atan2 %p, %q : f64
        %s = mul %r, %x : f64
        store arg1[%i], %s : f64
        return
    })";
    check_derivatives(text, {some(32), some(32)}, {{32}, {8}});
}

/// Derivatives of one operation, whose lane or distance is `lane`; over a whole range, and over one that ends within a subgroup.
void check_subgroup(const std::string& operation, const std::string& lane, const Values& values) {
    const std::string text =
        R"(kernel "lanes" math contract rank 1 (arg1: out f64[1], arg2: in f64[1], arg3: in i32[1]) files ["s.cpp"] {
        %i = global_index 0 : i32
        %lane = subgroup_lane : i32
        %size = subgroup_size : i32
        %one = constant 1 : i32
        %three = constant 3 : i32
        %last = sub %size, %one : i32
        %x = load arg2[%i] : f64
        %given = load arg3[%i] : i32
        %s = sin %x : f64
        %r = subgroup )" +
        operation + " %s" + lane + R"( : f64
        %e = atan %r : f64
        %p = mul %e, %s : f64
        store arg1[%i], %p : f64
        return
    })";
    check_derivatives(text, values, {{32}, {16}});
    if (lane.find("given") == std::string::npos && operation != "shuffle_xor" && operation != "shuffle_down")
        check_derivatives(text, values, {{29}, {16}});
}

TEST(derivatives, of_each_subgroup_operation) {
    const Values values{some(32), some(32, 0.3, 1.5), ints(std::vector<int>(32, 3))};
    for (const std::string over : {"reduce_", "inclusive_", "exclusive_"})
        for (const std::string op : {"add", "mul", "min", "max"}) check_subgroup(over + op, "", values);
    check_subgroup("broadcast_first", "", values);
    check_subgroup("broadcast", ", %one", values);
    check_subgroup("shuffle", ", %three", values);
    check_subgroup("shuffle_up", ", %three", values);
    check_subgroup("shuffle_down", ", %three", values);
    check_subgroup("shuffle_xor", ", %one", values);
    check_subgroup("shuffle_xor", ", %last", values);
    // Each lane reads by a number of its own: some lanes read one lane, and some lanes are read by none.
    const std::vector<int> own{5, 5, 0, 1, 7, 2, 2, 5};
    std::vector<int> all;
    for (int group = 0; group < 4; ++group) all.insert(all.end(), own.begin(), own.end());
    const Values differing{values[0], values[1], ints(all)};
    for (const char* operation : {"shuffle", "shuffle_up", "shuffle_down", "shuffle_xor"})
        check_subgroup(operation, ", %given", differing);
}

TEST(derivatives, of_subgroup_products_with_zero_factors) {
    const std::string text = R"(kernel "product" math contract rank 1 (arg1: out f64[1], arg2: in f64[1]) files ["s.cpp"] {
        %i = global_index 0 : i32
        %x = load arg2[%i] : f64
        %r = subgroup OPERATION %x : f64
        store arg1[%i], %r : f64
        return
    })";
    for (const std::string operation : {"reduce_mul", "inclusive_mul", "exclusive_mul"}) {
        std::string one = text;
        one.replace(one.find("OPERATION"), 9, operation);
        for (const std::vector<int>& zeros : std::vector<std::vector<int>>{{0}, {3}, {7}, {2, 5}, {0, 1, 7}}) {
            Values values{some(8), some(8, 0.5, 1.5)};
            for (const int z : zeros) values[1].numbers[size_t(z)] = 0;
            check_derivatives(one, values, {{8}, {8}});
        }
    }
}

TEST(derivatives, of_subgroup_operations_in_divergent_branches_and_loops) {
    // A for with a trip count per item, left early, with a while inside; operations among the items that are still there.
    check_derivatives(
        R"(kernel "apart" math contract rank 1 (arg1: out f64[1], arg2: in f64[1], arg3: in i32[1]) files ["s.cpp"] {
        %i = global_index 0 : i32
        %lane = subgroup_lane : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %four = constant 4 : i32
        %half = constant 0.5 : f64
        %x = load arg2[%i] : f64
        %n = load arg3[%i] : i32
        %y = for %k = %zero to %n step %one carry (%c = %x) : f64 {
          %odd = and %k, %one : i32
          %even = eq %odd, %zero : bool
          %b = if %even : f64 {
            %m = subgroup reduce_max %c : f64
            %mx = mul %m, %x : f64
            yield %mx
          } else {
            %past = gt %k, %four : bool
            if %past { break %c } else { yield }
            %s = subgroup inclusive_add %c : f64
            %sh = mul %s, %half : f64
            yield %sh
          }
          %u, %j = while (%d = %b, %t = %zero) : (f64, i32) {
            %goes = lt %t, %lane : bool
            test %goes, %d, %t
          } do {
            %f = subgroup broadcast_first %d : f64
            %g = subgroup reduce_mul %f : f64
            %h = sin %g : f64
            %e = add %h, %d : f64
            %eh = mul %e, %half : f64
            %t1 = add %t, %one : i32
            yield %eh, %t1
          }
          %v = sin %u : f64
          yield %v
        }
        store arg1[%i], %y : f64
        return
    })",
        {some(24), some(24, 0.3, 1.5), ints({0, 3, 2, 9, 1, 1, 7, 4, 5, 5, 5, 5, 5, 5, 5, 5, 1, 0, 0, 0, 2, 1, 4, 3})},
        {{22}, {8}});
}

}  // namespace
}  // namespace pumice::derive::test
