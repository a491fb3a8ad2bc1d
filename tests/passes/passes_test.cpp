// Random kernels mean the same before and after every pass of the pipelines for GLSL and for the CPU. The interpreter runs them
// as they are; it also finds races, divergent barriers and unset memory that a pass might bring in. Each pass must change some
// kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "codegen/glsl/codegen.h"
#include "codegen/lowering/group_by_subgroups.h"
#include "codegen/lowering/subgroup_aggregated_atomics.h"

#include "core/interp/interp_test.h"
#include "core/lowering/cooperative_strided_loops.h"
#include "core/lowering/group_by_memory.h"
#include "core/lowering/linearize_indices.h"
#include "core/lowering/owner_computes_atomics.h"
#include "core/lowering/predicate_range_tail.h"
#include "core/passes/cross_loop_cse.h"
#include "core/passes/dead.h"
#include "core/passes/forward_stores.h"
#include "core/passes/hoist.h"
#include "core/passes/inlining.h"
#include "core/passes/narrow_integers.h"
#include "core/passes/promote.h"
#include "core/passes/reassociate_for_fma.h"
#include "core/passes/simplify.h"
#include "core/support/error.h"
#include "cpu/plan/lower_for_cpu.h"

namespace pumice::ir {
namespace {

/// Writes a random kernel as text. An item writes only its own eight elements of arg1, adds atomically to arg4, and hands
/// values to its group through element 0 of local memory or by a group operation, between barriers. Uniform values (the same in
/// the whole group) decide the control flow around barriers. Calls, accesses with two indices, and whole loops of the kinds that
/// single passes are about stand between the other statements. Floats are small integers, so their sums are exact.
class Generator {
public:
    explicit Generator(uint32_t seed) : random(seed), barriers(seed % 2) {}

    std::string kernel() {
        out =
            "kernel \"random\" math contract rank 1 (arg1: inout i32[1], arg2: in i32[1], arg3: i32, arg4: inout i32[1], "
            "arg5: in i32[2], arg6: inout i32[1]) @1 files [\"r.cpp\"] {\n"
            "  local local1: i32[size %size]\n  local local2: i32[size %size]\n  private private1: i32[4]\n"
            "function \"blend\" (%fa: i32, %fb: i32) : i32 {\n%fc = xor %fa, %fb : i32\n%fv = var %fa : i32\n"
            "%fl = lt %fa, %fb : bool\nif %fl {\nset %fv, %fc : i32\nyield\n} else {\nyield\n}\n"
            "%fd = get %fv : i32\nyield %fd\n}\n";
        define("size", "group_size 0 : i32", Kind::uniform);
        define("i", "global_index 0 : i32", Kind::integer);
        define("l", "local_index 0 : i32", Kind::integer);
        define("n", "argument arg3 : i32", Kind::uniform);
        for (int c : {0, 1, 2, 3, 7, 8, 63})
            define("c" + std::to_string(c), "constant " + std::to_string(c) + " : i32", Kind::uniform);
        define("base", "mul %i, %c8 : i32", Kind::integer);
        define("first", "eq %l, %c0 : bool", Kind::boolean);
        for (const char* slot : {"%c0", "%c1", "%c2", "%c3"}) line(std::string("store private1[") + slot + "], %i : i32");
        variable();
        for (int part = 0; part < 3; ++part) {
            statements(part == 1 ? 3 : 1, barriers);
            special_loop();
        }
        for (int slot = 0; slot < 3; ++slot) store_own();
        line("return");
        return out + "}\n";
    }

private:
    enum class Kind { integer, uniform, boolean, uniform_boolean };
    struct Name {
        std::string name;
        Kind kind;
    };

    int roll(int sides) { return int(random() % uint32_t(sides)); }
    void line(const std::string& text) { out += text + "\n"; }
    std::string define(const std::string& name, const std::string& text, Kind kind) {
        line("%" + name + " = " + text);
        names.push_back({"%" + name, kind});
        return "%" + name;
    }
    std::string fresh() { return "v" + std::to_string(next++); }
    std::string define(const std::string& text, Kind kind) { return define(fresh(), text, kind); }

