// Random kernels in which every item loops over the same parameters, in one or two loops. The derivative on the device under
// test, under Math::contract, is compared twice: reverse mode with forward mode (by dot products), and the adjoints with those of
// the interpreter under Math::strict. A strict kernel keeps the plain adjoint: no sums over items become loops of partial sums
// (autodiff/strategy/loop_partial_sums.cpp).
#include <cmath>
#include <random>

#include "tests/autodiff/derivatives.h"
#include "tests/fuzz/seeds.h"

using namespace pumice;
using suite::dot;
using suite::numbers;

namespace {

class Loops {
public:
    using Made = Kernel<InOut<float>, In<float, 2>, In<float>, In<float, 2>, In<float>, Val<int>, Val<int>, Val<float>>;

    explicit Loops(uint64_t seed) : random(seed * 2654435761u + 17), seed(seed) {
        static constexpr int sizes[] = {1, 255, 256, 257, 300, 640, 1500}, counts[] = {1, 2, 3, 8, 17, 40};
        items = sizes[roll(7)], count = counts[roll(6)];
        begin = roll(4) == 0, from = roll(4) == 0 ? int(roll(uint64_t(items))) : 0;
        points = roll(4) == 0, in_place = roll(4) == 0, grouped = roll(3) == 0;
        how = random();
    }

    void check() {
        const Found got = run(suite::device(), Math::contract), want = run(Device::open("interp"), Math::strict);
        EXPECT_NEAR(got.forwards, got.backwards, 3e-5 * got.scale + 1e-6) << told() << "forward and reverse mode";
        for (size_t n = 0; n < want.shadows.size() && !testing::Test::HasFailure(); ++n) {
            double most = 1;
            for (const float w : want.shadows[n]) most = std::max(most, double(std::abs(w)));
            for (size_t i = 0; i < want.shadows[n].size() && !testing::Test::HasFailure(); ++i)
                EXPECT_NEAR(got.shadows[n][i], want.shadows[n][i], 1e-4 * most + 1e-6 * items)
                    << told() << "element " << i << " of shadow " << n;
        }
    }

private:
    struct Found {
        std::vector<std::vector<float>> shadows;
        double forwards = 0, backwards = 0, scale = 1e-6;
    };
    uint64_t roll(uint64_t n) { return random() % n; }
    std::string told() const {
        return text("PUMICE_FUZZ_SEED=", seed, ", ", items, " items, ", count, " iterations\n", made ? made->ir() : "", "\n");
    }

    /// y: one element an item. x: a row of three an item. a, p: one element, or a row of three, an iteration. q: three elements.
    void record(const InOut<float>& y, const In<float, 2>& x, const In<float>& a, const In<float, 2>& p, const In<float>& q,
                Val<int> first, Val<int> past, Val<float> c) {
        random.seed(how);
        const Val<int> i = global_index();
        const auto point = [&] { return x(i, int(roll(3))); };
        const uint64_t before_loops = roll(4);
        Var<float> ahead = before_loops == 0               ? Val<float>(c)
                           : before_loops == 1             ? point() * q[int(roll(3))]
                           : before_loops == 2 && in_place ? y[i] + 0.0f
                                                           : sin(point());
        std::vector<Val<float>> results;
        for (uint64_t loops = 1 + roll(2); loops > 0; --loops) {
            Var<float> sum = 0.0f, most = -1.0f;
            const bool max_too = roll(3) == 0;
            $for(k, range(first, past)) {
                const auto parameter = [&]() -> Val<float> {
                    switch (roll(4)) {
                        case 0: return a[k];
                        case 1: return q[int(roll(3))];
                        default: return p(k, int(roll(3)));
                    }
                };
                const auto varying = [&]() -> Val<float> {
                    switch (roll(6)) {
                        case 0: return ahead;
                        case 1: return results.empty() ? point() : results[size_t(roll(results.size()))];
                        case 2: return in_place ? y[i] * 0.5f : point();
                        default: return point();
                    }
                };
                const auto term = [&]() -> Val<float> {
                    const Val<float> v = varying(), w = parameter();
                    switch (roll(11)) {
                        case 0: return v * w;
                        case 1: return v - w;
                        case 2: return exp(-0.5f * (v - w) * (v - w));
                        case 3: return tanh(w * v + parameter());
                        case 4: return v / (w * w + 1.0f);
                        case 5: return (v - w) * (varying() - parameter()) * parameter();
                        case 6: return w * cast<float>(k % 3) * v;
                        case 7: return select(v > w, v * parameter(), w * v);
                        case 8: {
                            Var<float> product = 0.0f;
                            $for(d, range(3)) { product += (p(k, d) - (roll(2) ? v : w)) * x(i, d); }
                            return product;
                        }
                        default: return sin(v * w) * parameter();
                    }
                };
                Var<float> one = term();
                for (uint64_t n = roll(4); n > 0; --n) one += term();
                switch (roll(5)) {
                    case 0: $if(one > 0.1f) { one *= term();
                        }
                        break;
                    case 1: $if(k % 2 == 0) { one += term();
                        }
                        break;
                    case 2: one *= term(); break;
                    default: break;
                }
                sum += one * (roll(2) ? 0.25f : 1.0f);
                if (max_too) most = max(most, one);
                if (in_place && roll(4) == 0) y[i] += 0.1f * one;
            }
            results.push_back(max_too ? sum * 0.1f - most : sum + 0.0f);
        }
        Var<float> all = results[0];
        for (size_t n = 1; n < results.size(); ++n) all += sin(results[n]);
        if (roll(2)) all = tanh(all * 0.1f);
        if (in_place) all += y[i];
        y[i] = all;
    }

