// Scatter to gather: stencils with clamped or periodic indices, and stencils under branches.
#include "autodiff/reverse/derivative_test.h"

namespace pumice::derive::test {
namespace {

/// A kernel of one dimension; it begins with the values that stencils over arg2 use.
std::string stencil(const std::string& parameters, const std::string& body) {
    return "kernel \"stencil\" math contract rank 1 (" + parameters + R"() files ["s.cpp"] {
        %i = global_index 0 : i32
        %n = extent arg2, 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %last = sub %n, %one : i32
        %half = constant 0.5 : f64
)" + body + "return\n}";
}

std::vector<Accumulation> ways(const std::string& text, const Range& range, const Signature& signature, bool apart) {
    const Derivatives d(text, range);
    const std::vector<Accumulated> all =
        apart ? derive::split(d.kernel, signature).accumulated : derive::adjoint(d.kernel, signature).accumulated;
    std::vector<Accumulation> found;
    for (const Accumulated& a : all)
        if (std::ranges::find(found, a.how) == found.end()) found.push_back(a.how);
    return found;
}
using Ways = std::vector<Accumulation>;
constexpr Activity duplicated = Activity::duplicated;

const char* clamped = R"(kernel "clamped" math contract rank 2 (arg1: out f64[2], arg2: in f64[2]) files ["c.cpp"] {
    %j = global_index 0 : i32
    %i = global_index 1 : i32
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %three = constant 3 : i32
    %rows = extent arg2, 1 : i32
    %columns = extent arg2, 0 : i32
    %lasti = sub %rows, %one : i32
    %lastj = sub %columns, %one : i32
    %ia = sub %i, %three : i32
    %ib = max %ia, %zero : i32
    %up = min %ib, %lasti : i32
    %ic = add %i, %one : i32
    %id = min %ic, %lasti : i32
    %down = max %id, %zero : i32
    %ja = add %j, %one : i32
    %right = min %ja, %lastj : i32
    %jb = sub %j, %one : i32
    %jc = max %zero, %jb : i32
    %left = min %lastj, %jc : i32
    %row = min %i, %lasti : i32
    %xu = load arg2[%up, %right] : f64
    %xd = load arg2[%down, %left] : f64
    %xc = load arg2[%row, %right] : f64
    %p = mul %xu, %xd : f64
    %s = sin %xc : f64
    %y = add %p, %s : f64
    store arg1[%i, %j], %y : f64
    return
})";

TEST(scatter_to_gather, of_clamped_indices) {
    for (const std::vector<int64_t>& x : {std::vector<int64_t>{7, 9}, {5, 4}, {1, 1}, {12, 10}, {2, 9}})
        check_derivatives(clamped, {some(63, -1, 1, {7, 9}), some(size_t(x[0] * x[1]), -1, 1, x)}, {{7, 9}, {4, 4}});
    // A range that begins elsewhere, and one that reaches so far outside that the adjoint scatters.
    check_derivatives(clamped, {some(99, -1, 1, {9, 11}), some(63, -1, 1, {7, 9})}, {{6, 8}, {3, 4}, {2, 3}});
    check_derivatives(clamped, {some(300, -1, 1, {3, 100}), some(4, -1, 1, {2, 2})}, {{3, 100}, {1, 16}});
    EXPECT_EQ(ways(clamped, {{7, 9}}, {{duplicated, duplicated}, 1}, false), Ways{Accumulation::gather});
    EXPECT_EQ(ways(clamped, {{7, 9}}, {{duplicated, duplicated}, 1}, true), Ways{Accumulation::atomic})
        << "what a neighbour gives takes loads";
}

const std::string periodic = stencil("arg1: out f64[1], arg2: in f64[1], arg3: i32", R"(
    %two = constant 2 : i32
    %period = argument arg3 : i32
    %a = add %i, %two : i32
    %next = rem %a, %period : i32
    %b = sub %i, %one : i32
    %c = add %b, %period : i32
    %before = rem %c, %period : i32
    %own = rem %i, %period : i32
    %xn = load arg2[%next] : f64
    %xb = load arg2[%before] : f64
    %xo = load arg2[%own] : f64
    %p = mul %xn, %xb : f64
    %y = add %p, %xo : f64
    store arg1[%i], %y : f64
)");

