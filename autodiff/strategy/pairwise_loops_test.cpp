// Pairwise loops: each item takes the contributions of all other items to its own element.
#include "autodiff/reverse/derivative_test.h"

namespace pumice::derive::test {
namespace {

/// A kernel of one dimension whose items loop over the `n` elements of arg2.
std::string loop(const std::string& parameters, const std::string& first, const std::string& body, const std::string& last) {
    return "kernel \"pairs\" math contract rank 1 (" + parameters + R"() files ["p.cpp"] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %n = extent arg2, 0 : i32
        %nothing = constant 0 : f64
        %half = constant 0.5 : f64
        %x = load arg2[%i] : f64
)" + first +
           body + last + "return\n}";
}
const std::string of_range = "%sum = for %j = %zero to %n step %one carry (%s = %nothing) : f64 {\n%z = load arg2[%j] : f64\n";
const std::string stored = "yield %t\n}\nstore arg1[%i], %sum : f64\n";

bool paired(const std::string& text, const Signature& signature) {
    return bool(derive::adjoint(ir::parse(text), signature).pairwise);
}
constexpr Activity duplicated = Activity::duplicated;
const Signature two{{duplicated, duplicated}, 1};

/// The contribution of i to j differs from that of j to i, because each item has a weight.
const std::string weighted = loop("arg1: out f64[1], arg2: in f64[1], arg3: in f64[1], arg4: f64", R"(
        %w = load arg3[%i] : f64
        %scale = argument arg4 : f64
    )",
                                  of_range + R"(
        %d = sub %z, %x : f64
        %dd = mul %d, %d : f64
        %r = add %dd, %half : f64
        %q = rsqrt %r : f64
        %qq = mul %q, %q : f64
        %f = mul %qq, %q : f64
        %v = load arg3[%j] : f64
        %vw = div %v, %w : f64
        %c = gt %vw, %half : bool
        %e = select %c, %vw, %f : f64
        %fd = mul %f, %d : f64
        %g = mul %fd, %e : f64
        %h = mul %g, %scale : f64
        %t = sub %s, %h : f64
    )",
                                  "yield %t\n}\n%y = div %sum, %scale : f64\nstore arg1[%i], %y : f64\n");

TEST(pairwise_loops, with_different_contributions_each_way) {
    for (const int64_t n : {1, 2, 9, 40}) {
        const size_t size = size_t(n);
        check_derivatives(weighted, {some(size), some(size), some(size, 0.3, 1), real(0.7)}, {{n}, {8}}, 1, 1e-5);
    }
    EXPECT_TRUE(paired(weighted, {{duplicated, duplicated, duplicated, Activity::active}, 1}));
    EXPECT_TRUE(paired(weighted, {{Activity::duplicated_no_need, duplicated, Activity::constant, Activity::constant}, 1}));
}

/// A range that differs from the bounds of the loop: the adjoint scatters.
TEST(pairwise_loops, not_where_range_and_loop_differ) {
    const std::string text = loop("arg1: out f64[1], arg2: in f64[1], arg3: i32, arg4: i32",
                                  "%from = argument arg3 : i32\n%to = argument arg4 : i32\n", R"(
        %sum = for %j = %from to %to step %one carry (%s = %x) : f64 {
        %z = load arg2[%j] : f64
        %xz = mul %x, %z : f64
        %p = mul %xz, %z : f64
        %t = add %s, %p : f64
    )",
                                  stored);
    EXPECT_TRUE(paired(text, {{duplicated, duplicated, Activity::constant, Activity::constant}, 1}));
    check_derivatives(text, {some(20), some(20), whole(3), whole(17)}, {{14}, {4}, {3}});  // the range is that of the loop
    check_derivatives(text, {some(20), some(20), whole(0), whole(17)}, {{14}, {4}, {3}});
    check_derivatives(text, {some(20), some(20), whole(3), whole(3)}, {{14}, {4}, {3}});
}

