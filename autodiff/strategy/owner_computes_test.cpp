// Owner computes: an item of its own for each shadow element sums up what the items of the primal give to it.
#include "autodiff/reverse/derivative_test.h"

namespace pumice::derive::test {
namespace {

constexpr Activity duplicated = Activity::duplicated, constant = Activity::constant;

/// A kernel over (i, j) with a loop over k, whose sum of the terms is stored to arg1[i, j].
std::string product(const std::string& body, const std::string& bounds = "%zero to %l",
                    const std::string& parameters = "arg1: out f64[2], arg2: in f64[2], arg3: in f64[2]",
                    const std::string& first = "%nothing", const std::string& last = "store arg1[%i, %j], %sum : f64\n") {
    return "kernel \"product\" math contract rank 2 (" + parameters + R"() files ["p.cpp"] {
        %i = global_index 1 : i32
        %j = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %two = constant 2 : i32
        %l = extent arg2, 0 : i32
        %nothing = constant 0 : f64
        %half = constant 0.5 : f64
        %sum = for %k = )" +
           bounds + " step %one carry (%s = " + first + ") : f64 {\n" + body + "yield %t\n}\n" + last + "return\n}";
}
const std::string multiply = R"(
    %a = load arg2[%i, %k] : f64
    %b = load arg3[%k, %j] : f64
    %p = mul %a, %b : f64
    %t = add %s, %p : f64
)";

size_t owners(const std::string& text, const Signature& signature) {
    const Adjoint derived = derive::adjoint(ir::parse(text), signature);
    return derived.owner_computes ? derived.owner_computes->owners.size() : 0;
}
const Signature all{{duplicated, duplicated, duplicated}, 1};

TEST(owner_computes, of_a_product_of_matrices) {
    const std::string text = product(multiply);
    EXPECT_EQ(owners(text, all), 2u);
    EXPECT_EQ(owners(text, {{duplicated, duplicated, constant}, 1}), 1u);
    check_derivatives(text, {some(15, -1, 1, {3, 5}), some(12, -1, 1, {3, 4}), some(20, -1, 1, {4, 5})}, {{3, 5}, {2, 4}});
    // The range begins further on; one item; no iterations.
    check_derivatives(text, {some(30, -1, 1, {5, 6}), some(20, -1, 1, {5, 4}), some(24, -1, 1, {4, 6})},
                      {{3, 4}, {2, 4}, {2, 1}});
    check_derivatives(text, {some(1, -1, 1, {1, 1}), some(2, -1, 1, {1, 2}), some(2, -1, 1, {2, 1})}, {{1, 1}, {1, 1}});
    check_derivatives(text, {some(4, -1, 1, {2, 2}), some(0, -1, 1, {2, 0}), some(0, -1, 1, {0, 2})}, {{2, 2}, {2, 2}});
}

/// The rest keeps only what no owner adds: here nothing but the clearing of the seeds.
TEST(owner_computes, leaves_no_loop_and_no_atomics_to_the_rest) {
    const Adjoint derived =
        derive::adjoint(ir::parse(product(multiply)), {{Activity::duplicated_no_need, duplicated, duplicated}, 1});
    ASSERT_TRUE(derived.owner_computes);
    const std::string rest = ir::print(derived.owner_computes->rest);
    EXPECT_EQ(rest.find("for "), std::string::npos) << rest;
    EXPECT_EQ(rest.find("atomic"), std::string::npos) << rest;
    for (const OwnerComputesAdjoint::Owner& owner : derived.owner_computes->owners)
        EXPECT_EQ(ir::print(owner.kernel).find("atomic"), std::string::npos);
}

/// A A^T: both loads are of one array, whose shadow has two sets of owners.
TEST(owner_computes, of_two_loads_of_one_array) {
    const std::string text = product(R"(
        %a = load arg2[%i, %k] : f64
        %b = load arg2[%j, %k] : f64
        %p = mul %a, %b : f64
        %t = add %s, %p : f64
    )");
    EXPECT_EQ(owners(text, all), 2u);
    check_derivatives(text, {some(16, -1, 1, {4, 4}), some(12, -1, 1, {4, 3}), some(1, -1, 1, {1, 1})}, {{4, 4}, {2, 4}});
}

/// Products with triangles: the bounds of the loop depend on the item.
TEST(owner_computes, where_the_bounds_depend_on_the_item) {
    for (const char* bounds : {"%zero to %i", "%i to %l", "%j to %i"}) {
        const std::string text = product(multiply, bounds);
        EXPECT_EQ(owners(text, all), 2u) << bounds;
        check_derivatives(text, {some(25, -1, 1, {5, 5}), some(25, -1, 1, {5, 5}), some(25, -1, 1, {5, 5})}, {{5, 5}, {2, 4}});
    }
}