TEST(scatter_to_gather, of_periodic_indices) {
    check_derivatives(periodic, {some(20), some(20), whole(20)}, {{20}, {8}});
    check_derivatives(periodic, {some(20), some(30), whole(20)}, {{20}, {8}});        // elements that nobody reads
    check_derivatives(periodic, {some(20), some(20), whole(7)}, {{20}, {8}});         // several items an element
    check_derivatives(periodic, {some(30), some(30), whole(29)}, {{11}, {4}, {13}});  // a part of the period
    check_derivatives(periodic, {some(3), some(3), whole(1)}, {{3}, {2}});
    check_derivatives(periodic, {some(3), some(3), whole(0)}, {{3}, {2}});
    EXPECT_EQ(ways(periodic, {{20}}, {{duplicated, duplicated, Activity::constant}, 1}, false), Ways{Accumulation::gather});
}

const std::string branches = stencil("arg1: inout f64[1], arg2: in f64[1], arg3: in f64[1], arg4: out f64[1]", R"(
    %low = ge %i, %one : bool
    %high = lt %i, %last : bool
    %inside = and %low, %high : bool
    %x = load arg2[%i] : f64
    %w = load arg3[%i] : f64
    %t = mul %x, %half : f64
    %s = if %inside : f64 {
      %a = sub %i, %one : i32
      %c = add %i, %one : i32
      %xa = load arg2[%a] : f64
      %xc = load arg2[%c] : f64
      %g = gt %w, %half : bool
      %m = if %g : f64 {
        %wa = load arg3[%a] : f64
        %q = mul %xa, %wa : f64
        %r = mul %q, %x : f64
        yield %r
      } else {
        %sum = add %xa, %xc : f64
        yield %sum
      }
      store arg1[%i], %m : f64
      %u = mul %m, %xc : f64
      yield %u
    } else {
      %z = mul %t, %x : f64
      store arg1[%i], %z : f64
      yield %t
    }
    %d = mul %s, %s : f64
    %far = add %i, %n : i32
    store arg4[%far], %d : f64
)");

TEST(scatter_to_gather, of_stencils_under_branches) {
    for (const int64_t items : {1, 2, 3, 17})
        check_derivatives(branches, {some(size_t(items)), some(size_t(items)), some(size_t(items)), some(size_t(2 * items))},
                          {{items}, {8}});
    check_derivatives(branches, {some(17), some(17), some(17), some(34)}, {{9}, {4}, {5}});
    EXPECT_EQ(ways(branches, {{17}}, {{duplicated, duplicated, duplicated, duplicated}, 1}, false),
              (Ways{Accumulation::plain, Accumulation::gather}))
        << "of arg3 only one neighbour has a derivative: items do not meet";
}

/// Stencils without offset 0, and stencils whose array has no element at the item's own index.
TEST(scatter_to_gather, of_offsets_that_do_not_include_zero) {
    const std::string lag = stencil("arg1: out f64[1], arg2: in f64[1]", R"(
        %five = constant 5 : i32
        %six = constant 6 : i32
        %a = sub %i, %five : i32
        %b = sub %i, %six : i32
        %xa = load arg2[%a] : f64
        %xb = load arg2[%b] : f64
        %y = mul %xa, %xb : f64
        store arg1[%i], %y : f64
    )");
    check_derivatives(lag, {some(14), some(9)}, {{8}, {4}, {6}});
    check_derivatives(lag, {some(50), some(50)}, {{40}, {8}, {7}});
}

/// In halves: the contribution of another item must not need arrays, because only that item has taped their values.
TEST(scatter_to_gather, in_halves_only_without_loads) {
    const std::string linear = stencil("arg1: out f64[1], arg2: in f64[1], arg3: f64", R"(
        %c = argument arg3 : f64
        %a = add %i, %one : i32
        %b = min %a, %last : i32
        %x = load arg2[%i] : f64
        %z = load arg2[%b] : f64
        %d = sub %z, %x : f64
        %y = mul %c, %d : f64
        store arg1[%i], %y : f64
    )");
    check_derivatives(linear, {some(20), some(20), real(0.7)}, {{20}, {8}});
    const Signature signature{{duplicated, duplicated, Activity::active}, 1};
    EXPECT_EQ(ways(linear, {{20}}, signature, true), Ways{Accumulation::gather});
    EXPECT_EQ(ways(linear, {{20}}, signature, false), Ways{Accumulation::gather});
}

