// Packets of several vectors, packets of more items and iterations without masks give the results of single items, for loops and
// rows of any length.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/interp/interp.h"
#include "core/kernel/kernel.h"
#include "core/language/control.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
#include "core/support/error.h"
#include "cpu/emit/emit_module.h"
#include "cpu/plan/lower_for_cpu.h"
#include "cpu/runtime/cpu.h"

namespace pumice::cpu {
namespace {

/// Arithmetic with a long chain of dependent operations; exact in unsigned integers.
template <int times = 12, class T> T mixed(T v) {
    if constexpr (times == 0)
        return v;
    else
        return mixed<times - 1>(T(v * 1664525u + v * (v >> 7u)));
}

TEST(ChooseWidth, loops_take_several_vectors_a_packet) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const Device device(open());
    // Carried values, private memory, a loop that lanes leave at different iterations, and gathers.
    const auto k = kernel("several", [](Out<uint32_t> y, In<uint32_t> x) {
        auto i = global_index();
        Private<uint32_t, 8> kept;
        Var v = x[i], sum = 0u, rounds = x[i] % 23u;
        $for(s, range(8)) {
            kept[s] = v;
            v = mixed(Val<uint32_t>(v));
        }
        $while(rounds > 0u) {
            sum += kept[cast<int>(rounds % 8u)];
            v = mixed(Val<uint32_t>(v ^ sum));
            rounds -= 1u;
        }
        y[i] = v + x[cast<int>(v % cast<uint32_t>(x.size()))];
    });
    for (const int n : {1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 300, 1000, 70001}) {
        std::vector<uint32_t> x(size_t(n), 0u);
        for (size_t i = 0; i < x.size(); ++i) x[i] = uint32_t(i) * 2654435761u;
        Array<uint32_t> y = device.zeros<uint32_t>(n), given = device.upload(x);
        k(ndrange(n), y, given);
        const std::vector<uint32_t> got = y.download();
        for (size_t i = 0; i < x.size(); ++i) {
            uint32_t kept[8], v = x[i], sum = 0;
            for (uint32_t& one : kept) one = v, v = mixed(v);
            for (uint32_t rounds = x[i] % 23; rounds > 0; --rounds) sum += kept[rounds % 8], v = mixed(v ^ sum);
            ASSERT_EQ(got[i], v + x[v % uint32_t(n)]) << i << " of " << n;
        }
    }
}

TEST(ChooseWidth, straight_code_takes_several_vectors_a_packet) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const Device device(open());
    const auto k = kernel("line", [](Out<uint32_t> y, In<uint32_t> x) {
        auto i = global_index();
        y[i] = mixed<60>(Val<uint32_t>(x[i]));
    });
    for (const int n : {1, 16, 17, 64, 65, 127, 128, 129, 1000, 70001}) {
        std::vector<uint32_t> x(size_t(n), 0u);
        for (size_t i = 0; i < x.size(); ++i) x[i] = uint32_t(i) * 2654435761u;
        Array<uint32_t> y = device.zeros<uint32_t>(n), given = device.upload(x);
        k(ndrange(n), y, given);
        const std::vector<uint32_t> got = y.download();
        for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], mixed<60>(x[i])) << i << " of " << n;
    }
}

/// Loops whose index or whose bound moves by a constant from lane to lane, with values that they carry and a jump of all lanes.
const auto strided = kernel("strided", static_group<1, 64>, [](Out<uint32_t, 2> y, In<uint32_t> x, Val<int> stop, Val<int> step) {
    auto [row, lane] = global_index<2>();
    const auto n = x.size(0);
    Var hash = 7u, triangle = 5u, from = 3u, least = 1u;
    Var last = -1;
    $for(j, range(lane, n, 64)) { hash = hash * 31u + (x[j] ^ cast<uint32_t>(j)); }
    $for(j, range(min(3 * lane, n), n, step)) {
        $if(j > stop) { $break; }
        triangle = triangle * 17u + x[j];
        last = j;
    }
    $for(j, range(lane - 70, n)) {
        $if(row == 1 && x[max(j, 0)] % 5u == 0u) { $continue; }
        from = from * 13u + x[max(j, 0)];
    }
    $for(j, range(min(2 * lane + stop, n))) { least = least * 11u + x[j]; }
    $for(j, range(lane, -9, -step)) { least += cast<uint32_t>(j) * least; }
    y(row, lane) = hash + 3u * triangle + 5u * from + 7u * least + cast<uint32_t>(last);
});