    template <class Accept> std::string pick(Accept accept) {
        std::vector<const Name*> fit;
        for (const Name& n : names)
            if (accept(n.kind)) fit.push_back(&n);
        // The younger half more often, so that chains grow.
        const size_t at = roll(2) ? fit.size() / 2 + random() % (fit.size() - fit.size() / 2) : random() % fit.size();
        return fit[at]->name;
    }
    std::string integer() {
        return pick([](Kind k) { return k == Kind::integer || k == Kind::uniform; });
    }
    std::string uniform() {
        return pick([](Kind k) { return k == Kind::uniform; });
    }
    std::string condition() {
        if (roll(3) == 0) return define("lt " + integer() + ", " + integer() + " : bool", Kind::boolean);
        return pick([](Kind k) { return k == Kind::boolean || k == Kind::uniform_boolean; });
    }

    /// An index of at most `mask`: often one that was used before.
    std::string slot(const std::string& mask) {
        if (roll(3)) return "%c" + std::to_string(roll(3));
        return define("and " + integer() + ", " + mask + " : i32", Kind::integer);
    }
    std::string own_place() {
        const std::string slot = this->slot("%c7");
        return "arg1[" + define("add %base, " + slot + " : i32", Kind::integer) + "]";
    }
    void store_own() {
        const std::string value = integer(), place = own_place();
        line("store " + place + ", " + value + " : i32");
    }
    void variable() {
        const std::string name = fresh();
        line("%" + name + " = var " + integer() + " : i32");
        variables.push_back("%" + name);
    }

    void scalar() {
        constexpr const char* ops[] = {"add", "sub", "mul", "and", "xor", "or", "min", "max", "div", "rem"};
        const std::string op = std::string(ops[roll(10)]) + " ";
        if (roll(3) == 0)
            define(op + uniform() + ", " + uniform() + " : i32", Kind::uniform);
        else if (roll(4) == 0)
            define("select " + condition() + ", " + integer() + ", " + integer() + " : i32", Kind::integer);
        else
            define(op + integer() + ", " + integer() + " : i32", Kind::integer);
        if (roll(4) == 0) define("gt " + uniform() + ", " + uniform() + " : bool", Kind::uniform_boolean);
        if (roll(6) == 0) define("call \"blend\" " + integer() + ", " + integer() + " : i32", Kind::integer);
        if (roll(8) == 0) sum_of_products();
    }

    /// a a + b b + 3 in f32, and back.
    void sum_of_products() {
        std::string square[2];
        for (std::string& s : square) {
            const std::string small = define("and " + integer() + ", %c63 : i32", Kind::integer), f = fresh(), product = fresh();
            line("%" + f + " = cast " + small + " : f32\n%" + product + " = mul %" + f + ", %" + f + " : f32");
            s = "%" + product;
        }
        const std::string sum = fresh(), all = fresh(), three = fresh();
        line("%" + three + " = constant 3.0 : f32\n%" + sum + " = add " + square[0] + ", " + square[1] + " : f32\n%" + all +
             " = add %" + sum + ", %" + three + " : f32");
        define("cast %" + all + " : i32", Kind::integer);
    }

