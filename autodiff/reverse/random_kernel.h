// Random differentiable kernels as text.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace pumice::derive::test {

/// Writes a random kernel of doubles as text. An item writes its own four elements of arg1, reads arg2 anywhere, adds atomically
/// to arg4, calls functions with and without rules, and shares values through subgroups, and through local memory between
/// barriers. Values stay of moderate size; no comparison of doubles decides anything, so that central differences meet no jump,
/// but ints that differ between items do.
class Generator {
public:
    explicit Generator(uint32_t seed, bool with_subgroups)
        : random(seed), barriers(seed % 3 == 0), subgroups(with_subgroups && seed % 4 == 1) {}

    std::string kernel() {
        out =
            "kernel \"random\" math contract rank 1 (arg1: inout f64[1], arg2: in f64[1], arg3: f64, arg4: inout f64[1], arg5: "
            "i32) @1 "
            "files [\"r.cpp\"] {\n  local local1: f64[8]\n  private private1: f64[4]\n";
        line(R"(function "soft" (%fa: f64, %fb: f64) : f64 reverse "soft.reverse" forward "soft.forward" {
            %fs = sin %fa : f64
            %fr = mul %fs, %fb : f64
            yield %fr
          }
          function "soft.reverse" (%ra: f64, %rb: f64, %rr: f64, %rd: f64) : (f64, f64) {
            %rc = cos %ra : f64
            %rcb = mul %rc, %rb : f64
            %rda = mul %rcb, %rd : f64
            %rs = sin %ra : f64
            %rdb = mul %rs, %rd : f64
            yield %rda, %rdb
          }
          function "soft.forward" (%ta: f64, %tb: f64, %tda: f64, %tdb: f64) : f64 {
            %tc = cos %ta : f64
            %tcb = mul %tc, %tb : f64
            %tx = mul %tcb, %tda : f64
            %ts = sin %ta : f64
            %ty = mul %ts, %tdb : f64
            %tr = add %tx, %ty : f64
            yield %tr
          }
          function "softer" (%ga: f64, %gb: f64) : f64 {
            %gr = call "soft" %ga, %gb : f64
            %gq = call "soft" %gr, %ga : f64
            yield %gq
          })");
        integer("i", "global_index 0 : i32");
        integer("l", "local_index 0 : i32");
        uniform("n", "argument arg5 : i32");
        for (const int c : {0, 1, 2, 3, 4, 7, 63}) uniform("c" + std::to_string(c), "constant " + std::to_string(c) + " : i32");
        integer("base", "mul %i, %c4 : i32");
        real("a", "argument arg3 : f64");
        real("x0", "load arg2[%i] : f64");
        real("half", "constant 0.5 : f64");
        for (const char* slot : {"%c0", "%c1", "%c2", "%c3"}) line(std::string("store private1[") + slot + "], %x0 : f64");
        variable();
        if (barriers) line("store local1[%l], %x0 : f64\nbarrier");
        statements(3, barriers);
        for (int slot = 0; slot < 2; ++slot) store_own();
        line("return");
        return out + "}\n";
    }