    Found run(const Device& device, Math math) {
        made.emplace(
            pumice::kernel(text("loops_", seed), math,
                           [this](InOut<float> y, In<float, 2> x, In<float> a, In<float, 2> p, In<float> q, Val<int> first,
                                  Val<int> past, Val<float> c) { record(y, x, a, p, q, first, past, c); }));
        const auto field = [&](int64_t n, uint32_t which) {
            return device.upload(numbers<float>(n, uint32_t(seed * 32) + which));
        };
        const auto table = [&](int64_t rows, uint32_t which) { return field(rows * 3, which).reshape({rows, 3}); };
        Range range = ndrange({from}, {items});
        if (grouped) range = range.group(48);
        const float c = 0.9f, moved = 0.7f;
        const Array<float> y = field(items, 0), a = field(count, 1), q = field(3, 2);
        const Array<float, 2> x = table(items, 3), p = table(count, 4);

        const Array<float> ty = field(items, 5), my = ty.clone(), ta = field(count, 6), tq = field(3, 7);
        const Array<float, 2> tx = table(items, 8), tp = table(count, 9);
        const Array<float> sy = field(items, 10), seeds = sy.clone(), sa = field(count, 11), a0 = sa.clone(), sq = field(3, 12),
                           q0 = sq.clone();
        const Array<float, 2> sx = table(items, 13), x0 = sx.clone(), sp = table(count, 14), p0 = sp.clone();
        float dc = 0;
        const auto both = [&](const auto& xs, const auto& xt) {
            autodiff(Forward, *made, range, Duplicated(y.clone(), ty), xt, Duplicated(a, ta), Duplicated(p, tp),
                     Duplicated(q, tq), Const(begin), Const(count), Duplicated(c, moved));
            dc = std::get<0>(autodiff(Reverse, *made, range, DuplicatedNoNeed(y.clone(), sy), xs, Duplicated(a, sa),
                                      Duplicated(p, sp), Duplicated(q, sq), Const(begin), Const(count), Active(c)));
        };
        if (points)
            both(Duplicated(x, sx), Duplicated(x, tx));
        else
            both(Const(x), Const(x));
        Found found;
        const auto take = [&](const auto& shadow, const auto& shadow_before, const auto& tangent) {
            // The shadows had other contents than zero, which are subtracted.
            std::vector<float> got = shadow.download();
            const std::vector<float> had = shadow_before.download();
            for (size_t n = 0; n < got.size(); ++n) got[n] -= had[n];
            found.backwards += dot(got, tangent.download(), &found.scale);
            found.shadows.push_back(std::move(got));
        };
        found.forwards = dot(seeds.download(), ty.download(), &found.scale);
        found.backwards = double(dc) * moved + dot(sy.download(), my.download(), &found.scale);
        take(sa, a0, ta), take(sp, p0, tp), take(sq, q0, tq);
        if (points) take(sx, x0, tx);
        found.shadows.push_back(sy.download());
        found.shadows.push_back({dc});
        return found;
    }

    std::mt19937_64 random;
    const uint64_t seed;
    int items = 0, count = 0, begin = 0, from = 0;
    bool points = false, in_place = false,
         grouped = false;  ///< x is differentiated; y is read, too; groups that do not divide the range
    uint64_t how = 0;
    std::optional<Made> made;
};

TEST(AutodiffFuzz, Loops) {
    fuzz::each_seed(24, [](uint64_t seed) { Loops(seed).check(); });
}

}  // namespace