TEST(FullIterations, give_the_results_of_the_interpreter) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const Device device(open()), reference(open_interp());
    for (const int n : {1, 7, 15, 16, 63, 64, 65, 127, 128, 300, 1001})
        for (const int stop : {0, 9, 200})
            for (const int step : {1, 5, 64}) {
                std::vector<uint32_t> x(size_t(n), 0u);
                for (size_t i = 0; i < x.size(); ++i) x[i] = uint32_t(i) * 2654435761u >> 7;
                const auto of = [&](const Device& d) {
                    const Array<uint32_t, 2> y = d.zeros<uint32_t>({2, 64});
                    strided(ndrange(2, 64), y, d.upload(x), stop, step);
                    return y.download();
                };
                ASSERT_EQ(of(device), of(reference)) << n << " elements, stop " << stop << ", step " << step;
            }
}

/// Indices up to 2^31 - 1, and bounds that wrap in some lanes.
TEST(FullIterations, end_where_an_index_overflows) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const Device device(open()), reference(open_interp());
    const auto k = kernel("overflow", static_group<64>, [](Out<uint32_t> y, Val<int> from, Val<int> to, Val<int> step) {
        auto lane = global_index();
        Var steps = 1u, bounds = 1u, below = 1u;
        $for(j, range(from + lane, to, step)) { steps = steps * 3u + cast<uint32_t>(j); }
        $for(j, range(from, to - 40 + lane, step)) { bounds = bounds * 5u + cast<uint32_t>(j); }
        $for(j, range(from, to - lane, step)) { below = below * 7u + cast<uint32_t>(j); }
        y[lane] = steps + 3u * bounds + 5u * below;
    });
    constexpr int most = 2'147'483'647;
    for (const int from : {most - 700, most - 100, most - 64})
        for (const int to : {most, most - 3, most - 39, most - 60, -most + 20})
            for (const int step : {1, 13, 64, 1000}) {
                const auto of = [&](const Device& d) {
                    const Array<uint32_t> y = d.zeros<uint32_t>(64);
                    k(ndrange(64), y, from, to, step);
                    return y.download();
                };
                ASSERT_EQ(of(device), of(reference)) << from << " to " << to << " step " << step;
            }
}

/// Pairs of a bitonic network and partners of a butterfly, side by side or apart by the distance, in local memory and in an
/// array.
TEST(CheckedStores, store_pairs_at_any_distance) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const Device device(open()), reference(open_interp());
    const auto exchange = [](auto&& at, const Val<int>& first, const Val<int>& second) {
        const auto a = at[first], b = at[second];
        at[first] = min(a, b) * 3u;
        at[second] = max(a, b) + 1u;
    };
    const auto in_groups = kernel("in_groups", static_group<128>, [=](InOut<uint32_t> x, Val<int> distance) {
        Local<uint32_t, 256> block;
        auto l = local_index();
        const auto base = group_index() * 256;
        block[l] = x[base + l];
        block[l + 128] = x[base + l + 128];
        synchronize();
        const auto low = 2 * l - (l & (distance - 1));
        exchange(block, low, low + distance);
        synchronize();
        const auto mine = block[l], other = block[l + 128];
        synchronize();
        block[l ^ distance / 2] = mine;
        block[(l ^ distance / 2) + 128] = other;
        synchronize();
        x[base + l] = block[l];
        x[base + l + 128] = block[l + 128];
    });
    const auto in_array = kernel("in_array", [=](InOut<uint32_t> x, Val<int> distance) {
        auto l = global_index();
        const auto low = 2 * l - (l & (distance - 1));
        exchange(x, low, low + distance);
    });
    std::vector<uint32_t> x(1024, 0u);
    for (size_t i = 0; i < x.size(); ++i) x[i] = uint32_t(i) * 2654435761u;
    for (const int distance : {1, 2, 4, 8, 16, 32, 64, 128}) {
        const auto of = [&](const Device& d, const auto& k) {
            const Array<uint32_t> all = d.upload(x);
            k(ndrange(512), all, distance);
            return all.download();
        };
        ASSERT_EQ(of(device, in_groups), of(reference, in_groups)) << distance;
        ASSERT_EQ(of(device, in_array), of(reference, in_array)) << distance;
    }
}

