// The transforms: text of the derivative kernels, kinds of accumulation, tapes, and refusals.
#include "autodiff/analysis/transform.h"

#include <cstdlib>

#include "autodiff/reverse/derivative_test.h"

namespace pumice::derive::test {
namespace {

constexpr Activity constant_ = Activity::constant, active = Activity::active, duplicated = Activity::duplicated;

/// A kernel over arg1 (inout) and arg2 (in), with `%i` its index and more memories.
ir::Kernel kernel(const std::string& body, const std::string& memories = "", const std::string& more = "") {
    return ir::parse("kernel \"k\" math contract rank 1 (arg1: inout f32[1], arg2: in f32[1]" + more +
                     ") @2 files [\"k.cpp\"] {\n" + memories + "%i = global_index 0 : i32 @3\n" + body + "\nreturn @9\n}\n");
}

template <class F> std::string message(F f) {
    try {
        f();
    } catch (const Error& e) { return e.what(); }
    return "";
}
std::string refusal_of_reverse(const ir::Kernel& k) {
    return message([&] { adjoint(k, {{duplicated, duplicated}, 1}); });
}
std::string refusal_of_forward(const ir::Kernel& k) {
    return message([&] { derive::forward(k, {{duplicated, duplicated}, 1}); });
}

TEST(transforms, square_gives_the_expected_text) {
    const ir::Kernel k = kernel(R"(%x = load arg1[%i] : f32 @4
        %y = mul %x, %x : f32 @4
        store arg1[%i], %y : f32 @4)");
    EXPECT_EQ(
        ir::print(adjoint(k, {{duplicated, constant_}, 1}).kernel),
        R"(kernel "k.adjoint" math contract rank 1 (arg1: inout f32[1], arg2 shadow of arg1: inout f32[1], arg3 of 2: in f32[1]) @2 files ["k.cpp"] {
  %0 = global_index 0 : i32 @3
  %1 = load arg1[%0] : f32 @4
  %2 = mul %1, %1 : f32 @4
  store arg1[%0], %2 : f32 @4
  %3 = load arg2[%0] : f32 @4
  %4 = add %3, %3 : f32 @4
  %5 = mul %4, %1 : f32 @4
  store arg2[%0], %5 : f32 @4
  return @2
}
)");
    EXPECT_EQ(
        ir::print(derive::forward(k, {{duplicated, constant_}, 1})),
        R"(kernel "k.forward" math contract rank 1 (arg1: inout f32[1], arg2 shadow of arg1: inout f32[1], arg3 of 2: in f32[1]) @2 files ["k.cpp"] {
  %0 = global_index 0 : i32 @3
  %1 = load arg1[%0] : f32 @4
  %2 = load arg2[%0] : f32 @4
  %3 = mul %1, %1 : f32 @4
  %4 = mul %2, %1 : f32 @4
  %5 = add %4, %4 : f32 @4
  store arg1[%0], %3 : f32 @4
  store arg2[%0], %5 : f32 @4
  return @9
}
)");
}

TEST(transforms, adding_to_an_element_leaves_its_shadow_untouched) {
    const ir::Kernel k = kernel(R"(%y = load arg1[%i] : f32 @4
        %x = load arg2[%i] : f32 @4
        %s = add %y, %x : f32 @4
        store arg1[%i], %s : f32 @4)");
    const std::string text = ir::print(adjoint(k, {{duplicated, constant_}, 1}).kernel);
    EXPECT_EQ(text.find("store arg2"), std::string::npos) << text;
}

TEST(transforms, nothing_active_costs_nothing) {
    const ir::Kernel k = kernel(R"(%x = load arg2[%i] : f32 @4
        %y = sin %x : f32 @4
        store arg1[%i], %y : f32 @4)");
    const Adjoint made = adjoint(k, {{constant_, constant_}, 1});
    EXPECT_TRUE(made.tapes.empty() && made.after.empty() && made.accumulated.empty());
    EXPECT_EQ(ir::print(made.kernel),
              R"(kernel "k.adjoint" math contract rank 1 (arg1: inout f32[1], arg2: in f32[1]) @2 files ["k.cpp"] {
  %0 = global_index 0 : i32 @3
  %1 = load arg2[%0] : f32 @4
  %2 = sin %1 : f32 @4
  store arg1[%0], %2 : f32 @4
  return @2
}
)");
}

