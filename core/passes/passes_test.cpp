// Random kernels mean the same before and after every pass, in any order. The interpreter runs them as they are; it
// also finds races, divergent barriers and unset memory that a pass might bring in.
#include <gtest/gtest.h>

#include <random>

#include "core/interp/interp_test.h"
#include "core/passes/passes.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

/// Writes a random kernel as text. An item writes only its own eight elements of arg1, adds atomically to arg4, and hands
/// values to its group through element 0 of local memory, between barriers. Uniform values (the same in the whole group)
/// decide the control flow around barriers.
class Generator {
public:
    explicit Generator(uint32_t seed) : random(seed), barriers(seed % 2) {}

    std::string kernel() {
        out =
            "kernel \"random\" math contract rank 1 (arg1: inout i32[1], arg2: in i32[1], arg3: i32, arg4: inout i32[1]) @1 "
            "files [\"r.cpp\"] {\n"
            "  local local1: i32[size %size]\n  private private1: i32[4]\n";
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
        statements(3, barriers);
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
    }

    void memory() {
        switch (roll(6)) {
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

    /// One item shares a value with its group; the value is uniform from then on.
    void share() {
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
        // Where barriers follow, an exit must be uniform; returns occur only in kernels without barriers.
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

struct Outcome {
    std::vector<int32_t> own, counts;
    bool operator==(const Outcome&) const = default;
};

Outcome outcome(Backend& device, const std::string& kernel, int32_t n) {
    std::vector<int32_t> own(80), in(64), counts(8);
    for (size_t i = 0; i < own.size(); ++i) own[i] = int32_t(i * i % 17);
    for (size_t i = 0; i < in.size(); ++i) in[i] = int32_t(i * 7 % 31) - 9;
    interp_test::DeviceArray<int32_t> arg1(device, own), arg2(device, in), arg4(device, counts);
    interp_test::run(device, kernel, {{10}, {4}}, {arg1, arg2, interp_test::scalar(n), arg4});  // the last group is partial
    return {arg1.read(), arg4.read()};
}

using Pass = Kernel (*)(const Kernel&);
struct Named {
    const char* name;
    Pass pass;
};
constexpr uint32_t kernels = 250;
constexpr Named any_time[] = {{"simplify", simplify}, {"forward_stores", forward_stores}, {"hoist", hoist}, {"dead", dead}};

TEST(passes, keep_the_meaning_of_random_kernels) {
    const auto device = open_interp(InterpMode::recorded);
    for (uint32_t seed = 0; seed < kernels; ++seed) {
        const std::string original = Generator(seed).kernel();
        SCOPED_TRACE(text("seed ", seed));
        Kernel k = parse(original);
        ASSERT_EQ(verify(k), "") << original;
        std::vector<Outcome> want;
        for (int32_t n : {0, 5}) want.push_back(outcome(*device, original, n));
        std::mt19937 random(seed);
        std::string way;
        const auto step = [&](const Named& pass) {
            way += std::string(" ") + pass.name;
            const std::string before = print(k);
            k = pass.pass(k);
            ASSERT_EQ(verify(k), "") << "after" << way << "\n" << before << print(k);
            for (size_t o = 0; o < want.size(); ++o)
                ASSERT_EQ(outcome(*device, print(k), o ? 5 : 0), want[o]) << "after" << way << " of\n"
                                                                          << before << "which became\n"
                                                                          << print(k);
        };
        for (int p = 0; p < 2; ++p) step(any_time[random() % 4]);  // with variables
        step({"promote", promote});
        for (int p = 0; p < 5; ++p) step(any_time[random() % 4]);
        step({"predicate_range_tail", predicate_range_tail});
        for (int p = 0; p < 3; ++p) step(any_time[random() % 4]);
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace pumice::ir