TEST(WidePackets, count_bytes_in_loops) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const Device device(open());
    const auto k = kernel("occurrences", [](InOut<int32_t> counts, In<uint8_t> text, In<uint8_t, 2> patterns) {
        auto i = global_index();
        $for(p, range(patterns.size(0))) {
            Var same = true;
            $for(c, range(patterns.size(1))) { same = same && text[i + c] == patterns(p, c); }
            $if(same) { atomic_add(counts[p], 3); }
        }
    });
    for (const int n : {1, 15, 64, 65, 200, 1000, 70001}) {
        std::vector<uint8_t> text(size_t(n + 2), uint8_t(0));
        for (size_t i = 0; i < text.size(); ++i) text[i] = uint8_t(i * i * 2654435761u >> 13) % 3;
        const std::vector<uint8_t> patterns{0, 0, 1, 0, 1, 2, 2, 2, 2, 1, 0, 2};
        const Array<int32_t> counts = device.zeros<int32_t>(4);
        k(ndrange(n), counts, device.upload(text), device.upload(patterns, {4, 3}));
        const std::vector<int32_t> got = counts.download();
        for (size_t p = 0; p < 4; ++p) {
            int32_t expected = 0;
            for (size_t i = 0; i < size_t(n); ++i)
                if (std::equal(patterns.begin() + int64_t(3 * p), patterns.begin() + int64_t(3 * p) + 3,
                               text.begin() + int64_t(i)))
                    expected += 3;
            ASSERT_EQ(got[p], expected) << "pattern " << p << " of " << n;
        }
    }
}

// A chain of products takes the latency of a product an iteration, which a second vector fills. Not so in a short loop, where the
// iteration has more work than the chain takes, or on a processor that runs vectors in two passes.
TEST(ChooseWidth, long_loops_that_wait_for_a_chain_take_two_vectors) {
    const auto two_vectors = [](int iterations, int loads, bool splits_vectors = false) {
        std::string body =
            text("%2 = load arg2[%0] : i32\n%3 = constant 0 : i32\n%4 = constant 1 : i32\n%5 = constant ", iterations,
                 " : i32\n%6 = for %7 = %3 to %5 step %4 carry (%8 = %2) : i32 {\n%9 = mul %8, %8 : i32\n");
        int last = 9, next = 10;
        for (int n = 0; n < loads; ++n) {  // what they load meets the chain once
            body += text("%", next, " = constant ", n + 1, " : i32\n%", next + 1, " = add %7, %", next, " : i32\n%", next + 2,
                         " = load arg2[%", next + 1, "] : i32\n%", next + 3, " = xor %", next + 2, ", %", n == 0 ? 2 : next - 1,
                         " : i32\n");
            next += 4;
        }
        if (loads > 0) body += text("%", last = next, " = xor %9, %", next - 1, " : i32\n");
        const ir::Kernel kernel =
            ir::parse(text("kernel \"k\" math contract rank 1 (arg1: inout i32[1], arg2: in i32[1]) files [\"k.cpp\"] {\n",
                           "%0 = global_index 0 : i32\n", body, "yield %", last, "\n}\nstore arg1[%0], %6 : i32\nreturn\n}\n"));
        Target target;
        target.width = 8, target.isa = Isa::avx2, target.splits_vectors = splits_vectors;
        return emit_llvm(lower(kernel, false), target, {{256, 1, 1}}).text.find("mul <16 x i32>") != std::string::npos;
    };
    EXPECT_TRUE(two_vectors(300, 0));
    EXPECT_TRUE(two_vectors(300, 1));
    EXPECT_TRUE(two_vectors(300, 4));
    EXPECT_FALSE(two_vectors(300, 4, true));
    EXPECT_FALSE(two_vectors(5, 0));
    EXPECT_FALSE(two_vectors(300, 20));
}