/// The kind of accumulation of the adjoint of x[index].
Accumulation of_load(const std::string& index, const std::string& before = "") {
    const ir::Kernel k = kernel(before + index + R"( @5
        %x = load arg2[%at] : f32 @6
        %y = sin %x : f32 @6
        store arg1[%i], %y : f32 @6)",
                                "", ", arg3: in i32[1], arg4: i32");
    const Adjoint made = adjoint(k, {{duplicated, duplicated, constant_, constant_}, 1});
    EXPECT_EQ(made.accumulated.size(), 1u);
    EXPECT_EQ(made.accumulated[0].memory, "arg2");
    EXPECT_EQ(made.accumulated[0].loc.line, 6u);
    return made.accumulated[0].how;
}

TEST(transforms, adjoints_are_added_in_the_cheapest_safe_way) {
    const std::string constants = "%two = constant 2 : i32\n%n = argument arg4 : i32\n";
    EXPECT_EQ(of_load("%at = add %i, %two : i32", constants), Accumulation::plain);
    EXPECT_EQ(of_load("%at = mul %i, %two : i32", constants), Accumulation::plain);
    EXPECT_EQ(of_load("%at = add %i, %n : i32", constants), Accumulation::plain);
    EXPECT_EQ(of_load("%at = sub %n, %i : i32", constants), Accumulation::plain);
    EXPECT_EQ(of_load("%at = add %n, %two : i32", constants), Accumulation::group);
    EXPECT_EQ(of_load("%at = div %i, %two : i32", constants), Accumulation::atomic);
    EXPECT_EQ(of_load("%at = max %i, %two : i32", constants), Accumulation::gather);
    EXPECT_EQ(of_load("%at = mul %i, %n : i32", constants), Accumulation::atomic) << "n may be 0";
    EXPECT_EQ(of_load("%at = load arg3[%i] : i32"), Accumulation::atomic);
    EXPECT_EQ(of_load("%at = local_index 0 : i32"), Accumulation::atomic) << "groups share it";
    EXPECT_EQ(of_load("%w = cast %i : i64\n%at = add %w, %w : i64"), Accumulation::atomic) << "two indices";
    EXPECT_EQ(of_load("%w = cast %i : i64\n%m = constant 4096 : i64\n%at = mul %w, %m : i64"), Accumulation::plain);
    EXPECT_EQ(of_load("%b = cast %i : u8\n%at = cast %b : i32"), Accumulation::atomic) << "items 0 and 256 meet";
    EXPECT_EQ(of_load("%b = cast %i : u16\n%at = cast %b : i64"), Accumulation::atomic);
    EXPECT_EQ(of_load("%m = constant 1073741824 : i32\n%at = mul %i, %m : i32"), Accumulation::atomic) << "items 0 and 4 meet";
    EXPECT_EQ(of_load("%w = cast %i : i64\n%m = constant 4294967296 : i64\n%p = mul %w, %m : i64\n%at = cast %p : i32"),
              Accumulation::atomic);
}

TEST(transforms, plain_additions_only_in_launches_where_indices_do_not_wrap) {
    const auto fits = [](const std::string& range, const std::string& index, int64_t items, bool any = false) {
        const ir::Kernel k = ir::parse("kernel \"k\" math contract rank 1 " + range +
                                       "(arg1: inout f32[1], arg2: in f32[1], arg3: i32) @2 files [\"k.cpp\"] {\n" +
                                       "%i = global_index 0 : i32\n" + index +
                                       "%x = load arg2[%at] : f32\n%y = sin %x : f32\nstore arg1[%i], %y : f32\nreturn\n}\n");
        const Adjoint made = adjoint(k, {{duplicated, duplicated, constant_}, 1, false, any});
        EXPECT_EQ(made.accumulated[0].how, any ? Accumulation::atomic : Accumulation::plain);
        return !made.fits || made.fits(HostValues{[](size_t) { return uint64_t(1) << 20; }, {}}, {items, 1, 1});
    };
    const std::string wide = "%m = constant 64 : i32\n%at = mul %i, %m : i32\n",
                      bytes = "%b = cast %i : u8\n%at = cast %b : i32\n";
    EXPECT_TRUE(fits("", wide, 1 << 26));
    EXPECT_FALSE(fits("", wide, (1 << 26) + 1));
    EXPECT_TRUE(fits("", wide, INT32_MAX, true));
    EXPECT_TRUE(fits("range [1000] ", wide, 1000));
    EXPECT_TRUE(fits("range [256] ", bytes, 256));
    // Rows of 2^20 elements; the length of a row is an argument of the launch.
    const auto rows = [](int64_t items) {
        const ir::Kernel k = kernel(R"(%n = argument arg3 : i32
            %zero = constant 0 : i32
            %one = constant 1 : i32
            for %j = %zero to %n step %one {
              %row = mul %i, %n : i32
              %at = add %row, %j : i32
              %x = load arg2[%at] : f32
              %y = sin %x : f32
              store arg1[%at], %y : f32
              yield
            })",
                                    "", ", arg3: i32");
        const Adjoint made = adjoint(k, {{duplicated, duplicated, constant_}, 1});
        EXPECT_EQ(made.accumulated[0].how, Accumulation::plain);
        return made.fits(HostValues{[](size_t) { return uint64_t(1) << 20; }, {}}, {items, 1, 1});
    };
    EXPECT_TRUE(rows(1 << 12));
    EXPECT_FALSE(rows((1 << 12) + 1));
}