    /// A loop outside of all constructs, of a kind that one pass is about.
    void special_loop() {
        switch (roll(4)) {
            case 0: return strided_loop();
            case 1: return reduction_loop();
            case 2: {
                const std::string factor = integer();
                for (int n = 0; n < 2; ++n) costly_loop(factor);
                return;
            }
            default: return;
        }
    }
    /// for k = i to 64 step global_size: adds up elements (cooperative_strided_loops).
    void strided_loop() {
        const std::string all = define("global_size 0 : i32", Kind::uniform), sum = fresh(), k = fresh(), s = fresh(),
                          x = fresh(), t = fresh();
        line("%" + sum + " = for %" + k + " = %i to %c63 step " + all + " carry (%" + s + " = " + integer() + ") : i32 {\n%" + x +
             " = load arg2[%" + k + "] : i32\n%" + t + " = add %" + s + ", %" + x + " : i32\nyield %" + t + "\n}");
        names.push_back({"%" + sum, Kind::integer});
    }
    /// for k = 0 to 63 or n: an addition of all items to one element an iteration (tile_reduction_loops).
    void reduction_loop() {
        const std::string k = fresh(), x = fresh(), p = fresh();
        line("for %" + k + " = %c0 to " + (roll(2) ? "%c63" : "%n") + " step %c1 {\n%" + x + " = load arg2[%" + k + "] : i32\n%" +
             p + " = mul %" + x + ", " + integer() + " : i32\n%" + fresh() + " = atomic add arg6[%" + k + "], %" + p +
             " : i32\nyield\n}");
    }
    /// for k = 0 to n: adds up the same costly values each time (cross_loop_cse).
    void costly_loop(const std::string& factor) {
        const std::string sum = fresh(), k = fresh(), s = fresh(), x = fresh(), f = fresh(), e = fresh(), b = fresh(),
                          t = fresh();
        line("%" + sum + " = for %" + k + " = %c0 to %n step %c1 carry (%" + s + " = " + integer() + ") : i32 {\n%" + x +
             " = mul %" + k + ", " + factor + " : i32\n%" + f + " = cast %" + x + " : f32\n%" + e + " = sin %" + f + " : f32\n%" +
             b + " = bitcast %" + e + " : i32\n%" + t + " = xor %" + s + ", %" + b + " : i32\nyield %" + t + "\n}");
        names.push_back({"%" + sum, Kind::integer});
    }

    void memory() {
        switch (roll(7)) {
            case 6: define("load arg5[" + slot("%c3") + ", " + slot("%c7") + "] : i32", Kind::integer); return;
            case 0:
                define("load arg2[" + define("and " + integer() + ", %c63 : i32", Kind::integer) + "] : i32", Kind::integer);
                return;
            case 1: define("load " + own_place() + " : i32", Kind::integer); return;
            case 2: store_own(); return;
            case 3: define("load private1[" + slot("%c3") + "] : i32", Kind::integer); return;
            case 4: {
                const std::string at = slot("%c3"), value = integer();
                line("store private1[" + at + "], " + value + " : i32");
                return;
            }
            default: {
                const std::string at = slot("%c7");
                line("%" + fresh() + " = atomic add arg4[" + at + "], " + integer() + " : i32");
            }
        }
    }

    void use_variable() {
        if (roll(8) == 0) return variable();
        const std::string v = variables[size_t(roll(int(variables.size())))];
        if (roll(2))
            define("get " + v + " : i32", Kind::integer);
        else
            line("set " + v + ", " + integer() + " : i32");
    }

    /// One item shares a value with its group, or all items do by a group operation; the value is uniform from then on.
    void share() {
        if (roll(2)) {
            define("group reduce_add local2, " + integer() + " : i32", Kind::uniform);
            if (roll(2)) define("group inclusive_max local2, " + integer() + " : i32", Kind::integer);
            return;
        }
        line("if %first {");
        line("store local1[%c0], " + integer() + " : i32\nyield\n} else {\nyield\n}\nbarrier");
        define("load local1[%c0] : i32", Kind::uniform);
        line("barrier");
    }

    void statements(int depth, bool with_barriers) {
        for (int count = 3 + roll(8); count > 0; --count) statement(depth, with_barriers);
    }

    void statement(int depth, bool with_barriers) {
        const int kind = roll(depth > 0 ? 11 : 8);
        if (kind < 2)
            scalar();
        else if (kind < 6)
            memory();
        else if (kind < 7)
            use_variable();
        else if (kind == 7) {
            if (with_barriers)
                share();
            else
                scalar();
        } else if (kind == 8)
            for_(depth, with_barriers && roll(2));
        else if (kind == 9)
            while_(depth, with_barriers && roll(2));
        else
            if_(depth, with_barriers && roll(2));
    }

    /// Values that are defined inside are not visible afterwards.
    template <class Fill> void inside(Fill fill) {
        const size_t n = names.size(), v = variables.size();
        fill();
        names.resize(n);
        variables.resize(v);
    }

