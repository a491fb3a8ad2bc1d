// Random programs on the device under test: launches (for odd seeds over indirect ranges), copies, fills, uploads, allocations,
// host steps and gradients inside, on arrays that are reused. Programs of doubles: forward mode against central differences.
// Programs of floats have images as well, and no such comparison. Both: reverse mode against forward mode, with and without
// checkpoints, and for a batch of two seeds without checkpoints.
#include <cmath>
#include <random>

#include "tests/autodiff/derivatives.h"
#include "tests/fuzz/seeds.h"

using namespace pumice;
using suite::device;
using suite::dot;
using suite::numbers;

struct PairOfFloats {
    Array<float> a, b;
    float h;
};
struct PairOfDoubles {
    Array<double> a, b;
    double h;
};
PUMICE_STRUCT(PairOfFloats, a, b, h);
PUMICE_STRUCT(PairOfDoubles, a, b, h);

namespace {

constexpr int n = 8;

/// A random program of three arrays and a number; each mode runs the same program.
template <class T> class RandomProgram {
    using Both = std::conditional_t<std::is_same_v<T, float>, PairOfFloats, PairOfDoubles>;

public:
    explicit RandomProgram(uint32_t seed) : seed(seed) {}

    /// The number is a plain one or a traced one.
    template <class C> void operator()(Array<T>& x, Array<T>& y, Array<T>& z, C c) const {
        std::mt19937 random(seed);
        std::vector<Array<T>> pool{x, y, z, x.clone()};
        constexpr bool floats = std::is_same_v<T, float>;
        Image<float, 1> picture;  // of floats only: no format has doubles
        if constexpr (floats) picture = x.device().template image<float>(Format::r32_float, {n});
        const auto roll = [&](int sides) { return int(random() % uint32_t(sides)); };
        // Odd seeds launch over indirect ranges, whose one array of counts each launch overwrites.
        const Array<int> count = seed % 2 ? x.device().template zeros<int>(1) : Array<int>();
        const auto over = [&](int items) {
            if (seed % 2 == 0) return ndrange(n);
            count.fill(items);
            return indirect(count, n + int(seed % 3));
        };
        for (int step = 6 + roll(10); step > 0; --step) {
            const size_t a = size_t(roll(int(pool.size()))), b = (a + 1 + size_t(roll(int(pool.size()) - 1))) % pool.size();
            const int from = roll(4), kind = roll(floats ? 20 : 15), which = roll(3);
            Array<T>&to = pool[a], &other = pool[b];
            switch (kind) {
                case 0: wave(over(n - from), to, T(0.3)); break;
                case 1: axpy(over(n - from), to, T(0.5) * c, other); break;
                case 2: mix(over(n), to, other); break;
                case 3: total(over(n - from), to, other); break;
                case 4: to.copy_from(other); break;
                case 5: to.slice(from, from + 4).copy_from(other.slice(0, 4)); break;
                case 6: to.view(from % 2, n, 2).copy_from(other.view(0, n, 2)); break;
                case 7: to.slice(0, 5).copy_from(to.slice(from, from + 5)); break;
                case 8: which ? to.slice(from, n).fill(T(0.25)) : to.slice(from, n).fill(c * c); break;
                case 9: to.slice(0, 4).copy_from(std::vector<T>(4, T(0.1) * T(which + 1))); break;
                case 10:
                    pool.push_back(which == 0   ? to.clone()
                                   : which == 1 ? to.device().template zeros<T>(n)
                                                : to.device().template full<T>(n, T(0.7)));
                    break;
                case 11: std::swap(to, other); break;
                case 12: reversed(to, other); break;
                case 13: blend(over(n - from), Both{to, other, T(0.4)}); break;
                case 14: gradient_into(to, other, c, which, over); break;
                default:
                    if constexpr (floats) with_picture(kind - 15, picture, to, c, over(n - from));
            }
            if (pool.size() > 6) pool.erase(pool.begin() + 4);
        }
        axpy(ndrange(n), x, T(0.5), pool.back().clone());
    }

    void check() const {
        const Device d = device();
        const auto all = [&](uint64_t first) {
            return std::array{numbers<T>(n, first), numbers<T>(n, first + 1), numbers<T>(n, first + 2)};
        };
        using Host = std::array<std::vector<T>, 3>;
        const Host start = all(10 * seed), along = all(1000 * seed), seeds[2] = {all(2000 * seed), all(3000 * seed)};
        const T number = T(0.8), move = T(0.6);
        const auto upload = [&](const Host& host) { return std::array{d.upload(host[0]), d.upload(host[1]), d.upload(host[2])}; };
        const auto plain = [&](double h) {
            Host at = start;
            for (size_t a = 0; a < 3; ++a)
                for (size_t i = 0; i < n; ++i) at[a][i] += T(h) * along[a][i];
            std::array now = upload(at);
            (*this)(now[0], now[1], now[2], T(number + T(h) * move));
            return Host{now[0].download(), now[1].download(), now[2].download()};
        };
        const Host want = plain(0);
        const auto expect_primal = [&](const std::array<Array<T>, 3>& now) {
            for (size_t a = 0; a < 3; ++a)
                for (size_t i = 0; i < n; ++i)
                    EXPECT_NEAR(now[a].download()[i], want[a][i], 1e-5 * std::max(1.0, std::abs(double(want[a][i]))));
        };
        std::array now = upload(start), tangents = upload(along);
        autodiff(Forward, *this, Duplicated(now[0], tangents[0]), Duplicated(now[1], tangents[1]),
                 Duplicated(now[2], tangents[2]), Duplicated(number, move));
        expect_primal(now);
        const Host after{tangents[0].download(), tangents[1].download(), tangents[2].download()};
        if constexpr (std::is_same_v<T, double>) {
            const double h = 1e-6;
            const Host above = plain(h), below = plain(-h);
            for (size_t a = 0; a < 3; ++a)
                for (size_t i = 0; i < n; ++i) {
                    const double difference = (above[a][i] - below[a][i]) / (2 * h);
                    EXPECT_NEAR(after[a][i], difference, 1e-6 * std::max(1.0, std::abs(difference)))
                        << "array " << a << ", " << i;
                }
        }
        const auto expect = [&](const std::array<Array<T>, 3>& adjoints, T scalar, int s, const std::string& how) {
            double right = 0, got = double(scalar) * double(move), scale = std::abs(got) + 1e-3;
            for (size_t a = 0; a < 3; ++a)
                right += dot(seeds[s][a], after[a], &scale), got += dot(adjoints[a].download(), along[a], &scale);
            EXPECT_NEAR(got, right, (std::is_same_v<T, float> ? 3e-5 : 1e-12) * scale) << how << ", direction " << s;
        };
        for (const int states : {0, 1, 2, 5}) {
            std::array values = upload(start), first = upload(seeds[0]);
            const auto [dc] = autodiff(states ? Reverse.checkpoints(states) : Reverse, *this, Duplicated(values[0], first[0]),
                                       Duplicated(values[1], first[1]), Duplicated(values[2], first[2]), Active(number));
            expect_primal(values);
            expect(first, dc, 0, text(states, " states"));
        }
        std::array values = upload(start), first = upload(seeds[0]), second = upload(seeds[1]);
        const auto [dc] = autodiff(Reverse, *this, BatchDuplicated(values[0], {first[0], second[0]}),
                                   BatchDuplicated(values[1], {first[1], second[1]}),
                                   BatchDuplicated(values[2], {first[2], second[2]}), Active(number));
        expect(first, dc[0], 0, "batch");
        expect(second, dc[1], 1, "batch");
    }

private:
    template <class C>
    void with_picture(int kind, Image<float, 1>& picture, const Array<float>& to, C c, const Range& range) const {
        switch (kind) {
            case 0: picture.copy_from(to); break;
            case 1: picture.copy_to(to); break;
            case 2: paint(range, picture, c, to); break;
            case 3: look(range, to, texture(picture, {.wrap = Wrap::mirror})); break;
            default:  // the other picture begins as zeros
                if (const auto next = to.device().template image<float>(Format::r32_float, {n}); c > 0.0f) {
                    paint(ndrange(n), next, c, to);
                    picture = next;
                }
        }
    }
    /// Stores a gradient into `to`: a differentiated program inside the program.
    template <class C, class Over>
    void gradient_into(const Array<T>& to, const Array<T>& at, C c, int which, const Over& over) const {
        Array<T> u = at.clone(), du = at.device().template full<T>(n, T(1));
        const auto inner = [&](Array<T>& v) {
            wave(over(n), v, T(0.9));
            axpy(over(n - 2), v, c, v.clone());
            if constexpr (std::is_same_v<T, float>) {
                const auto own = v.device().template image<float>(Format::r32_float, {n});
                own.copy_from(v);
                for (int step = 0; step < which; ++step) paint(ndrange(n), own, 0.5f, v);
                own.copy_to(v);
            }
            wave(ndrange(n), v, T(0.2));
        };
        if (which == 0)
            autodiff(Reverse, inner, Duplicated(u, du));
        else if (which == 1)
            autodiff(Reverse.checkpoints(2), inner, Duplicated(u, du));
        else
            autodiff(Forward, inner, Duplicated(u, du));
        axpy(ndrange(n), to, T(0.3), du);
    }

    const uint32_t seed;
    const Kernel<InOut<T>, Val<T>> wave = kernel("wave", [](InOut<T> a, Val<T> p) {
        auto i = global_index();
        a[i] = sin(a[i]) * (p + a[i]);
    });
    const Kernel<InOut<T>, Val<T>, In<T>> axpy = kernel("axpy", [](InOut<T> y, Val<T> a, In<T> x) {
        auto i = global_index();
        y[i] += a * x[i];
    });
    const Kernel<Out<T>, In<T>> mix = kernel("mix", [](Out<T> next, In<T> now) {
        auto i = global_index();
        next[i] = T(0.5) * now[i] + T(0.5) * sin(now[(i + 1) % now.size()]) * now[i];
    });
    const Kernel<InOut<T>, In<T>> total = kernel("total", [](InOut<T> sum, In<T> a) {
        auto v = sin(a[global_index()]);
        atomic_add(sum[3], T(0.2) * v * v);
    });
    const Kernel<InOut<Both>> blend = kernel("blend", [](InOut<Both> p) {
        auto i = global_index();
        $if(i % 3 != 0) {
            p.a[i] = p.h * p.a[i] + sin(p.b[i]);
            p.b[i] = p.b[i] * p.a[i] * T(0.5);
        }
    });
    const Kernel<InOut<Image<float, 1>>, Val<float>, In<float>> paint =
        kernel("paint", [](InOut<Image<float, 1>> image, Val<float> p, In<float> from) {
            auto i = global_index();
            image(i) = 0.5f * image(i) * image(i) + p * sin(from[i]);
        });
    const Kernel<InOut<float>, In<Texture<float, 1>>> look = kernel("look", [](InOut<float> to, In<Texture<float, 1>> from) {
        auto i = global_index();
        to[i] = 0.5f * to[i] + from.sample(0.11f * to[i] + 0.3f) * from(i);
    });
    static std::vector<T> turned(std::vector<T> v) { return {v.rbegin(), v.rend()}; }
    const HostStep<Array<T>&, const Array<T>&> reversed =
        host_step("reversed", [](Array<T>& to, const Array<T>& from) { to.copy_from(turned(from.download())); })
            .reverse([](const Duplicated<Array<T>>& to, const Duplicated<Array<T>>& from) {
                if (!to.shadow) return;
                const std::vector<T> dto = turned(to.shadow.download());
                to.shadow.fill(T(0));
                if (!from.shadow) return;
                std::vector<T> sum = from.shadow.download();
                for (size_t i = 0; i < n; ++i) sum[i] += dto[i];
                from.shadow.copy_from(sum);
            })
            .forward([](const Duplicated<Array<T>>& to, const Duplicated<Array<T>>& from) {
                if (!to.shadow) return;
                if (from.shadow)
                    to.shadow.copy_from(turned(from.shadow.download()));
                else
                    to.shadow.fill(T(0));
            });
};

TEST(AutodiffFuzz, RandomPrograms) {
    fuzz::each_seed(20, [](uint64_t seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        if (device().supports(Feature::float64) && seed % 3)
            RandomProgram<double>(uint32_t(seed)).check();
        else
            RandomProgram<float>(uint32_t(seed)).check();
    });
}

}  // namespace
