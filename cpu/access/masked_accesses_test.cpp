// Many accesses that LLVM takes apart: how many of them are in the kernel's function, and their results.
#include <gtest/gtest.h>

#include <optional>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/kernel/kernel.h"
#include "core/language/control.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "core/support/debug.h"
#include "cpu/emit/emit_module.h"
#include "cpu/native/cpu_target.h"
#include "cpu/plan/lower_for_cpu.h"
#include "cpu/plan/tuning.h"
#include "cpu/runtime/cpu_device.h"
#include "cpu/runtime/cpu_program.h"

namespace pumice::cpu {
namespace {

/// Rules that are turned off, since with them this kernel would run one item at a time, or load short vectors.
constexpr const char* without = "scalar_items,lane_rows,word_gathers";

constexpr int items = 100, accesses = 80, row = 3 * accesses + 5;

/// Each item loads from and stores to a row of its own, at words that do not lie side by side.
template <class T> auto scattered(bool masked) {
    return kernel("scattered", [masked](InOut<T, 2> out, In<T, 2> from, In<int> order) {
        auto i = global_index();
        auto r = order[i];
        const auto body = [&] {
            for (int n = 0; n < accesses; ++n) out(r, 3 * n) = from(r, 3 * n) ^ T(n % 100);
        };
        if (masked)
            if_(r % 3 != 0, body);
        else
            body();
    });
}

int count(const std::string& text, const std::string& what) {
    int all = 0;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++all;
    return all;
}

template <class T> void check_count(const char* level) {
    const Compiler compiler(0, machine_named(level));
    Variant variant;
    variant.group = {256, 1, 1};
    Target target = compiler.target;
    target.rules = rules_without(without);
    for (const bool masked : {false, true}) {
        const std::string t = emit_llvm(lower(ir::parse(scattered<T>(masked).ir()), false), target, variant).text;
        const int in_functions = count(t, "@llvm.masked."), outlined = count(t, " @outlined.masked.");
        // Beside those of the kernel's function: a declaration of each intrinsic, and its use by the function with and without a
        // mask.
        EXPECT_LE(in_functions, tuning::most_scalarised_lanes / target.width + 12) << level;
        EXPECT_GE(outlined, 2 * accesses) << level;
    }
}

TEST(OutlinedAccesses, are_calls_after_the_first) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    if (!host_machine().triple.starts_with("x86_64")) GTEST_SKIP() << "SKIPPED: levels of x86-64";
    for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) check_count<int8_t>(level), check_count<int16_t>(level);
    check_count<int32_t>("x86-64-v2"), check_count<int32_t>("x86-64-v3"), check_count<int64_t>("x86-64-v3");
}

template <class T> void check_results(const pumice::Device& device) {
    std::vector<T> from(size_t(items) * row);
    for (size_t n = 0; n < from.size(); ++n) from[n] = T(n * 37 % 101);
    std::vector<int> order(items);
    for (int n = 0; n < items; ++n) order[size_t(n)] = n * 37 % items;
    for (const bool masked : {false, true}) {
        Array<T, 2> out = device.zeros<T>({items, row});
        scattered<T>(masked)(ndrange(items), out, device.upload(from, {items, row}), device.upload(order));
        std::vector<T> expected(from.size());
        for (int r = 0; r < items; ++r)
            for (int n = 0; n < accesses && (!masked || r % 3 != 0); ++n) {
                const size_t at = size_t(r) * row + 3 * size_t(n);
                expected[at] = T(from[at] ^ T(n % 100));
            }
        EXPECT_EQ(out.download(), expected) << device.name() << ", " << sizeof(T) << " bytes";
    }
}

TEST(OutlinedAccesses, have_the_results_of_others) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    std::optional<debug::Override> rules(std::in_place, "PUMICE_CPU_WITHOUT", without);
    std::vector<pumice::Device> devices{pumice::Device(open())};
    for (const char* level : {"x86-64-v2", "x86-64-v3"})
        if (host_machine().triple.starts_with("x86_64") && features_lacking(machine_named(level)).empty())
            devices.emplace_back(std::make_shared<CpuDevice>(0, 1, false, machine_named(level)));
    rules.reset();
    for (const pumice::Device& d : devices)
        check_results<int8_t>(d), check_results<int16_t>(d), check_results<int32_t>(d), check_results<int64_t>(d);
}