TEST(transforms, an_item_owns_the_elements_that_it_stores) {
    const ir::Kernel k = kernel(R"(%j = load arg3[%i] : i32 @4
        %y = load arg1[%j] : f32 @5
        %z = mul %y, %y : f32 @5
        store arg1[%j], %z : f32 @5)",
                                "", ", arg3: in i32[1]");
    const Adjoint made = adjoint(k, {{duplicated, constant_, constant_}, 1});
    EXPECT_EQ(made.accumulated, (std::vector<Accumulated>{{{0, 5}, "arg1", Accumulation::plain}}));
}

TEST(transforms, tapes_have_the_size_that_is_needed) {
    const auto loop = [](const std::string& limit) {
        return kernel(limit + R"(
            %zero = constant 0 : i32
            %one = constant 1 : i32
            %x = load arg2[%i] : f32
            %y = for %k = %zero to %n step %one carry (%c = %x) : f32 {
              %s = sin %c : f32
              yield %s
            }
            store arg1[%i], %y : f32)",
                      "", ", arg3: i32, arg4: in i32[1]");
    };
    const Signature signature{{duplicated, duplicated, constant_, constant_}, 1};
    const Adjoint small = adjoint(loop("%n = constant 100 : i32"), signature);
    EXPECT_TRUE(small.tapes.empty());
    EXPECT_NE(ir::print(small.kernel).find("private tape_f32: f32[100]"), std::string::npos);
    // As on a graphics card, where an item has little private memory.
    Signature card = signature;
    card.private_elements = 99;
    const Adjoint on_card = adjoint(loop("%n = constant 100 : i32"), card);
    ASSERT_EQ(on_card.tapes.size(), 1u);
    EXPECT_TRUE(on_card.tapes[0].size == TapeParameter::Sizing::item && on_card.tapes[0].count == 100);
    const Adjoint large = adjoint(loop("%n = constant 5000 : i32"), signature);
    ASSERT_EQ(large.tapes.size(), 1u);
    EXPECT_TRUE(large.tapes[0].size == TapeParameter::Sizing::item && large.tapes[0].count == 5000);
    const Adjoint given = adjoint(loop("%a = argument arg3 : i32\n%e = extent arg2, 0 : i32\n%n = add %a, %e : i32"), signature);
    ASSERT_EQ(given.tapes.size(), 1u);
    EXPECT_FALSE(given.count) << "the host computes it";
    EXPECT_TRUE(given.tapes[0].size == TapeParameter::Sizing::item && given.tapes[0].count == 0 && given.tapes[0].more);
    const HostValues values{[](size_t p) { return uint64_t(p == 2 ? 30 : 0); },
                            [](size_t p, int) { return int64_t(p == 1 ? 7 : 0); }};
    EXPECT_EQ(given.tapes[0].more(values), 37);
    const Adjoint unknown = adjoint(loop("%n = load arg4[%i] : i32"), {{duplicated, duplicated, constant_, constant_}, 1});
    ASSERT_EQ(unknown.tapes.size(), 2u);
    EXPECT_TRUE(unknown.tapes[0].size == TapeParameter::Sizing::offsets &&
                unknown.tapes[1].size == TapeParameter::Sizing::counted);
    ASSERT_TRUE(unknown.count);
    EXPECT_FALSE(unknown.count->writes);
    EXPECT_EQ(ir::print(unknown.count->kernel).find("sin"), std::string::npos) << "counting needs no values";
}