    void if_(int depth, bool with_barriers) {
        const std::string c =
            with_barriers ? define("ge " + uniform() + ", " + uniform() + " : bool", Kind::uniform_boolean) : condition();
        const std::string result = fresh();
        // An exit before a barrier must be uniform; returns occur only in kernels without barriers.
        const bool may_leave = with_barriers || !barrier_loop;
        const int leaving = !loops.empty() && may_leave ? roll(4) : barriers ? 9 : 4 + roll(4);
        line("%" + result + " = if " + c + " : i32 {");
        inside([&] {
            statements(depth - 1, with_barriers);
            if (leaving == 0)
                line("break " + handed_on(true));
            else if (leaving == 1)
                line("continue " + handed_on(false));
            else if (leaving == 7 && !barriers)
                line("return");
            else
                line("yield " + integer());
        });
        line("} else {");
        inside([&] {
            if (roll(2)) statements(depth - 1, with_barriers);
            line("yield " + integer());
        });
        line("}");
        names.push_back({"%" + result, Kind::integer});
    }

    struct Loop {
        std::string counter;
    };

    /// The two columns of a loop: its counter, which bounds it, and any value.
    std::string handed_on(bool leaves) {
        const std::string& counter = loops.back().counter;
        if (counter.empty()) return integer() + ", " + integer();
        return (leaves ? counter : define("add " + counter + ", %c1 : i32", Kind::integer)) + ", " + integer();
    }

    void for_(int depth, bool with_barriers) {
        const std::string limit = define("and " + (with_barriers ? uniform() : integer()) + ", %c3 : i32",
                                         with_barriers ? Kind::uniform : Kind::integer);
        const std::string r = fresh(), s = fresh(), k = fresh(), p = fresh(), q = fresh();
        line("%" + r + ", %" + s + " = for %" + k + " = %c0 to " + limit + " step %c1 carry (%" + p + " = " + integer() + ", %" +
             q + " = " + integer() + ") : (i32, i32) {");
        body(depth, with_barriers, "", [&] {
            names.push_back({"%" + k, with_barriers ? Kind::uniform : Kind::integer});
            names.push_back({"%" + p, Kind::integer});
            names.push_back({"%" + q, Kind::integer});
        });
        names.push_back({"%" + r, Kind::integer});
        names.push_back({"%" + s, Kind::integer});
    }

    void while_(int depth, bool with_barriers) {
        const std::string limit = define("and " + (with_barriers ? uniform() : integer()) + ", %c3 : i32",
                                         with_barriers ? Kind::uniform : Kind::integer);
        const std::string r = fresh(), s = fresh(), p = fresh(), q = fresh(), go = fresh();
        line("%" + r + ", %" + s + " = while (%" + p + " = %c0, %" + q + " = " + integer() + ") : (i32, i32) {");
        inside([&] {
            names.push_back({"%" + p, with_barriers ? Kind::uniform : Kind::integer});
            names.push_back({"%" + q, Kind::integer});
            barrier_loop_scope(false, [&] {
                auto outer = std::move(loops);
                loops.clear();
                statements(0, false);
                loops = std::move(outer);
            });
            line("%" + go + " = lt %" + p + ", " + limit + " : bool");
            line("test %" + go + ", %" + p + ", " + integer() + "\n} do {");
            body(depth, with_barriers, "%" + p, [] {});
        });
        names.push_back({"%" + r, Kind::integer});
        names.push_back({"%" + s, Kind::integer});
    }

    template <class F> void barrier_loop_scope(bool now, F f) {
        const bool before = barrier_loop;
        barrier_loop = now;
        f();
        barrier_loop = before;
    }

    template <class Params> void body(int depth, bool with_barriers, const std::string& counter, Params params) {
        inside([&] {
            params();
            loops.push_back({counter});
            barrier_loop_scope(with_barriers, [&] { statements(depth - 1, with_barriers); });
            line("yield " + handed_on(false) + "\n}");
            loops.pop_back();
        });
    }

