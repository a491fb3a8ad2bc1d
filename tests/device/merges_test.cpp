// The bits of two values merged by a mask and its complement, chosen by a condition. LLVM makes one masked instruction of this
// for AVX-512, and up to version 22 takes its operands in the wrong order (llvm-project issue 157929).
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

constexpr int n = 64;

template <class T> std::vector<T> values(uint64_t seed) {
    rng::Splittable random(seed);
    std::vector<T> all(n);
    for (T& x : all) x = T(random.next());
    return all;
}

/// Compares the device's f(x, z, w) for each item with the interpreter's.
template <class T, class F> void compare(const std::string& name, const F& f) {
    const auto k = kernel(name, [&](Out<T> y, In<T> x, In<T> z, In<float> w) {
        auto i = global_index();
        y[i] = f(x[i], z[i], w[i]);
    });
    const std::vector<T> x = values<T>(1), z = values<T>(2);
    std::vector<float> w(n);
    for (int i = 0; i < n; ++i) w[size_t(i)] = float(i * 7 % 13 - 6);
    const auto run = [&](const Device& on) {
        Array<T> y = on.zeros<T>(n);
        k(ndrange(n).group(16), y, on.upload(x), on.upload(z), on.upload(w));
        return y.download();
    };
    EXPECT_EQ(run(device()), run(Device::open("interp"))) << name;
}

/// All kinds: the value under the mask, the value where the condition is false, and the operands of the condition vary.
template <class T> void compare_all(const std::string& type, T mask) {
    for (const bool first : {false, true})
        for (const bool other : {false, true})
            for (const int condition : {0, 1, 2, 3})
                for (const bool inverse : {false, true})
                    compare<T>(text("merge_", type, "_", int(first), int(other), condition, int(inverse)),
                               [&](Val<T> x, Val<T> z, Val<float> w) {
                                   const Val<T> a = first ? x : z, b = first ? z : x, none = other ? x : z;
                                   const Val<T> merged = (a & mask) | (b & T(~mask));
                                   const Val<bool> chosen = condition == 0   ? w > 0.0f
                                                            : condition == 1 ? x > T(0)
                                                            : condition == 2 ? cast<T>(w) < z
                                                                             : (local_index() & 7) < 1;  // known lanes
                                   return inverse ? select(chosen, none, merged) : select(chosen, merged, none);
                               });
}

TEST(MaskedMerges, Of32Bits) {
    compare_all<int32_t>("i32", 0x7fffffff);
    compare_all<uint32_t>("u32", 0x00ff00ff);
}

TEST(MaskedMerges, Of64Bits) { compare_all<int64_t>("i64", 0x7fffffffffffffff); }

TEST(MaskedMerges, OfShortIntegers) {
    if (!device().supports(Feature::int16)) GTEST_SKIP() << "SKIPPED: " << device().name() << " has no 16-bit integers";
    compare_all<int16_t>("i16", 0x7fff);
}

/// A merge of the loop's counter with an argument, selected by a condition on memory, beside a merge of what the loop leaves
/// unchanged.
TEST(MaskedMerges, OfLoopCounters) {
    const auto k =
        kernel("merged_counter", static_group<33>, Math::strict, [](In<int> x, InOut<float4> y, Out<bool> z, Val<int> a) {
            auto i = global_index();
            const Val<bool> below = 1.5f > y[i].x;
            Var<float> sum = 0.0f;
            const Var<int> first = x[1];
            $for(c, range(4)) {
                Var<int> turn = 0;
                $while(i >= ((first & 255) | (a & -256) | select(below, (c & INT32_MAX) | (a & INT32_MIN), c)) && turn < 4) {
                    sum -= 1.5f;
                    turn += 1;
                };
            };
            z[i] = below;
            y[i].y = select(abs(sum) >= 0.0625f && abs(sum) <= 4096.0f, sum, 1.5f);
        });
    for (const int first : {40, 57, 60, 62})
        for (const float threshold : {0.0f, 2.0f}) {
            const auto run = [&](const Device& on) {
                Array<float4> y = on.full<float4>(n, float4{threshold, 0, 0, 0});
                k(ndrange(n), on.upload<int>({0, first}), y, on.full<bool>(n, false), 13);
                return y.download();
            };
            const std::vector<float4> got = run(device()), want = run(Device::open("interp"));
            for (size_t i = 0; i < size_t(n); ++i) EXPECT_EQ(got[i].y, want[i].y) << first << ", " << threshold << ", item " << i;
        }
}

TEST(MaskedMerges, CopiedSigns) {
    for (const bool in_branch : {false, true})
        for (const bool from_local : {false, true}) {
            const auto k = kernel(text("signs_", int(in_branch), int(from_local)), [&](Out<float> y, In<float> x, In<float> z) {
                Local<float, 16> shared;
                auto i = global_index(), l = local_index();
                shared[l] = x[i];
                synchronize();
                const Val<float> a = from_local ? Val<float>(shared[3]) : Val<float>(x[i]);  // the same for all items of a group
                const Val<float> b = z[i];
                if (in_branch) {
                    Var<float> r = a;
                    $if(!isnan(a)) { r = copysign(atan(b * b), a); };
                    y[i] = r;
                } else {
                    y[i] = select(a > 0.0f, b, copysign(b, a)) + atan(a);
                }
            });
            std::vector<float> x(n), z(n);
            for (int i = 0; i < n; ++i)
                x[size_t(i)] = float(i * 7 % 13 - 6) * 0.37f + 0.11f,
                z[size_t(i)] = float(i * 5 % 11 - 5) * 1.7f + 0.3f;  // none is 0, where signs have no derivative
            const auto run = [&](const Device& on) {
                Array<float> y = on.zeros<float>(n);
                k(ndrange(n).group(16), y, on.upload(x), on.upload(z));
                return y.download();
            };
            const std::vector<float> got = run(device()), want = run(Device::open("interp"));
            for (size_t i = 0; i < size_t(n); ++i) EXPECT_NEAR(got[i], want[i], 1e-5f * std::max(1.0f, std::abs(want[i]))) << i;
        }
}

}  // namespace