/// A random stencil over arg2 of n elements: shifted indices within a margin, indices between bounds, periodic ones; under
/// branches.
class Stencil {
public:
    explicit Stencil(uint32_t seed) : random(seed) {}

    std::string text() {
        line("%some = constant 5 : i32");
        std::vector<std::string> values{"%half"};
        block(values, 3);
        line("store arg3[%i], " + values.back() + " : f64");
        return stencil("arg1: out f64[1], arg2: in f64[1], arg3: out f64[1]", out);
    }

private:
    int roll(int sides) { return int(random() % uint32_t(sides)); }
    void line(const std::string& text) { out += text + "\n"; }
    std::string define(const std::string& text) {
        line("%v" + std::to_string(next) + " = " + text);
        return "%v" + std::to_string(next++);
    }
    std::string index() {
        std::string at = define("constant " + std::to_string(roll(7) - 3) + " : i32");
        at = define("add %i, " + at + " : i32");
        switch (roll(4)) {
            case 0: return define("min " + define("max " + at + ", %zero : i32") + ", %last : i32");
            case 1: return define("max " + define("min " + at + ", %last : i32") + ", %some : i32");
            case 2: return define("rem " + define("add " + at + ", %n : i32") + ", %n : i32");
            default: return at;  // the range leaves a margin
        }
    }
    void block(std::vector<std::string>& values, int depth) {
        const auto pick = [&] { return values[size_t(roll(int(values.size())))]; };
        for (int step = 3 + roll(4); step > 0; --step) switch (roll(5)) {
                case 0: values.push_back(define("sin " + pick() + " : f64")); break;
                case 1: values.push_back(define("mul " + values.back() + ", " + pick() + " : f64")); break;
                case 2:
                    if (depth > 0) branch(values, depth);
                    break;
                default: values.push_back(define("add " + define("load arg2[" + index() + "] : f64") + ", " + pick() + " : f64"));
            }
    }
    void branch(std::vector<std::string>& values, int depth) {
        const std::string condition =
            define("lt " + define("and %i, " + define("constant " + std::to_string(1 + roll(7)) + " : i32") + " : i32") +
                   ", %one : bool");
        const std::string name = "%v" + std::to_string(next++);
        const bool stores = !stored && roll(2);
        stored = stored || stores;
        line(name + " = if " + condition + " : f64 {");
        for (int arm = 0; arm < 2; ++arm) {
            std::vector<std::string> inside = values;
            block(inside, depth - 1);
            if (stores) line("store arg1[%i], " + inside[size_t(roll(int(inside.size())))] + " : f64");
            line("yield " + inside.back() + (arm ? "\n}" : "\n} else {"));
        }
        values.push_back(name);
    }

    std::mt19937 random;
    std::string out;
    bool stored = false;
    int next = 0;
};

/// The halo is as wide as the larger of the two arrays' halos; the other array has no elements in a part of it.
TEST(scatter_to_gather, of_arrays_with_different_halos) {
    check_derivatives(R"(kernel "two" math contract rank 1 (arg1: out f64[1], arg2: in f64[1], arg3: in f64[1]) files ["t.cpp"] {
        %i = global_index 0 : i32
        %one = constant 1 : i32
        %two = constant 2 : i32
        %l = sub %i, %two : i32
        %r = add %i, %two : i32
        %n = add %i, %one : i32
        %a = load arg2[%l] : f64
        %b = load arg2[%r] : f64
        %c = load arg3[%i] : f64
        %d = load arg3[%n] : f64
        %p = mul %a, %b : f64
        %q = mul %c, %d : f64
        %y = add %p, %q : f64
        store arg1[%i], %y : f64
        return
    })",
                      {some(24), some(24), some(22)}, {{18}, {8}, {3}});
}

TEST(scatter_to_gather, of_random_stencils) {
    int gathered = 0;
    for (uint32_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        const std::string text = Stencil(seed).text();
        check_derivatives(text, {some(24), some(24), some(24)}, {{18}, {8}, {3}}, seed);
        const Ways found = ways(text, {{18}}, {{duplicated, duplicated, duplicated}, 1}, false);
        gathered += std::ranges::find(found, Accumulation::gather) != found.end();
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(gathered, 20);
}

}  // namespace
}  // namespace pumice::derive::test