    std::mt19937 random;
    bool barriers;              ///< the kernel may have barriers
    bool barrier_loop = false;  ///< the innermost loop has barriers
    std::string out;
    std::vector<Name> names;
    std::vector<std::string> variables;
    std::vector<Loop> loops;
    int next = 0;
};

/// A tile of a two-dimensional kernel, whose items add to elements that other items add to as well (owner_computes_atomics).
std::string tile_kernel(uint32_t seed) {
    std::mt19937 random(seed);
    const auto one_of = [&](std::initializer_list<const char*> all) { return std::string(all.begin()[random() % all.size()]); };
    const std::string row = one_of({"%y, %k", "%k, %x", "%y, %half", "%half, %x"});
    return "kernel \"tile\" math contract rank 2 (arg1: inout f32[2], arg2: in f32[2], arg3: in f32[2]) @1 files [\"t.cpp\"] {\n"
           "  local local1: f32[8, 8]\n  local local2: f32[8, 8]\n"
           "%i = global_index 1 : i32\n%j = global_index 0 : i32\n%y = local_index 1 : i32\n%x = local_index 0 : i32\n"
           "%zero = constant 0 : i32\n%one = constant 1 : i32\n%two = constant 2 : i32\n%size = constant 8 : i32\n"
           "%nothing = constant 0.0 : f32\n%w = load arg2[%i, %j] : f32\n%a = load arg3[%i, %j] : f32\n"
           "store local1[%y, %x], %a : f32\nstore local2[%y, %x], %nothing : f32\nbarrier\n"
           "for %k = %zero to %size step %one {\n%half = div %k, %two : i32\n%b = load local1[" +
           one_of({"%k, %x", "%y, %k"}) + "] : f32\n%p = " + one_of({"mul %w, %b", "add %w, %b", "sub %b, %w"}) +
           " : f32\n%old = atomic " + one_of({"add", "sub"}) + " local2[" + row +
           "], %p : f32\nyield\n}\nbarrier\n%c = load local2[%y, %x] : f32\nstore arg1[%i, %j], %c : f32\nreturn\n}\n";
}

/// The contents of the arrays after a launch of the kernel, one launch after the other.
using Outcome = std::vector<int32_t>;

void append(Outcome& to, const std::vector<int32_t>& more) { to.insert(to.end(), more.begin(), more.end()); }

std::vector<int32_t> numbers(size_t count, size_t modulo, int32_t less) {
    std::vector<int32_t> all(count);
    for (size_t i = 0; i < count; ++i) all[i] = int32_t((i * i + 7 * i) % modulo) - less;
    return all;
}

Outcome outcome_of_random(Backend& device, const std::string& kernel) {
    Outcome all;
    for (const int32_t n : {0, 5}) {
        interp_test::DeviceArray<int32_t> arg1(device, numbers(80, 17, 0)), arg2(device, numbers(64, 31, 9)),
            arg4(device, std::vector<int32_t>(8)), arg5(device, numbers(32, 13, 4), {4, 8}), arg6(device, numbers(64, 11, 5));
        interp_test::run(device, kernel, {{10}, {4}},  // the last group is partial
                         {arg1, arg2, interp_test::scalar(n), arg4, arg5, arg6});
        for (const auto* array : {&arg1, &arg4, &arg6}) append(all, array->read());
    }
    return all;
}

Outcome outcome_of_tile(Backend& device, const std::string& kernel) {
    const auto floats = [](size_t modulo) {
        std::vector<float> all;
        for (const int32_t v : numbers(16 * 8, modulo, 3)) all.push_back(float(v));
        return all;
    };
    interp_test::DeviceArray<float> arg1(device, floats(5), {16, 8}), arg2(device, floats(7), {16, 8}),
        arg3(device, floats(11), {16, 8});
    interp_test::run(device, kernel, {{16, 8}, {8, 8}}, {arg1, arg2, arg3});
    Outcome all;
    for (const float v : arg1.read()) all.push_back(int32_t(v));
    return all;
}

using Pass = std::function<Kernel(const Kernel&)>;
struct Named {
    const char* name;
    Pass pass;
};

codegen::Options with_subgroups() {
    codegen::Options options;
    options.subgroup_sums = options.linear_subgroups = true;
    return options;
}
Kernel by_subgroups(const Kernel& kernel) { return codegen::group_by_subgroups(kernel, with_subgroups()); }

// The passes of codegen/lowering/lower_for_glsl.cpp and cpu/plan/lower_for_cpu.cpp, by the places where they may run.
const std::vector<Named> at_any_time = {{"simplify", simplify},
                                        {"forward_stores", forward_stores},
                                        {"hoist", hoist},
                                        {"narrow_integers", narrow_integers},
                                        {"reassociate_for_fma", reassociate_for_fma},
                                        {"dead", dead}};
const std::vector<Named> before_the_tail = {{"linearize_indices", linearize_indices},
                                            {"cooperative_strided_loops", cooperative_strided_loops},
                                            {"cross_loop_cse", cpu::cross_loop_cse},
                                            {"tile_reduction_loops", cpu::tile_reduction_loops},
                                            {"owner_computes_atomics", owner_computes_atomics},
                                            {"subgroup_aggregated_atomics", codegen::subgroup_aggregated_atomics}};

/// Runs passes on one kernel; each result must be valid and mean the same.
class Way {
public:
    using Run = Outcome (*)(Backend&, const std::string&);
    Way(Backend& device, const std::string& text, uint32_t seed, Run run, std::map<std::string, int>& changed)
        : device(device), k(parse(text)), random(seed), run(run), changed(changed) {
        EXPECT_EQ(verify(k), "") << text;
        want = run(device, text);
    }