private:
    int roll(int sides) { return int(random() % uint32_t(sides)); }
    void line(const std::string& text) { out += text + "\n"; }
    std::string fresh() { return "v" + std::to_string(next++); }
    std::string define(std::vector<std::string>& names, const std::string& name, const std::string& text) {
        line("%" + name + " = " + text);
        names.push_back("%" + name);
        return "%" + name;
    }
    std::string real(const std::string& name, const std::string& text) { return define(reals, name, text); }
    std::string integer(const std::string& name, const std::string& text) { return define(integers, name, text); }
    std::string uniform(const std::string& name, const std::string& text) { return define(uniforms, name, text); }
    std::string pick(const std::vector<std::string>& names) {
        const size_t half = names.size() / 2;
        return names[roll(3) ? half + random() % (names.size() - half) : random() % names.size()];
    }
    std::string a_real() { return pick(reals); }
    std::string an_integer() { return roll(3) ? pick(integers) : pick(uniforms); }
    /// Values pass through something bounded now and then.
    std::string tame(const std::string& v) { return real(fresh(), (roll(2) ? "sin " : "tanh ") + v + " : f64"); }

    std::string condition(bool same) {
        const std::string masked = fresh(), name = fresh();
        line("%" + masked + " = and " + (same ? pick(uniforms) : an_integer()) + ", %c3 : i32");
        line("%" + name + " = lt %" + masked + ", %c2 : bool");
        return "%" + name;
    }
    std::string small() {
        const std::string name = fresh();
        line("%" + name + " = and " + an_integer() + ", %c3 : i32");
        return "%" + name;
    }
    std::string own_place() {
        const std::string at = roll(3) ? "%c" + std::to_string(roll(4)) : small(), name = fresh();
        line("%" + name + " = add %base, " + at + " : i32");
        return "arg1[%" + name + "]";
    }
    void store_own() {
        const std::string value = tame(a_real()), place = own_place();
        line("store " + place + ", " + value + " : f64");
    }
    void variable() {
        const std::string name = fresh();
        line("%" + name + " = var " + a_real() + " : f64");
        variables.push_back("%" + name);
    }

    void operation() {
        constexpr const char* two[] = {"add", "sub", "mul", "atan2"};
        constexpr const char* one[] = {"sin", "cos", "tanh", "atan", "neg", "erf"};
        switch (roll(8)) {
            case 0: real(fresh(), std::string(one[roll(6)]) + " " + a_real() + " : f64"); return;
            case 1: {
                const std::string c = condition(false);
                real(fresh(), "select " + c + ", " + a_real() + ", " + a_real() + " : f64");
                return;
            }
            case 2: integer(fresh(), "add " + an_integer() + ", " + an_integer() + " : i32"); return;
            case 3: {
                const std::string x = tame(a_real());
                real(fresh(), "fma " + x + ", " + tame(a_real()) + ", " + a_real() + " : f64");
                return;
            }
            case 4:
                real(fresh(),
                     std::string("call \"") + (roll(2) ? "soft\" " : "softer\" ") + a_real() + ", " + a_real() + " : f64");
                return;
            case 5: {
                const std::string n = real(fresh(), "cast " + small() + " : f64");
                real(fresh(), "mul " + n + ", " + tame(a_real()) + " : f64");
                return;
            }
            case 6:
                if (subgroups) return among_lanes();
                [[fallthrough]];
            default: {
                const std::string x = tame(a_real()), y = a_real(), op = two[roll(3)];
                tame(real(fresh(), op + " " + x + ", " + y + " : f64"));
            }
        }
    }

    void among_lanes() {
        constexpr const char* all[] = {"reduce_add",      "inclusive_add", "exclusive_add",
                                       "broadcast_first", "reduce_max",    "reduce_mul"};
        const std::string x = tame(a_real());
        tame(real(fresh(), std::string("subgroup ") + all[roll(6)] + " " + x + " : f64"));
    }

    void memory() {
        switch (roll(7)) {
            case 0: {
                const std::string at = fresh();
                line("%" + at + " = and " + an_integer() + ", %c63 : i32");
                real(fresh(), "load arg2[%" + at + "] : f64");
                return;
            }
            case 1: real(fresh(), "load " + own_place() + " : f64"); return;
            case 2: store_own(); return;
            case 3: real(fresh(), "load private1[" + small() + "] : f64"); return;
            case 4: {
                const std::string at = small(), v = tame(a_real());
                line("store private1[" + at + "], " + v + " : f64");
                return;
            }
            case 5: {
                const std::string at = small(), v = tame(a_real());
                line("%" + fresh() + " = atomic " + (roll(2) ? "add" : "sub") + " arg4[" + at + "], " + v + " : f64");
                return;
            }
            default:
                if (roll(2))
                    real(fresh(), "load arg2[%c" + std::to_string(roll(4)) + "] : f64");
                else
                    variable();
        }
    }

    void share() {
        // Each item writes its own element; after the barrier all read any.
        const std::string v = tame(a_real()), at = fresh();
        const bool summed = roll(3) == 0;
        const std::string place = "%" + fresh();
        if (summed) line(place + " = and " + an_integer() + ", %c1 : i32");  // an element that each group has written
        const std::string store =
            summed ? "%" + fresh() + " = atomic add local1[" + place + "], " + v + " : f64" : "store local1[%l], " + v + " : f64";
        const std::string c = roll(2) ? condition(false) : "";
        line("barrier");
        line(c.empty() ? store : "if " + c + " {\n" + store + "\nyield\n} else { yield }");
        line("barrier");
        line("%" + at + " = and " + an_integer() + ", %c1 : i32");  // the last group has three items
        tame(real(fresh(), "load local1[%" + at + "] : f64"));
    }

    void statements(int depth, bool together) {
        for (int n = 3 + roll(5); n > 0; --n) {
            const int what = roll(12);
            if (what < 4)
                operation();
            else if (what < 7)
                memory();
            else if (what == 7)
                line("set " + pick(variables) + ", " + tame(a_real()) + " : f64");
            else if (what == 8)
                real(fresh(), "get " + pick(variables) + " : f64");
            else if (together && what == 9)
                share();
            else if (depth > 0 && what == 10)
                branch(depth, together);
            else if (depth > 0)
                loop(depth, together);
        }
    }

    /// Names of the inside end with it.
    template <class F> void inside(F f) {
        const auto r = reals, i = integers, u = uniforms, v = variables;
        f();
        reals = r, integers = i, uniforms = u, variables = v;
    }

    void branch(int depth, bool together) {
        const bool same = together && roll(2);
        const std::string c = condition(same), name = fresh();
        line("%" + name + " = if " + c + " : f64 {");
        for (int arm = 0; arm < 2; ++arm) {
            inside([&] {
                statements(depth - 1, same);
                if (arm == 0 && !together && loops > 0 && roll(4) == 0)
                    leave();
                else if (arm == 0 && !barriers && roll(20) == 0)
                    line("return");
                else
                    line("yield " + a_real());
            });
            line(arm == 0 ? "} else {" : "}");
        }
        reals.push_back("%" + name);
    }

    /// break or continue out of the innermost loop, which carries one double (and in a while a counter).
    void leave() {
        const std::string v = tame(a_real());
        line((roll(2) ? "break " : "continue ") + v + (in_while.back() ? ", " + counters.back() : ""));
    }

    void loop(int depth, bool together) {
        const bool same = together && roll(2);
        std::string trips = roll(2) ? "%c" + std::to_string(1 + roll(3)) : same ? "%n" : small();
        const std::string name = fresh(), index = fresh(), carried = fresh();
        const bool was = together_loop;
        together_loop = same;
        ++loops;
        if (same || roll(2)) {
            in_while.push_back(false);
            counters.emplace_back();
            line("%" + name + " = for %" + index + " = %c0 to " + trips + " step %c1 carry (%" + carried + " = " + a_real() +
                 ") : f64 {");
            inside([&] {
                (same ? uniforms : integers).push_back("%" + index);
                reals.push_back("%" + carried);
                statements(depth - 1, same);
                line("yield " + tame(a_real()));
            });
            line("}");
        } else {
            in_while.push_back(true);
            const std::string counter = fresh(), count = fresh(), goes = fresh(), grown = fresh();
            line("%" + name + ", %" + count + " = while (%" + carried + " = " + a_real() + ", %" + counter +
                 " = %c0) : (f64, i32) {");
            inside([&] {
                reals.push_back("%" + carried);
                const std::string given = roll(2) ? "%" + carried : tame("%" + carried);
                line("%" + goes + " = lt %" + counter + ", " + trips + " : bool\ntest %" + goes + ", " + given + ", %" + counter +
                     "\n} do {");
                line("%" + grown + " = add %" + counter + ", %c1 : i32");
                counters.push_back("%" + grown);
                integers.push_back("%" + grown);
                statements(depth - 1, false);
                line("yield " + tame(a_real()) + ", %" + grown);
            });
            line("}");
            integers.push_back("%" + count);
        }
        counters.pop_back();
        in_while.pop_back();
        --loops;
        together_loop = was;
        reals.push_back("%" + name);
    }

    std::mt19937 random;
    const bool barriers, subgroups;
    bool together_loop = false;
    std::string out;
    std::vector<std::string> reals, integers, uniforms, variables, counters;
    std::vector<bool> in_while;
    int next = 0, loops = 0;
};

}  // namespace pumice::derive::test
