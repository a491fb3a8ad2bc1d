// Interleaved accesses on processors without this machine's newer instructions; the device suite has the other tests.
#include <gtest/gtest.h>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/kernel/kernel.h"
#include "core/language/composite.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "cpu/runtime/cpu_device.h"

namespace pumice::cpu {
namespace {

template <class T> void check(const pumice::Device& d, const char* machine) {
    const auto k = kernel("strided", [](InOut<T> some, Out<T> all, In<T> from) {
        auto i = global_index();
        auto a = from[3 * i], b = from[3 * i + 1], c = from[3 * i + 2];
        some[5 * i + 1] = a + c, some[5 * i + 3] = b;
        all[4 * i] = c, all[4 * i + 1] = a, all[4 * i + 2] = from[6 * i], all[4 * i + 3] = b;
    });
    for (const int n : {1, 3, 4, 5, 8, 9, 31, 64, 77, 300}) {
        std::vector<T> from(static_cast<size_t>(6 * n)), some(static_cast<size_t>(5 * n - 1), T(7)),
            all(static_cast<size_t>(4 * n));
        for (size_t i = 0; i < from.size(); ++i) from[i] = T(i % 60);
        Array<T> s = d.upload(some), a = d.upload(all);
        k(ndrange(n), s, a, d.upload(from));
        for (size_t i = 0; i < size_t(n); ++i) {
            some[5 * i + 1] = T(from[3 * i] + from[3 * i + 2]), some[5 * i + 3] = from[3 * i + 1];
            all[4 * i] = from[3 * i + 2], all[4 * i + 1] = from[3 * i], all[4 * i + 2] = from[6 * i],
                    all[4 * i + 3] = from[3 * i + 1];
        }
        EXPECT_EQ(s.download(), some) << n << " items on " << machine;
        EXPECT_EQ(a.download(), all) << n << " items on " << machine;
    }
}

TEST(InterleavedGroup, UsesOnlyInstructionsOfTheTarget) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    if (native_width(host_machine()) < 8) GTEST_SKIP() << "SKIPPED: this machine has no AVX2";
    struct Older {
        const char *name, *features;
        int width;
    };
    for (const Older& o : {Older{"x86-64", "+sse2", 4}, Older{"x86-64-v3", "+sse2,+sse4.1,+avx,+avx2,+fma", 4},
                           Older{"x86-64-v3", "+sse2,+sse4.1,+avx,+avx2,+fma", 8}}) {
        const Machine machine{host_machine().triple, o.name, o.features};
        const pumice::Device d(std::make_shared<cpu::CpuDevice>(o.width, 1, false, machine));
        check<float>(d, o.name), check<double>(d, o.name), check<uint8_t>(d, o.name), check<int16_t>(d, o.name);
    }
}

}  // namespace
}  // namespace pumice::cpu