/// Elements of rows, structs of which a member is loaded, and two loops of one kernel.
TEST(pairwise_loops, of_rows_and_of_several_loops) {
    check_derivatives(R"(kernel "rows" math contract rank 1 (arg1: out f64[2], arg2: in f64[2], arg3: in f64[1]) files ["p.cpp"] {
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %n = extent arg2, 1 : i32
        %nothing = constant 0 : f64
        %x = load arg2[%i, %zero] : f64
        %y = load arg2[%i, %one] : f64
        %sx, %sy = for %j = %zero to %n step %one carry (%a = %nothing, %b = %nothing) : (f64, f64) {
          %u = load arg2[%j, %zero] : f64
          %v = load arg2[%j, %one] : f64
          %dx = sub %u, %x : f64
          %dy = sub %v, %y : f64
          %xx = mul %dx, %dx : f64
          %yy = mul %dy, %dy : f64
          %d = add %xx, %yy : f64
          %e = exp %d : f64
          %fx = div %dx, %e : f64
          %fy = div %dy, %e : f64
          %an = add %a, %fx : f64
          %bn = add %b, %fy : f64
          yield %an, %bn
        }
        %sw = for %k = %zero to %n step %one carry (%w = %sx) : f64 {
          %m = load arg3[%k] : f64
          %mx = mul %m, %x : f64
          %wn = add %w, %mx : f64
          yield %wn
        }
        store arg1[%i, %zero], %sw : f64
        store arg1[%i, %one], %sy : f64
        return
    })",
                      {some(22, -1, 1, {11, 2}), some(22, -1, 1, {11, 2}), some(11)}, {{11}, {4}}, 1, 1e-5);
}

/// Beside a loop whose values are taped, and sums to which all items contribute.
TEST(pairwise_loops, beside_tapes_and_sums) {
    const std::string text = loop(
        "arg1: out f64[1], arg2: in f64[1], arg3: f64, arg4: out f64[1], arg5: i32", R"(
        %scale = argument arg3 : f64
        %count = argument arg5 : i32
        %first = load arg2[%zero] : f64
        %power = for %q = %zero to %count step %one carry (%p = %x) : f64 {
          %e = sin %p : f64
          %m = mul %e, %p : f64
          %f = add %m, %first : f64
          yield %f
        }
        store arg4[%i], %power : f64
    )",
        of_range + "%d = sub %z, %x : f64\n%h = mul %d, %z : f64\n%g = mul %h, %scale : f64\n%t = add %s, %g : f64\n", stored);
    EXPECT_TRUE(paired(text, {{duplicated, duplicated, Activity::active, duplicated, Activity::constant}, 1}));
    check_derivatives(text, {some(13), some(13), real(0.7), some(13), whole(4)}, {{13}, {8}}, 1, 1e-5);
}

/// Conditions leave out the item itself and items that are far away; items that are near contribute by a formula of their own.
TEST(pairwise_loops, under_conditions) {
    const std::string text = loop("arg1: out f64[1], arg2: in f64[1]", "%third = constant 0.3 : f64\n", of_range + R"(
        %other = ne %j, %i : bool
        %t = if %other : f64 {
          %d = sub %z, %x : f64
          %dd = mul %d, %d : f64
          %near = lt %dd, %third : bool
          %more = if %near : f64 {
            %u = load arg2[%j] : f64
            %p = mul %u, %dd : f64
            %a = add %s, %p : f64
            %b = sub %a, %x : f64
            yield %b
          } else {
            %far = gt %d, %half : bool
            %none = if %far : f64 {
              yield %s
            } else {
              %q = mul %d, %x : f64
              %c = add %q, %s : f64
              yield %c
            }
            yield %none
          }
          yield %more
        } else {
          yield %s
        }
    )",
                                  stored);
    EXPECT_TRUE(paired(text, two));
    for (const int64_t n : {1, 3, 20}) check_derivatives(text, {some(size_t(n)), some(size_t(n))}, {{n}, {8}}, 1, 1e-5);
}

/// The adjoint scatters if another item cannot compute the contribution, or if the contribution goes to other elements.
TEST(pairwise_loops, not_where_another_item_cannot_compute_the_contribution) {
    const std::string two_arrays = "arg1: out f64[1], arg2: in f64[1]";
    const auto text = [&](const std::string& body) { return loop(two_arrays, "", of_range + body, stored); };
    EXPECT_TRUE(paired(text("%p = mul %z, %x : f64\n%t = add %s, %p : f64\n"), two));
    EXPECT_FALSE(paired(text("%p = mul %z, %x : f64\n%t = mul %s, %p : f64\n"), two)) << "a product needs its order";
    const std::string below =
        loop(two_arrays, "",
             "%sum = for %j = %zero to %i step %one carry (%s = %nothing) : f64 {\n%z = load arg2[%j] : f64\n"
             "%p = mul %z, %x : f64\n%t = add %s, %p : f64\n",
             stored);
    EXPECT_FALSE(paired(below, two)) << "not all items";
    const std::string of_sum = loop(two_arrays,
                                    "%most = for %k = %zero to %n step %one carry (%m = %x) : f64 {\n%u = load arg2[%k] : f64\n"
                                    "%mu = mul %m, %u : f64\nyield %mu\n}\n",
                                    of_range + "%p = mul %z, %most : f64\n%t = add %s, %p : f64\n", stored);
    EXPECT_FALSE(paired(of_sum, two)) << "of another loop";
    const std::string by_sum = loop(two_arrays, "", of_range + "%p = mul %z, %x : f64\n%t = add %s, %p : f64\n",
                                    "yield %t\n}\n%y = sin %sum : f64\nstore arg1[%i], %y : f64\n");
    EXPECT_FALSE(paired(by_sum, two)) << "the slope takes another item's sum";
    const std::string in_place = loop("arg1: inout f64[1], arg2: in f64[1]", "%y = load arg1[%i] : f64\n",
                                      of_range + "%p = mul %z, %y : f64\n%t = add %s, %p : f64\n", stored);
    EXPECT_FALSE(paired(in_place, two)) << "what is stored is loaded";
    for (const std::string& one : {below, of_sum, by_sum, in_place})
        check_derivatives(one, {some(7, 0.5, 1), some(7, 0.5, 1)}, {{7}, {4}});
}

