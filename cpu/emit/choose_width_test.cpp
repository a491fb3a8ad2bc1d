// Packets of several vectors give the results of single items, for loops and rows of any length.
#include <gtest/gtest.h>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/kernel/kernel.h"
#include "core/language/control.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
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

}  // namespace
}  // namespace pumice::cpu