TEST(transforms, tape_bounds_of_loops_whose_counter_wraps) {
    const Signature signature{{duplicated, duplicated}, 1};
    const auto elements = [&](const std::string& loop) {
        const Adjoint made = adjoint(kernel("%x = load arg2[%i] : f32\n" + loop + "store arg1[%i], %y : f32"), signature);
        const std::string text = ir::print(made.kernel);
        const size_t at = text.find("private tape_f32: f32[");
        return at == std::string::npos ? -int(made.tapes.size()) : std::atoi(text.c_str() + at + 22);
    };
    const auto counts = [&](const std::string& type, const std::string& from, const std::string& to, const std::string& step) {
        return elements("%a = constant " + from + " : " + type + "\n%b = constant " + to + " : " + type + "\n%c = constant " +
                        step + " : " + type +
                        "\n%y = for %k = %a to %b step %c carry (%v = %x) : f32 {\n%s = sin %v : f32\nyield %s\n}\n");
    };
    EXPECT_EQ(counts("u64", "5", "11", "18446744073709551615"), 1);
    EXPECT_EQ(counts("u64", "18446744073709551610", "18446744073709551615", "1"), 5);
    EXPECT_EQ(counts("i64", "9223372036854775800", "9223372036854775807", "2"), 4);
    EXPECT_EQ(counts("i64", "-9223372036854775808", "9223372036854775807", "4611686018427387904"), 4);
    const auto goes_on = [&](const std::string& below, const std::string& step) {
        return elements("%a = constant 0 : i8\n%b = constant " + below + " : i8\n%c = constant " + step + " : i8\n" +
                        "%y, %n = while (%v = %x, %k = %a) : (f32, i8) {\n%g = lt %k, %b : bool\ntest %g, %v, %k\n} do {\n" +
                        "%s = sin %v : f32\n%l = add %k, %c : i8\nyield %s, %l\n}\n");
    };
    EXPECT_EQ(goes_on("100", "20"), 5);
    EXPECT_LT(goes_on("120", "50"), 0) << "it wraps, and is counted";
}

/// The reverse sweep fills tiles of local memory again, so the primal need not fill them if its result is not needed.
TEST(transforms, rematerialised_values_are_dead_in_the_primal) {
    const ir::Kernel k = kernel(R"(%x = local_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %n = constant 16 : i32
        %none = constant 0.0 : f32
        %y = for %t = %zero to %n step %one carry (%c = %none) : f32 {
          %row = mul %t, %n : i32
          %at = add %row, %x : i32
          %a = load arg2[%at] : f32 @4
          store local1[%x], %a : f32 @5
          barrier @6
          %s = for %k = %zero to %n step %one carry (%d = %c) : f32 {
            %b = load local1[%k] : f32 @7
            %p = mul %b, %b : f32 @8
            %e = add %d, %p : f32 @8
            yield %e
          }
          barrier @9
          yield %s
        }
        store arg1[%i], %y : f32 @10)",
                                "local local1: f32[16]\n");
    const auto stores = [&](Activity of_result) {
        const std::string text = ir::print(adjoint(k, {{of_result, duplicated}, 1}).kernel);
        int count = 0;
        for (size_t at = text.find("store local1["); at != text.npos; at = text.find("store local1[", at + 1)) ++count;
        return count;
    };
    EXPECT_EQ(stores(Activity::duplicated), 2);
    EXPECT_EQ(stores(Activity::duplicated_no_need), 1);
}

/// All contributions of one adjoint to x are added before they are multiplied by the adjoint, here 1.1 - 0.4 y. The sum is ready
/// before the adjoint is.
TEST(transforms, an_adjoint_is_multiplied_once) {
    const auto products = [](const std::string& body) {
        const ir::Kernel now =
            adjoint(kernel("%x = load arg1[%i] : f32 @4\n%y = load arg2[%i] : f32 @4\n" + body + "store arg1[%i], %r : f32 @5"),
                    {{duplicated, constant_}, 1})
                .kernel;
        int by_the_adjoint = 0;
        for (const ir::Inst& i : now.insts) {
            const auto v = now.operands(i);
            const auto adjoint_of_r = [&](ir::Value o) {
                return now[o].inst.id != ir::none && now[now[o].inst].op == ir::Op::load && now[now[o].inst].memory.id == 1;
            };
            by_the_adjoint += i.op == ir::Op::mul && (adjoint_of_r(v[0]) || adjoint_of_r(v[1]));
        }
        return by_the_adjoint;
    };
    const std::string rates =
        "%a = constant 1.1 : f32\n%b = constant 0.4 : f32\n%p = mul %a, %x : f32\n%q = mul %b, %x : f32\n%s = mul %q, %y : f32\n";
    EXPECT_EQ(products(rates + "%r = sub %p, %s : f32\n"), 1);
    EXPECT_EQ(products(rates + "%r = add %s, %p : f32\n"), 1);
    // Two adjoints, two products: s has an adjoint of its own, because another result uses s.
    EXPECT_EQ(products(rates + "%t = exp %s : f32\n%r = add %t, %p : f32\n"), 2);
}