/// Padded arrays: constants are added to the indices.
TEST(owner_computes, of_shifted_indices) {
    const std::string text = product(R"(
        %i2 = add %i, %two : i32
        %k1 = add %one, %k : i32
        %j1 = sub %j, %one : i32
        %a = load arg2[%i2, %k1] : f64
        %b = load arg3[%k, %j1] : f64
        %p = mul %a, %b : f64
        %t = add %s, %p : f64
    )",
                                     "%zero to %two");
    EXPECT_EQ(owners(text, all), 2u);
    check_derivatives(text, {some(25, -1, 1, {5, 5}), some(25, -1, 1, {5, 5}), some(25, -1, 1, {5, 5})},
                      {{3, 4}, {2, 4}, {0, 1}});
}

/// Scaled, and added to what was there: C = alpha A B + beta C.
TEST(owner_computes, of_a_sum_that_updates_what_it_loads) {
    const std::string text =
        product(multiply, "%zero to %l", "arg1: inout f64[2], arg2: in f64[2], arg3: in f64[2], arg4: f64", "%nothing", R"(
        %alpha = argument arg4 : f64
        %c = load arg1[%i, %j] : f64
        %u = mul %alpha, %sum : f64
        %v = mul %half, %c : f64
        %y = add %u, %v : f64
        store arg1[%i, %j], %y : f64
    )");
    EXPECT_EQ(owners(text, {{duplicated, duplicated, duplicated, Activity::active}, 1}), 2u);
    check_derivatives(text, {some(15, -1, 1, {3, 5}), some(12, -1, 1, {3, 4}), some(20, -1, 1, {4, 5}), real(0.7)},
                      {{3, 5}, {2, 4}});
}

/// Distances under a condition; a function of the result; a kernel of one dimension; a plane of a batch.
TEST(owner_computes, of_other_terms) {
    const std::string distances = product(R"(
        %a = load arg2[%i, %k] : f64
        %b = load arg3[%j, %k] : f64
        %d = sub %a, %b : f64
        %near = lt %d, %half : bool
        %t = if %near : f64 {
          %e = exp %d : f64
          %m = mul %d, %e : f64
          %u = add %s, %m : f64
          yield %u
        } else {
          yield %s
        }
    )");
    EXPECT_EQ(owners(distances, all), 2u);
    check_derivatives(distances, {some(12, -1, 1, {3, 4}), some(9, -1, 1, {3, 3}), some(12, -1, 1, {4, 3})}, {{3, 4}, {2, 4}}, 1,
                      1e-5);
    const std::string of_result = product(multiply, "%zero to %l", "arg1: out f64[2], arg2: in f64[2], arg3: in f64[2]",
                                          "%nothing", "%y = sin %sum : f64\nstore arg1[%i, %j], %y : f64\n");
    EXPECT_EQ(owners(of_result, all), 0u) << "the slope takes the sum of another item";
    check_derivatives(of_result, {some(4, -1, 1, {2, 2}), some(6, -1, 1, {2, 3}), some(6, -1, 1, {3, 2})}, {{2, 2}, {2, 2}});
    const std::string vector =
        R"(kernel "gemv" math contract rank 1 (arg1: out f64[1], arg2: in f64[2], arg3: in f64[1]) files ["p.cpp"] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %l = extent arg2, 0 : i32
        %n = extent arg1, 0 : i32
        %nothing = constant 0 : f64
        %in = lt %i, %n : bool
        if %in {
          %sum = for %k = %zero to %l step %one carry (%s = %nothing) : f64 {
            %a = load arg2[%i, %k] : f64
            %b = load arg3[%k] : f64
            %p = mul %a, %b : f64
            %t = add %s, %p : f64
            yield %t
          }
          store arg1[%i], %sum : f64
          yield
        } else {
          yield
        }
        return
    })";
    EXPECT_EQ(owners(vector, all), 1u);
    check_derivatives(vector, {some(3), some(12, -1, 1, {3, 4}), some(4)}, {{6}, {4}});
    const std::string batch =
        R"(kernel "batch" math contract rank 3 (arg1: out f64[3], arg2: in f64[3], arg3: in f64[2]) files ["p.cpp"] {
        %m = global_index 2 : i32
        %i = global_index 1 : i32
        %j = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %l = extent arg2, 0 : i32
        %nothing = constant 0 : f64
        %sum = for %k = %zero to %l step %one carry (%s = %nothing) : f64 {
          %a = load arg2[%m, %i, %k] : f64
          %b = load arg3[%k, %j] : f64
          %p = mul %a, %b : f64
          %t = add %s, %p : f64
          yield %t
        }
        store arg1[%m, %i, %j], %sum : f64
        return
    })";
    EXPECT_EQ(owners(batch, all), 2u);
    check_derivatives(batch, {some(24, -1, 1, {2, 3, 4}), some(30, -1, 1, {2, 3, 5}), some(20, -1, 1, {5, 4})},
                      {{2, 3, 4}, {1, 2, 4}});
}