/// The plan of a kernel of one row for packets of 8 items.
std::string planned(const std::string& parameters, const std::string& body, std::array<int64_t, 3> group = {256, 1, 1}) {
    const ir::Kernel kernel = ir::parse(text("kernel \"k\" math contract rank ", group[1] > 1 ? 2 : 1, " (", parameters,
                                             ") files [\"k.cpp\"] {\n", body, "return\n}\n"));
    Target target;
    target.width = 8, target.isa = Isa::avx2;
    return packet_plan(lower(kernel, false), target, {group});
}

// A vector of doubles is two of the processor's, which have a chain each: a sum has less work than its chain takes, one of
// products of products more.
TEST(ChooseWidth, loops_over_doubles_that_wait_for_a_chain_take_four_vectors) {
    const auto takes_four = [](bool more) {
        return planned(
                   "arg1: inout f64[1], arg2: in f64[1]",
                   text(
                       "%0 = global_index 0 : i32\n%1 = load arg1[%0] : f64\n%2 = constant 0 : i32\n%3 = constant 1 : i32\n"
                       "%4 = extent arg2, 0 : i32\n%5 = for %6 = %2 to %4 step %3 carry (%7 = %1) : f64 {\n"
                       "%8 = load arg2[%6] : f64\n",
                       more
                           ? "%9 = mul %1, %8 : f64\n%10 = mul %9, %9 : f64\n%11 = mul %10, %10 : f64\n%12 = mul %11, %11 : f64\n"
                             "%13 = mul %12, %11 : f64\n%14 = mul %13, %13 : f64\n%15 = add %7, %14 : f64\nyield %15\n}\n"
                           : "%9 = add %7, %8 : f64\nyield %9\n}\n",
                       "store arg1[%0], %5 : f64\n"))
                   .find("packets of 16 items") != std::string::npos;
    };
    EXPECT_TRUE(takes_four(false));
    EXPECT_FALSE(takes_four(true));
}

// A branch on what the iteration loads is mispredicted now and then, one on the counter is not.
TEST(ChooseWidth, loops_with_branches_that_go_either_way_take_two_vectors) {
    const auto takes_two = [](const char* condition) {
        return planned(
                   "arg1: inout f64[1], arg2: in i32[1], arg3: in f64[1]",
                   text("%0 = global_index 0 : i32\n%1 = load arg1[%0] : f64\n%2 = constant 0 : i32\n%3 = constant 1 : i32\n"
                        "%4 = extent arg2, 0 : i32\n%5 = for %6 = %2 to %4 step %3 carry (%7 = %1) : f64 {\n"
                        "%8 = load arg2[%6] : i32\n%9 = load arg3[%6] : f64\n%10 = gt ",
                        condition,
                        ", %3 : bool\n%11 = mul %1, %9 : f64\n%12 = mul %11, %11 : f64\n%13 = mul %12, %11 : f64\n"
                        "%14 = mul %13, %13 : f64\n%15 = mul %14, %14 : f64\n%16 = mul %15, %14 : f64\n"
                        "%17 = mul %16, %16 : f64\n%18 = mul %17, %16 : f64\n%19 = mul %18, %17 : f64\n%20 = mul %19, %19 : f64\n"
                        "%21 = if %10 : f64 {\n%22 = div %20, %7 : f64\nyield %22\n} else {\nyield %7\n}\nyield %21\n}\n"
                        "store arg1[%0], %5 : f64\n"))
                   .find("packets of 16 items") != std::string::npos;
    };
    EXPECT_TRUE(takes_two("%8"));
    EXPECT_FALSE(takes_two("%6"));
}

}  // namespace
}  // namespace pumice::cpu