/// Elements of one and two bytes, at the first and last places of arrays that begin at any address, in full and partial packets.
TEST(WordGathers, load_the_elements_of_arrays_that_begin_anywhere) {
    const auto look_up = [](auto zero) {
        using T = decltype(zero);
        return kernel("look_up", [](Out<T> out, In<T> table, In<int> at, In<int> taken) {
            const auto i = global_index();
            Val<T> one = table[at[i]];
            $if(taken[i] != 0) { out[i] = table[at[at[i]]] + one; }
            $else { out[i] = one; }
        });
    };
    const auto check = [&](const pumice::Device& device, auto zero) {
        using T = decltype(zero);
        constexpr int items = 67, shift = 9;
        const auto kernel = look_up(zero);
        std::vector<T> table(items + shift);
        std::vector<int> at(items), taken(items);
        for (size_t n = 0; n < table.size(); ++n) table[n] = T(37 * n + 201);
        for (int n = 0; n < items; ++n) at[size_t(n)] = (n * 29 + 66) % items, taken[size_t(n)] = n % 5 != 2;
        const Array<T> whole = device.upload(table), out = device.zeros<T>(items);
        for (int begin = 0; begin <= shift; ++begin) {
            kernel(ndrange(items), out, whole.slice(begin, begin + items), device.upload(at), device.upload(taken));
            const std::vector<T> got = out.download();
            for (size_t n = 0; n < size_t(items); ++n) {
                const auto of = [&](int place) { return table[size_t(begin + place)]; };
                const int place = at[n];
                EXPECT_EQ(got[n], taken[n] ? T(of(at[size_t(place)]) + of(place)) : of(place)) << device.name() << n;
            }
        }
    };
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const debug::Override rules("PUMICE_CPU_WITHOUT", "scalar_items,lane_rows");
    Machine skylake = machine_named("x86-64-v3");  // gathers of AVX2
    skylake.cpu = "skylake";
    for (const Machine& machine : {machine_named("x86-64-v3"), skylake, machine_named("x86-64-v4")})
        if (machine.triple.starts_with("x86_64") && features_lacking(machine).empty()) {
            const pumice::Device device(std::make_shared<CpuDevice>(0, 1, false, machine));
            check(device, int8_t()), check(device, uint8_t()), check(device, int16_t()), check(device, uint16_t());
        }
}

/// Gathers under a mask that LLVM takes apart have no mask in the text; those of the processor do.
TEST(BranchlessGathers, load_a_zero_in_inactive_lanes) {
    const auto rows = kernel("rows", [](Out<int> out, In<uint8_t> bytes, In<int> words, In<int> start, In<int> length) {
        auto i = global_index();
        Var sum = 0;
        for_(range(length[i]), [&](auto j) { sum += cast<int>(bytes[start[i] + j]) + words[start[i] + j]; });
        out[i] = sum;
    });
    const ir::Kernel k = lower(ir::parse(rows.ir()), false);
    const auto gathers = [&](const char* level, const char* off, const char* masks) {
        const Compiler compiler(0, machine_named(level));
        Variant variant;
        variant.group = {64, 1, 1}, variant.full = true;
        Target target = compiler.target;
        target.rules = rules_without(text("scalar_items,lane_rows,full_packet_versions,", off));
        const std::string t = emit_llvm(k, target, variant).text;
        int all = 0;
        for (size_t at = t.find("call <"); at != t.npos; at = t.find("call <", at + 1)) {
            const std::string line = t.substr(at, t.find('\n', at) - at);
            all += line.find("masked.gather") != line.npos && line.find(masks) != line.npos;
        }
        return all;
    };
    const char* const whole = "splat (i1 true)";
    EXPECT_EQ(gathers("x86-64-v3", "interleaving", whole), 2);
    EXPECT_EQ(gathers("x86-64-v4", "word_gathers", whole), 1);     // of bytes
    EXPECT_EQ(gathers("x86-64-v4", "interleaving", "v16i32"), 2);  // of the words around the bytes, too
    EXPECT_EQ(gathers("x86-64-v3", "branchless_gathers", whole), 0);
    EXPECT_EQ(gathers("x86-64-v3", "branchless_gathers", "masked.gather"), 2);
}

}  // namespace
}  // namespace pumice::cpu