TEST(owner_computes, not_where_an_element_has_no_single_owner) {
    const auto text = [&](const std::string& indices, const std::string& more = "") {
        return product(more + "%a = load arg2[" + indices + "] : f64\n%p = mul %a, %a : f64\n%t = add %s, %p : f64\n",
                       "%zero to %two");
    };
    EXPECT_EQ(owners(text("%i, %k"), all), 1u);
    EXPECT_EQ(owners(text("%k, %k"), all), 0u) << "one axis for two dimensions";
    EXPECT_EQ(owners(text("%i, %q", "%q = add %j, %k : i32\n"), all), 0u) << "a window";
    EXPECT_EQ(owners(text("%i, %q", "%q = mul %k, %two : i32\n"), all), 0u) << "a stride";
    const std::string sparse =
        R"(kernel "sparse" math contract rank 1 (arg1: out f64[1], arg2: in f64[1], arg3: in i32[1]) files ["p.cpp"] {
        %i = global_index 0 : i32
        %one = constant 1 : i32
        %next = add %i, %one : i32
        %from = load arg3[%i] : i32
        %to = load arg3[%next] : i32
        %nothing = constant 0 : f64
        %sum = for %k = %from to %to step %one carry (%s = %nothing) : f64 {
          %a = load arg2[%k] : f64
          %p = mul %a, %a : f64
          %t = add %s, %p : f64
          yield %t
        }
        store arg1[%i], %sum : f64
        return
    })";
    EXPECT_EQ(owners(sparse, {{duplicated, duplicated, constant}, 1}), 0u) << "each element would search all rows";
    for (const std::string& one : {text("%k, %k"), text("%i, %q", "%q = add %j, %k : i32\n")})
        check_derivatives(one, {some(9, -1, 1, {3, 3}), some(25, -1, 1, {5, 5}), some(1, -1, 1, {1, 1})}, {{3, 3}, {2, 4}});
    EXPECT_EQ(owners(product("%a = load arg2[%i, %k] : f64\n%t = mul %s, %a : f64\n"), all), 0u) << "a product needs its order";
}

/// A random body: operations on elements of rows and columns, sums also under conditions, bounds that may depend on the item.
TEST(owner_computes, of_random_loops) {
    int found = 0;
    for (uint32_t seed = 0; seed < 80; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const auto roll = [&](size_t sides) { return random() % sides; };
        const std::vector<std::string> axes{"%i", "%j", "%k"};
        std::vector<std::string> values{"%half"};
        std::string body, sum = "%s";
        int next = 0;
        const auto define = [&](const std::string& made) {
            values.push_back("%v" + std::to_string(next++));
            body += values.back() + " = " + made + " : f64\n";
            return values.back();
        };
        const auto pick = [&] { return values[roll(values.size())]; };
        for (size_t step = 5 + roll(6); step > 0; --step) switch (roll(6)) {
                case 0: define("sin " + pick()); break;
                case 1: define("mul " + pick() + ", " + pick()); break;
                case 2: define("sub " + pick() + ", " + pick()); break;
                case 3: sum = define((roll(2) ? "sub " : "add ") + sum + ", " + pick()), values.pop_back(); break;
                default: {
                    const size_t a = roll(3), c = (a + 1 + roll(2)) % 3;
                    define(std::string("load arg") + (roll(2) ? "2" : "3") + "[" + axes[a] + ", " + axes[c] + "]");
                }
            }
        body += "%t = add " + sum + ", " + pick() + " : f64\n";
        const char* bounds[] = {"%zero to %l", "%one to %l", "%zero to %i", "%j to %l"};
        const std::string text = product(body, bounds[roll(4)]);
        found += owners(text, all) > 0;
        check_derivatives(text, {some(20, -1, 1, {4, 5}), some(25, -1, 1, {5, 5}), some(25, -1, 1, {5, 5})}, {{4, 5}, {2, 4}},
                          seed, 1e-4);
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(found, 30);
}

}  // namespace
}  // namespace pumice::derive::test
