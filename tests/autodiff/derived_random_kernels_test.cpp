// Random differentiable kernels on the device under test: forward mode against central differences (kernels of double alone,
// which odd seeds make where the device has it), and reverse mode against forward mode: whole, for a batch of three, and in
// halves whose tape is used twice.
#include <cmath>

#include "autodiff/reverse/random_kernel.h"
#include "tests/autodiff/derivatives.h"
#include "tests/fuzz/seeds.h"

using namespace pumice;
using suite::device;
using suite::dot;
using suite::numbers;

namespace {

template <class T> class RandomKernel {
public:
    explicit RandomKernel(uint32_t seed) : seed(seed), kernel(parse_ir(text_of(seed))) {}

    void check() {
        for (int a = 0; a < 3; ++a) host.push_back(numbers<T>(extents[a], 10 * seed + uint32_t(a)));
        for (int a = 0; a < 3; ++a) tangents.push_back(numbers<T>(extents[a], 1000 * seed + uint32_t(a)));
        for (int s = 0; s < 3; ++s)
            for (int a = 0; a < 3; ++a) seeds[s].push_back(numbers<T>(extents[a], 77 * seed + uint32_t(10 * s + a)));
        std::vector<Array<T>> now = arrays(host), moved = arrays(tangents);
        autodiff(Forward, kernel, range, Duplicated(now[0], moved[0]), Duplicated(now[1], moved[1]), Duplicated(T(0.7), T(1)),
                 Duplicated(now[2], moved[2]), Const(2));
        for (const Array<T>& m : moved) after.push_back(m.download());
        if (std::is_same_v<T, double>) expect_differences();

        std::vector<Array<T>> x = arrays(host), a = arrays(seeds[0]), b = arrays(seeds[1]), c = arrays(seeds[2]);
        const auto [whole] = autodiff(Reverse, kernel, range, Duplicated(x[0], a[0]), Duplicated(x[1], a[1]), Active(T(0.7)),
                                      Duplicated(x[2], a[2]), Const(2));
        expect(a, whole, 0, "reverse");
        x = arrays(host), a = arrays(seeds[0]);
        const auto [each] =
            autodiff(Reverse, kernel, range, BatchDuplicated(x[0], {a[0], b[0], c[0]}), BatchDuplicated(x[1], {a[1], b[1], c[1]}),
                     Active(T(0.7)), BatchDuplicated(x[2], {a[2], b[2], c[2]}), Const(2));
        expect(a, each[0], 0, "batch");
        expect(b, each[1], 1, "batch");
        expect(c, each[2], 2, "batch");
        x = arrays(host), a = arrays(seeds[0]), b = arrays(seeds[1]);
        const auto annotated = [&](const std::vector<Array<T>>& shadows, const auto& call, const auto&... more) {
            return call(Duplicated(x[0], shadows[0]), Duplicated(x[1], shadows[1]), Active(T(0.7)), Duplicated(x[2], shadows[2]),
                        Const(2), more...);
        };
        const auto [forward, reverse] = autodiff_split(kernel, range, Duplicated(x[0], a[0]), Duplicated(x[1], a[1]),
                                                       Active(T(0.7)), Duplicated(x[2], a[2]), Const(2));
        const Tape tape = annotated(a, forward);
        for (Array<T>& array : x) array.fill(T(1e6));
        const auto [once] = annotated(a, reverse, tape);
        const auto [again] = annotated(b, reverse, tape);
        expect(a, once, 0, "in halves");
        expect(b, again, 1, "in halves, the second time");
    }

private:
    static std::string text_of(uint32_t seed) {
        std::string text = derive::test::Generator(seed, true).kernel();
        if (std::is_same_v<T, float>)
            for (size_t at = 0; (at = text.find("f64", at)) != std::string::npos;) text.replace(at, 3, "f32");
        return text;
    }
    std::vector<Array<T>> arrays(const std::vector<std::vector<T>>& from) const {
        return {device().upload(from[0]), device().upload(from[1]), device().upload(from[2])};
    }
    std::vector<std::vector<T>> primal(double step) const {
        std::vector<std::vector<T>> at = host;
        for (int a = 0; a < 3; ++a)
            for (size_t i = 0; i < at[a].size(); ++i) at[a][i] = T(at[a][i] + step * tangents[a][i]);
        std::vector<Array<T>> now = arrays(at);
        kernel(range, now[0], now[1], T(0.7 + step), now[2], 2);
        for (int a = 0; a < 3; ++a) at[a] = now[a].download();
        return at;
    }
    void expect_differences() const {
        const double h = 1e-6;
        const auto above = primal(h), below = primal(-h);
        for (int a = 0; a < 3; ++a)
            for (size_t i = 0; i < above[a].size(); ++i) {
                const double difference = (above[a][i] - below[a][i]) / (2 * h);
                EXPECT_NEAR(after[a][i], difference, 1e-5 * std::max({1.0, std::abs(difference), std::abs(double(above[a][i]))}))
                    << "array " << a << ", " << i;
            }
    }
    void expect(const std::vector<Array<T>>& adjoints, T scalar, int s, const char* how) const {
        double want = 0, got = double(scalar), scale = std::abs(got) + 1e-3;
        for (int a = 0; a < 3; ++a)
            want += dot(seeds[s][a], after[a], &scale), got += dot(adjoints[a].download(), tangents[a], &scale);
        EXPECT_NEAR(got, want, (std::is_same_v<T, float> ? 2e-5 : 1e-11) * scale) << how << ", direction " << s;
    }

    static constexpr int64_t extents[] = {80, 64, 4};
    const uint32_t seed;
    const AnyKernel kernel;
    const Range range = ndrange(19).group(8);
    std::vector<std::vector<T>> host, tangents, seeds[3], after;
};

TEST(AutodiffFuzz, RandomKernels) {
    fuzz::each_seed(24, [](uint64_t seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        if (device().supports(Feature::float64) && seed % 2)
            RandomKernel<double>(uint32_t(seed)).check();
        else
            RandomKernel<float>(uint32_t(seed)).check();
    });
}

}  // namespace
