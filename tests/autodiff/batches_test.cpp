// Batches of directions that are split: each direction agrees with a call for it alone, and the primal takes effect once.
#include <cmath>

#include "tests/autodiff/derivatives.h"

using namespace pumice;
using suite::numbers;

namespace {

constexpr int items = 5, directions = 9;

const auto lengthy = kernel("lengthy", [](InOut<float> y, InOut<float> total, In<float> x, Val<float> c) {
    auto i = global_index();
    Var<float> v = y[i];
    for (int n = 0; n < 100; ++n) v = v * c + 0.1f * x[i];
    y[i] += v;
    atomic_add(total[0], y[i]);
});

struct AutodiffBatches : ::testing::Test {
    const Device d = suite::device();
    Array<float> filled(int64_t n, uint64_t seed) const {
        Array<float> a(d, {n}, false);
        a.copy_from(numbers<float>(n, seed));
        return a;
    }
    /// The shadows of the arrays for one direction, in order.
    struct Shadows {
        Array<float> y, total, x;
        std::vector<float> all() const {
            std::vector<float> v = y.download();
            for (const auto& more : {total.download(), x.download()}) v.insert(v.end(), more.begin(), more.end());
            return v;
        }
    };
    Shadows shadows(uint64_t n) const { return {filled(items, 10 * n + 1), filled(1, 10 * n + 2), filled(items, 10 * n + 3)}; }
    static float tangent(size_t n) { return 0.1f * float(n) - 0.3f; }

    template <class Check> void run(bool reverse, Check check) {
        [&]<size_t... N>(std::index_sequence<N...>) {
            const Shadows batch[] = {shadows(N)...};
            const Array<float> y = filled(items, 101), total = filled(1, 102), x = filled(items, 103);
            const Array<float> of_y[] = {batch[N].y...}, of_total[] = {batch[N].total...}, of_x[] = {batch[N].x...};
            const float tangents[] = {tangent(N)...};
            std::array<float, directions> adjoints{};
            if (reverse)
                std::tie(adjoints) = autodiff(Reverse, lengthy, ndrange(items), BatchDuplicated(y, of_y),
                                              BatchDuplicated(total, of_total), BatchDuplicated(x, of_x), Active(0.9f));
            else
                autodiff(Forward, lengthy, ndrange(items), BatchDuplicated(y, of_y), BatchDuplicated(total, of_total),
                         BatchDuplicated(x, of_x), BatchDuplicated(0.9f, tangents));
            for (size_t n = 0; n < directions; ++n) {
                const Shadows one = shadows(n);
                const Array<float> own_y = filled(items, 101), own_total = filled(1, 102);
                float adjoint = 0;
                if (reverse)
                    std::tie(adjoint) = autodiff(Reverse, lengthy, ndrange(items), Duplicated(own_y, one.y),
                                                 Duplicated(own_total, one.total), Duplicated(x, one.x), Active(0.9f));
                else
                    autodiff(Forward, lengthy, ndrange(items), Duplicated(own_y, one.y), Duplicated(own_total, one.total),
                             Duplicated(x, one.x), Duplicated(0.9f, tangents[n]));
                const std::vector<float> got = batch[n].all(), want = one.all();
                for (size_t e = 0; e < want.size(); ++e) check(n, got[e], want[e]);
                check(n, adjoints[n], adjoint);
                for (int e = 0; e < items; ++e) check(n, y.download()[size_t(e)], own_y.download()[size_t(e)]);
                check(n, total.download()[0], own_total.download()[0]);
            }
        }(std::make_index_sequence<directions>());
    }
    static void expect_near(size_t direction, float got, float want) {
        EXPECT_NEAR(got, want, 1e-4f * std::max(1.0f, std::abs(want))) << "direction " << direction;
    }
};

TEST_F(AutodiffBatches, reverse_mode_splits_batches_of_directions) { run(true, expect_near); }
TEST_F(AutodiffBatches, forward_mode_splits_batches_of_directions) { run(false, expect_near); }

}  // namespace