/// A random body of the loop: operations on elements of i and of j, sums also under conditions, and stores of the results.
class Pairs {
public:
    explicit Pairs(uint32_t seed) : random(seed) {}

    std::string text() {
        std::vector<std::string> values{"%x", "%w"};
        out =
            "%sum, %other = for %j = %zero to %n step %one carry (%s = %w, %o = %nothing) : (f64, f64) {\n%z = load arg2[%j] : "
            "f64\n";
        values.push_back("%z");
        const std::string sum = block(values, "%s", 2),
                          other = define("sub %o, " + values[size_t(roll(int(values.size())))] + " : f64");
        return loop("arg1: out f64[1], arg2: in f64[1], arg3: in f64[1]", "%w = load arg3[%i] : f64\n",
                    out + "yield " + sum + ", " + other + "\n}\n", "%y = sub %other, %sum : f64\nstore arg1[%i], %y : f64\n");
    }

private:
    int roll(int sides) { return int(random() % uint32_t(sides)); }
    std::string define(const std::string& made) {
        const std::string name = "%v" + std::to_string(next++);
        out += name + " = " + made + "\n";
        return name;
    }
    /// Gives the sum after this iteration.
    std::string block(std::vector<std::string>& values, std::string sum, int depth) {
        const auto pick = [&] { return values[size_t(roll(int(values.size())))]; };
        for (int step = 4 + roll(4); step > 0; --step) switch (roll(7)) {
                case 0: values.push_back(define("sin " + pick() + " : f64")); break;
                case 1: values.push_back(define("mul " + pick() + ", " + pick() + " : f64")); break;
                case 2: values.push_back(define("sub " + pick() + ", " + pick() + " : f64")); break;
                case 3: values.push_back(define(std::string("load arg") + (roll(2) ? "2" : "3") + "[%j] : f64")); break;
                case 4: {
                    const std::string d = define("sub " + pick() + ", " + pick() + " : f64");
                    values.push_back(define("mul " + d + ", " + d + " : f64"));
                    break;
                }
                case 5: {
                    const std::string term = define("mul " + pick() + ", %half : f64");
                    sum = define((roll(2) ? "sub " : "add ") + sum + ", " + term + " : f64");
                    break;
                }
                default:
                    if (depth > 0) sum = branch(values, sum, depth);
            }
        return sum;
    }
    std::string branch(const std::vector<std::string>& values, const std::string& sum, int depth) {
        const std::string condition =
            roll(2) ? define("ne %i, %j : bool") : define("gt %z, " + values[size_t(roll(int(values.size())))] + " : bool");
        const std::string name = "%v" + std::to_string(next++);
        out += name + " = if " + condition + " : f64 {\n";
        for (int arm = 0; arm < 2; ++arm) {
            std::vector<std::string> inside = values;
            const std::string last = block(inside, sum, depth - 1);
            out += "yield " + last + (arm ? "\n}\n" : "\n} else {\n");
        }
        return name;
    }

    std::mt19937 random;
    std::string out;
    int next = 0;
};

TEST(pairwise_loops, of_random_loops) {
    int found = 0;
    for (uint32_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        const std::string text = Pairs(seed).text();
        check_derivatives(text, {some(9), some(9), some(9)}, {{9}, {4}}, seed, 1e-4);
        found += paired(text, {{duplicated, duplicated, duplicated}, 1});
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace pumice::derive::test