/// A loop that carries a sum is reversed in its own order; a loop that carries a product, from the last iteration to the first.
TEST(transforms, loops_of_sums_are_reversed_in_their_own_order) {
    const auto goes_back = [](const std::string& next) {
        const ir::Kernel k = kernel(
            "%zero = constant 0 : i32\n%one = constant 1 : i32\n%n = extent arg2, 0 : i32\n%start = constant 1.0 : f32\n"
            "%y = for %k = %zero to %n step %one carry (%c = %start) : f32 {\n%x = load arg2[%k] : f32 @4\n" +
            next + "yield %d\n}\nstore arg1[%i], %y : f32 @6");
        return ir::print(adjoint(k, {{duplicated, duplicated}, 1}).kernel).find("constant -1") != std::string::npos;
    };
    EXPECT_FALSE(goes_back("%s = sin %x : f32 @5\n%d = add %c, %s : f32 @5\n"));
    EXPECT_FALSE(goes_back("%s = sin %x : f32 @5\n%d = sub %c, %s : f32 @5\n"));
    EXPECT_FALSE(
        goes_back("%q = gt %x, %start : bool\n%d = if %q : f32 {\n%e = add %c, %x : f32\nyield %e\n} else {\nyield %c\n}\n"));
    EXPECT_TRUE(
        goes_back("%q = gt %x, %start : bool\n%d = if %q : f32 {\n%e = add %c, %x : f32\nyield %e\n} else {\nyield %x\n}\n"));
    EXPECT_TRUE(goes_back("%d = mul %c, %x : f32 @5\n"));
    EXPECT_TRUE(goes_back("%s = sin %x : f32 @5\n%d = sub %s, %c : f32 @5\n")) << "the adjoint changes its sign each time";
    EXPECT_TRUE(goes_back("%s = mul %c, %x : f32 @5\n%d = add %c, %s : f32 @5\n"));
}

/// f a - (f c) x becomes f (a - c x), in whatever order the sweep finds the terms. Here f = r^3 with r = rsqrt(x^2 + 1);
/// x gets adjoints from f x directly and through r.
TEST(transforms, sums_of_products_share_a_factor) {
    const ir::Kernel now =
        adjoint(
            kernel("%x = load arg1[%i] : f32 @4\n%one = constant 1.0 : f32\n%xx = mul %x, %x : f32\n%t = add %xx, %one : f32\n"
                   "%r = rsqrt %t : f32\n%rr = mul %r, %r : f32\n%f = mul %rr, %r : f32\n%y = mul %f, %x : f32\n"
                   "store arg1[%i], %y : f32 @5"),
            {{duplicated, constant_}, 1})
            .kernel;
    const auto is = [&](ir::Value v, ir::Op op) { return now[v].inst.id != ir::none && now[now[v].inst].op == op; };
    const auto is_cube = [&](ir::Value v) {
        if (!is(v, ir::Op::mul)) return false;
        const auto o = now.operands(now[now[v].inst]);
        return is(o[1], ir::Op::rsqrt) && is(o[0], ir::Op::mul) && now.operands(now[now[o[0]].inst])[0] == o[1];
    };
    int by_f = 0;
    for (const ir::Inst& i : now.insts)
        if (i.op == ir::Op::mul)
            for (const ir::Value v : now.operands(i)) by_f += is_cube(v);
    EXPECT_EQ(by_f, 2) << print(now);  // one product for f x in the primal, one for the adjoint
}

