// Random stencils of one to three dimensions, over whole ranges and interiors, with indices that are plain, clamped, periodic or
// transposed: reverse mode (whole, in halves, and with DuplicatedNoNeed) against forward mode, on the device under test, and both
// against the interpreter.
#include <cmath>
#include <random>

#include "tests/autodiff/derivatives.h"
#include "tests/fuzz/random_indices.h"
#include "tests/fuzz/seeds.h"

using namespace pumice;
using fuzz::at, fuzz::each_dimension, fuzz::own_index;
using suite::dot;
using suite::numbers;

namespace {

template <int R> class Stencil {
public:
    using Index = fuzz::Index<R>;
    using Field = Array<float, R>;

    explicit Stencil(uint64_t seed) : random(seed * 2654435761u + 11), seed(seed) {
        static constexpr int sizes[3][6] = {{1, 5, 17, 64, 130, 257}, {1, 3, 7, 16, 19, 33}, {1, 2, 4, 5, 9, 3}};
        const bool inner = roll(2), square = roll(4) == 0;
        for (size_t d = 0; d < R; ++d) {
            const int n = square && d > 0 ? to[0] - from[0] : sizes[R - 1][roll(6)];
            extents[d] = n + (inner ? 4 : 0);
            from[d] = inner ? 2 : 0;
            to[d] = from[d] + n;
        }
        if (inner && !square && roll(3) == 0) from[0] += to[0] - from[0] > 1;
        how = random();
        grouped = roll(3) == 0;
        kernel.emplace(pumice::kernel(text("stencil_", seed), [this](InOut<float, R> y, InOut<float, R> z, In<float, R> a,
                                                                     In<float, R> b, Val<float> c) { record(y, z, a, b, c); }));
    }

    void check() {
        const Found got = run(suite::device()), want = run(Device::open("interp"));
        EXPECT_NEAR(got.forwards, got.backwards, 2e-5 * got.scale)
            << "PUMICE_FUZZ_SEED=" << seed << ": forward and reverse mode\n"
            << kernel->ir();
        for (size_t n = 0; n < want.arrays.size() && !testing::Test::HasFailure(); ++n)
            for (size_t i = 0; i < want.arrays[n].size(); ++i) {
                const float w = want.arrays[n][i];
                if (std::abs(got.arrays[n][i] - w) <= 2e-4f * std::max(1.0f, std::abs(w))) continue;
                ADD_FAILURE() << "PUMICE_FUZZ_SEED=" << seed << ": element " << i << " of array " << n << " is "
                              << got.arrays[n][i] << ", and the interpreter's " << w << "\n"
                              << kernel->ir();
                break;
            }
    }

private:
    struct Found {
        std::vector<std::vector<float>> arrays;
        double forwards = 0, backwards = 0, scale = 1e-6;
    };
    uint64_t roll(uint64_t n) { return random() % n; }

    Index near(const Index& own, const In<float, R>& array) {
        const uint64_t way = roll(8);
        const bool turned = R >= 2 && extents[0] == extents[1] && roll(10) == 0;
        return each_dimension<R>([&](size_t d) -> Val<int> {
            const size_t s = turned && d < 2 ? 1 - d : d;
            const Val<int> i = own[s];
            const int off = roll(2) ? int(roll(5)) - 2 : 0, n = extents[d];
            if (way < 4 && from[s] + off >= 0 && to[s] + off <= n) return i + off;
            switch (way % 4) {
                case 0: return clamp(i + off, 0, n - 1);
                case 1: return min(max(i + off, 0), n - 1);
                case 2: return (i + (off + 2 * n)) % n;
                default: return max(min(i + off, array.size(int(d)) - 1), 0);
            }
        });
    }

    void record(const InOut<float, R>& y, const InOut<float, R>& z, const In<float, R>& a, const In<float, R>& b, Val<float> c) {
        random.seed(how);
        const Index own = own_index<R>();
        const auto load = [&]() -> Val<float> {
            const In<float, R>& from_array = roll(3) ? a : b;
            return at(from_array, near(own, from_array));
        };
        const auto term = [&]() -> Val<float> {
            const Val<float> v = load();
            switch (roll(7)) {
                case 0: return 0.5f * v;
                case 1: return sin(v);
                case 2: return v * load();
                case 3: return max(v, load());
                case 4: return v / (load() * load() + 1.0f);
                case 5: return exp(-v * v);
                default: return abs(v - 0.3f) * v;
            }
        };
        Var<float> sum = term();
        for (uint64_t n = roll(5); n > 0; --n) sum += term();
        const Val<int> first = own[0], last = own[R - 1];
        switch (roll(6)) {
            case 0: $if(first > from[0] && last < to[R - 1] - 1) { sum += term();
                }
                break;
            case 1: $if(sum > 0.2f) { sum *= term();
                }
                $else { sum += term(); }
                break;
            case 2: sum = select(last % 2 == 0, sum, term()); break;
            case 3: $for(k, range(3)) { sum += 0.1f * cast<float>(k) * term();
                }
                break;
            case 4: $if(first == from[0] + 1) { $return;
                }
                break;
            default: break;
        }
        if (roll(2)) sum *= c;
        if (roll(2)) sum += 0.5f * at(y, own);
        at(y, own) = sum;
        if (roll(2)) at(z, own) += term() * at(y, own);
    }

    Found run(const Device& device) {
        std::array<int64_t, size_t(R)> shape;
        std::copy_n(extents.begin(), R, shape.begin());
        const auto field = [&](uint32_t which) {
            Field f(device, shape, false);
            f.copy_from(numbers<float>(size_t(f.count()), uint32_t(seed * 16) + which));
            return f;
        };
        Range range;
        range.rank = R;
        std::copy_n(from.begin(), R, range.from.begin());
        std::copy_n(to.begin(), R, range.to.begin());
        if (grouped)
            range = [&]<size_t... D>(std::index_sequence<D...>) {
                return range.group((D == R - 1 ? 8 : 2)...);
            }(std::make_index_sequence<R>());
        const Field y = field(0), z = field(1), a = field(2), b = field(3);
        const float c = 0.9f, moved = 0.7f;

        Field t[] = {field(4), field(5), field(6), field(7)};
        const Field moves[] = {t[0].clone(), t[1].clone(), t[2], t[3]};
        autodiff(Forward, *kernel, range, Duplicated(y.clone(), t[0]), Duplicated(z.clone(), t[1]), Duplicated(a, t[2]),
                 Duplicated(b, t[3]), Duplicated(c, moved));

        Field s[] = {field(8), field(9), field(10), field(11)};
        const Field seeds[] = {s[0].clone(), s[1].clone(), s[2].clone(), s[3].clone()};
        const Field yy = y.clone(), zz = z.clone();
        float dc = 0;
        if (seed % 3 == 0) {
            const auto [forward, reverse] = autodiff_split(*kernel, range, Duplicated(yy, s[0]), Duplicated(zz, s[1]),
                                                           Duplicated(a, s[2]), Duplicated(b, s[3]), Active(c));
            const auto tape =
                forward(Duplicated(yy, s[0]), Duplicated(zz, s[1]), Duplicated(a, s[2]), Duplicated(b, s[3]), Active(c));
            dc = std::get<0>(reverse(Duplicated(yy, s[0]), Duplicated(zz, s[1]), Duplicated(a.clone(), s[2]),
                                     Duplicated(b.clone(), s[3]), Active(c), tape));
        } else if (seed % 3 == 1) {
            dc = std::get<0>(autodiff(Reverse, *kernel, range, Duplicated(yy, s[0]), Duplicated(zz, s[1]), Duplicated(a, s[2]),
                                      Duplicated(b, s[3]), Active(c)));
        } else {
            dc = std::get<0>(autodiff(Reverse, *kernel, range, DuplicatedNoNeed(yy, s[0]), DuplicatedNoNeed(zz, s[1]),
                                      Duplicated(a, s[2]), Duplicated(b, s[3]), Active(c)));
        }
        Found found;
        found.backwards = double(dc) * moved;
        for (int n = 0; n < 4; ++n) {
            const std::vector<float> seeded = seeds[n].download(), tangent = t[n].download(), move = moves[n].download(),
                                     shadow = s[n].download();
            found.forwards += dot(seeded, tangent, &found.scale);
            found.backwards += dot(shadow, move, &found.scale);
            found.arrays.push_back(shadow);
            found.arrays.push_back(tangent);
        }
        found.arrays.push_back({dc});
        if (seed % 3 != 2) found.arrays.push_back(yy.download());
        return found;
    }

    std::mt19937_64 random;
    const uint64_t seed;
    std::array<int, 3> extents{}, from{}, to{};
    bool grouped = false;
    uint64_t how = 0;
    std::optional<Kernel<InOut<float, R>, InOut<float, R>, In<float, R>, In<float, R>, Val<float>>> kernel;
};

TEST(AutodiffFuzz, Stencils) {
    fuzz::each_seed(24, [](uint64_t seed) {
        switch (seed % 4) {
            case 0: return Stencil<1>(seed).check();
            case 2: return Stencil<3>(seed).check();
            default: return Stencil<2>(seed).check();
        }
    });
}

}  // namespace