    /// The passes of either pipeline: calls, variables, then the others, those of the group late.
    void whole() {
        if (random() % 2) step({"inlining_without_rules", inlining_without_rules});
        step({"inlining", inlining});
        some(at_any_time, 2);  // with variables
        const bool memory = random() % 2;
        if (memory) step({"group_by_memory", [](const Kernel& of) { return group_by_memory(of); }});
        step({"promote", promote});
        some(at_any_time, 3);
        std::vector<Named> once = before_the_tail;
        std::shuffle(once.begin(), once.end(), random);
        for (const Named& pass : once) {
            step(pass);
            some(at_any_time, 1);
        }
        step({"predicate_range_tail", predicate_range_tail});
        if (!memory) step({"group_by_subgroups", by_subgroups});
        some(at_any_time, 3);
    }

private:
    void some(const std::vector<Named>& passes, int count) {
        for (; count > 0; --count) step(passes[random() % passes.size()]);
    }
    void step(const Named& pass) {
        if (testing::Test::HasFailure()) return;
        way += std::string(" ") + pass.name;
        const std::string before = print(k);
        k = pass.pass(k);
        const std::string after = print(k);
        changed[pass.name] += before != after;
        EXPECT_EQ(verify(k), "") << "after" << way << "\n" << before << after;
        EXPECT_EQ(run(device, after), want) << "after" << way << " of\n" << before << "which became\n" << after;
    }

    Backend& device;
    Kernel k;
    std::mt19937 random;
    Run run;
    std::map<std::string, int>& changed;
    Outcome want;
    std::string way;
};

TEST(passes, keep_the_meaning_of_random_kernels) {
    const auto device = open_interp(InterpMode::recorded);
    std::map<std::string, int> changed;
    for (uint32_t seed = 0; seed < 250 && !HasFailure(); ++seed) {
        SCOPED_TRACE(text("seed ", seed));
        Way(*device, Generator(seed).kernel(), seed, outcome_of_random, changed).whole();
    }
    for (uint32_t seed = 0; seed < 50 && !HasFailure(); ++seed) {
        SCOPED_TRACE(text("tile ", seed));
        Way(*device, tile_kernel(seed), seed, outcome_of_tile, changed).whole();
    }
    for (const auto& pipeline : {codegen::pass_names(), cpu::pass_names()})
        for (const std::string_view name : pipeline) EXPECT_GT(changed[std::string(name)], 0) << name << " changes no kernel";
}

}  // namespace
}  // namespace pumice::ir