/// (dy a) x + (dy b) z becomes dy (a x + b z): the whole slope of sin(x) exp(x) + x^3 is computed, then multiplied by dy once.
TEST(transforms, sums_of_products_of_products_share_a_factor) {
    const ir::Kernel now =
        adjoint(kernel("%x = load arg2[%i] : f32 @4\n%s = sin %x : f32\n%e = exp %x : f32\n%p = mul %s, %e : f32\n"
                       "%xx = mul %x, %x : f32\n%c = mul %xx, %x : f32\n%y = add %p, %c : f32\nstore arg1[%i], %y : f32 @5"),
                {{duplicated, duplicated}, 1})
            .kernel;
    int products = 0, by_the_adjoint = 0;
    for (const ir::Inst& i : now.insts) {
        products += i.op == ir::Op::mul;
        for (const ir::Value v : now.operands(i))
            by_the_adjoint += i.op == ir::Op::mul && now[v].inst.id != ir::none && now[now[v].inst].op == ir::Op::load &&
                              now[now[v].inst].memory.id == 1;
    }
    EXPECT_EQ(by_the_adjoint, 1) << print(now);
    EXPECT_EQ(products, 6) << print(now);  // two in x^3, sin times exp in the primal, with cos, with 3, with the adjoint
}

TEST(transforms, refusals_name_kernel_and_line) {
    const ir::Kernel minimum = kernel("%x = load arg2[%i] : f32 @4\n%old = atomic min arg1[%i], %x : f32 @5");
    EXPECT_EQ(refusal_of_reverse(minimum),
              "kernel \"k\" (k.cpp:2) is differentiated in reverse through an atomic min of differentiated memory on line 5, "
              "which has no reverse rule");
    EXPECT_EQ(refusal_of_forward(minimum),
              "kernel \"k\" (k.cpp:2) is differentiated through an atomic min on differentiated memory on line 5, which has no "
              "derivative");
    EXPECT_EQ(refusal_of_reverse(kernel("%x = load arg2[%i] : f32 @4\n%old = atomic exchange arg1[%i], %x : f32 @5")),
              "kernel \"k\" (k.cpp:2) is differentiated in reverse through an atomic exchange of differentiated memory on line "
              "5, which has no reverse rule");
    EXPECT_EQ(refusal_of_reverse(kernel("%x = load arg2[%i] : f32 @4\n%old = compare_exchange arg1[%i], %x, %x : f32 @5")),
              "kernel \"k\" (k.cpp:2) is differentiated in reverse through an atomic compare_exchange of differentiated memory "
              "on line 5, which has no reverse rule");
    EXPECT_EQ(refusal_of_reverse(
                  kernel("%x = load arg2[%i] : f32 @4\n%old = atomic add arg1[%i], %x : f32 @5\nstore arg1[%i], %old : f32 @6")),
              "kernel \"k\" (k.cpp:2) is differentiated in reverse through the old value of the atomic on line 5, which depends "
              "on the order of the "
              "work-items and has no derivative");
    const ir::Kernel trigamma = kernel("%x = load arg2[%i] : f32 @4\n%y = trigamma %x : f32 @5\nstore arg1[%i], %y : f32 @6");
    EXPECT_EQ(refusal_of_reverse(trigamma),
              "kernel \"k\" (k.cpp:2) is differentiated through the op trigamma on line 5, which has no derivative");
    EXPECT_EQ(refusal_of_forward(trigamma),
              "kernel \"k\" (k.cpp:2) is differentiated through the op trigamma on line 5, which has no derivative");
}

TEST(transforms, refuse_annotations_that_do_not_fit) {
    const ir::Kernel k = kernel("", "", ", arg3: in i32[1], arg4: i32, arg5: f32");
    const auto with = [&](std::vector<Activity> params, bool reverse = true) {
        return message([&] { reverse ? void(adjoint(k, {params, 1})) : void(derive::forward(k, {params, 1})); });
    };
    const std::string is = "kernel \"k\" (k.cpp:2) is differentiated with ";
    EXPECT_EQ(with({duplicated}), is + "1 annotations; it takes 5 arguments");
    EXPECT_EQ(with({active, constant_, constant_, constant_, constant_}),
              is + "argument 1 Active: an array has a shadow, so it is Duplicated or Const");
    EXPECT_EQ(with({constant_, constant_, duplicated, constant_, constant_}),
              is + "argument 3 Duplicated: its elements have no floating-point member, so it is Const");
    EXPECT_EQ(with({constant_, constant_, constant_, active, constant_}),
              is + "argument 4 Active: it is of type i32, so it is Const");
    EXPECT_EQ(with({constant_, constant_, constant_, constant_, duplicated}),
              is + "argument 5 Duplicated: in reverse mode a scalar is Active or Const");
    EXPECT_EQ(with({constant_, constant_, constant_, constant_, active}, false),
              is + "argument 5 Active: in forward mode a scalar is Duplicated or Const");
}

}  // namespace
}  // namespace pumice::derive::test
