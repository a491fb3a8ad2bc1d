// Reverse mode through private memory: arrays that are filled once and read later, filled again by each iteration of a loop,
// filled in part, under conditions or in place. Where the sweep can have the contents again it tapes nothing, and everywhere it
// must be right.
#include <random>

#include "tests/autodiff/derivatives.h"
#include "tests/fuzz/seeds.h"

using namespace pumice;
using suite::expect_derivatives;
using suite::numbers;

namespace {

Array<float> array(int64_t n, uint64_t seed, double low = -1, double high = 1) {
    return suite::device().upload(numbers<float>(n, seed, low, high));
}
Array<float, 2> matrix(int64_t rows, int64_t columns, uint64_t seed) {
    return suite::device().upload(numbers<float>(rows * columns, seed), {rows, columns});
}

TEST(AutodiffPrivate, FilledAgainByEachIteration) {
    const auto k = kernel("filled_again", [](Out<float> y, In<float, 2> x, In<float, 2> means, In<float> scales) {
        auto i = global_index();
        Private<float, 5> centred;
        Var sum = 0.0f;
        $for(c, range(3)) {
            $for(d, range(5)) { centred[d] = x(i, d) - means(c, d); }
            $for(d, range(5)) {
                Var v = 0.0f;
                $for(e, range(d + 1)) { v += scales[d + e] * centred[e]; }
                sum += sin(v) * centred[d];
            }
        }
        y[i] = sum;
    });
    expect_derivatives(k, ndrange(7), array(7, 1), matrix(7, 5, 2), matrix(3, 5, 3), array(10, 4));
}

TEST(AutodiffPrivate, LeftAsItWas) {
    const auto k = kernel("left", [](Out<float> y, In<float, 2> x, In<float> w) {
        auto i = global_index();
        Private<float, 6> terms;
        Var most = -10.0f, sum = 0.0f;
        $for(c, range(6)) {
            const Val<float> term = x(i, c) * w[c] * x(i, c);
            terms[c] = term;
            most = max(most, term);
        }
        $for(c, range(6)) { sum += exp(terms[c] - most); }
        y[i] = most + log(sum);
    });
    expect_derivatives(k, ndrange(9), array(9, 1), matrix(9, 6, 2), array(6, 3, 0.5, 2));
}

/// All items add to the same elements of w, in a loop that reads what the items have left in private memory, or fill there.
TEST(AutodiffPrivate, BesideSumsOfAllItems) {
    const auto left = kernel("left_beside", [](Out<float> y, In<float, 2> x, In<float> w) {
        auto i = global_index();
        Private<float, 8> p;
        $for(c, range(8)) { p[c] = sin(x(i, c)); }
        Var sum = 0.0f;
        $for(c, range(8)) { sum += p[c] * w[c] * w[c]; }
        y[i] = sum;
    });
    const auto filled = kernel("filled_beside", [](Out<float> y, In<float, 2> x, In<float> w) {
        auto i = global_index();
        Private<float, 3> p;
        Var sum = 0.0f;
        $for(c, range(8)) {
            $for(d, range(3)) { p[d] = x(i, c) * x(i, d); }
            Var part = 0.0f;
            $for(d, range(3)) { part += p[d] * p[d]; }
            sum += part * w[c] * w[c];
        }
        y[i] = sum;
    });
    for (const int64_t items : {5, 700}) {
        expect_derivatives(left, ndrange(items), array(items, 1), matrix(items, 8, 2), array(8, 3));
        expect_derivatives(filled, ndrange(items), array(items, 1), matrix(items, 8, 2), array(8, 3));
        for (const auto& k : {left, filled}) {  // private memory without derivatives
            const GradientCheck found =
                check_gradient(k, ndrange(items), array(items, 1), Const(matrix(items, 8, 2)), array(8, 3));
            EXPECT_TRUE(found) << k.name() << ": " << found.text();
        }
    }
}

/// Contents that an iteration reads and an earlier one has written, at places that change from iteration to iteration.
TEST(AutodiffPrivate, FilledAtPlacesThatMove) {
    const auto k = kernel("moving", [](Out<float> y, In<float, 2> x, In<float> w) {
        auto i = global_index();
        Private<float, 4> p;
        $for(d, range(4)) { p[d] = x(i, d) * x(i, d); }
        Var sum = 0.0f;
        $for(c, range(4)) {
            $for(d, range(c + 1)) { p[d] = w[c] * x(i, d); }
            $for(d, range(4)) { sum += p[d] * p[d] * w[d]; }
        }
        y[i] = sum + p[0] * p[3];
    });
    expect_derivatives(k, ndrange(6), array(6, 1), matrix(6, 4, 2), array(4, 3));
}

TEST(AutodiffPrivate, ReadBeforeItIsFilledAgain) {
    const auto k = kernel("read_first", [](Out<float> y, In<float, 2> x, In<float> w) {
        auto i = global_index();
        Private<float, 3> p;
        $for(d, range(3)) { p[d] = x(i, d); }
        Var sum = 0.0f;
        $for(c, range(4)) {
            $for(d, range(3)) { sum += p[d] * p[d] * w[c]; }
            $for(d, range(3)) { p[d] = sin(x(i, d) * w[c]); }
        }
        y[i] = sum;
    });
    expect_derivatives(k, ndrange(5), array(5, 1), matrix(5, 3, 2), array(4, 3));
}

/// An iteration reads what it has written and what the one before has; the first one writes both.
TEST(AutodiffPrivate, ARingOfTwo) {
    const auto k = kernel("ring", [](Out<float> y, In<float, 2> x, In<float> w) {
        auto i = global_index();
        Private<float, 2> ring;
        Var sum = 0.0f;
        $for(c, range(5)) {
            $for(d, range(2 - min(c, 1))) { ring[(c + d) % 2] = x(i, c) * w[c + d]; }
            $for(d, range(2)) { sum += ring[d] * ring[1 - d] * w[c]; }
        }
        y[i] = sum;
    });
    expect_derivatives(k, ndrange(4), array(4, 1), matrix(4, 5, 2), array(6, 3));
}

TEST(AutodiffPrivate, AnotherLoopAround) {
    const auto k = kernel("three_deep", [](Out<float> y, In<float, 2> x, In<float> w) {
        auto i = global_index();
        Private<float, 3> p, q;
        Var sum = 0.0f;
        $for(a, range(2)) {
            $for(d, range(3)) { q[d] = x(i, d) * w[a]; }
            $for(c, range(3)) {
                $for(d, range(3)) { p[d] = x(i, d) * w[c + a]; }
                $for(d, range(3)) { sum += p[d] * p[d] * q[d] + sin(p[d]) * sum * 0.1f; }
            }
        }
        y[i] = sum;
    });
    expect_derivatives(k, ndrange(5), array(5, 1), matrix(5, 3, 2), array(4, 3));
}

/// Random sequences of fills and reads, inside of a loop and after it.
class Stages {
public:
    explicit Stages(uint64_t seed) : seed(seed) {}

    void check() {
        const auto made = kernel(text("stages_", seed), [this](Out<float> y, In<float, 2> x, In<float> w) { record(y, x, w); });
        SCOPED_TRACE(text("PUMICE_FUZZ_SEED=", seed, "\n", made.ir()));
        expect_derivatives(made, ndrange(5), array(5, seed), matrix(5, size, seed + 1), array(8, seed + 2));
        // So many items that sums over them have kernels of their own, and private memory without derivatives.
        const GradientCheck found =
            check_gradient(made, ndrange(300), array(300, seed), Const(matrix(300, size, seed + 1)), array(8, seed + 2));
        EXPECT_TRUE(found) << found.text();
    }

private:
    static constexpr int size = 4;
    uint64_t roll(uint64_t n) { return random() % n; }

    void record(const Out<float>& y, const In<float, 2>& x, const In<float>& w) {
        random.seed(seed * 2654435761u + 5);
        const Val<int> i = global_index();
        Private<float, size> p, q;
        Var<float> sum = 0.0f;
        const auto value = [&](const Val<int>& d, const Val<int>& c) -> Val<float> {
            switch (roll(4)) {
                case 0: return x(i, d) * w[c];
                case 1: return sin(x(i, d) + w[c]);
                case 2: return x(i, d) - w[d];
                default: return w[c + d] * x(i, d) * x(i, d);
            }
        };
        const auto fill = [&](Private<float, size>& m, const Val<int>& c) {
            switch (roll(7)) {
                case 0: m[c] = value(c, c); break;
                case 1: $for(d, range(c, size)) { m[d] = value(d, c);
                    }
                    break;
                case 2: $for(d, range(2)) { m[d] = value(d, c);
                    }
                    break;
                case 3:
                    $for(d, range(size)) {
                        $if((d + i) % 3 != 0) { m[d] = value(d, c); }
                    }
                    break;
                case 4: $for(d, range(size)) { m[d] += 0.5f * value(d, c);
                    }
                    break;
                default: $for(d, range(size)) { m[d] = value(d, c);
                    }
            }
        };
        const auto read = [&](Private<float, size>& m, const Val<int>& c) {
            switch (roll(4)) {
                case 0: sum += m[c] * m[c]; break;
                case 1: $for(d, range(size)) { sum += m[d] * w[c] * m[size - 1 - d];
                    }
                    break;
                case 2: $for(d, range(c + 1)) { sum += sin(m[d]) * 0.5f;
                    }
                    break;
                default: $for(d, range(size)) { sum = sum * 0.9f + m[d] * m[d];
                    }
            }
        };
        $for(d, range(size)) {
            p[d] = value(d, d);
            q[d] = value(d, 0);
        }
        // Filled in the loop alone: all of it, or one element after the first iteration.
        Private<float, size> r;
        const bool all = roll(2) != 0;
        const uint64_t how = roll(3);
        const auto any = [&]() -> Private<float, size>& { return roll(2) ? p : q; };
        $for(c, range(3)) {
            $for(d, range(all ? Val<int>(int(size)) : select(c == 0, int(size), 1))) {
                const Val<int> at = all ? Val<int>(d) : (c + d) % size;
                r[at] = how == 0 ? x(i, d) * w[c] : how == 1 ? x(i, d) - w[c] : sin(x(i, d) * w[c + d]);
            }
            read(r, c);
            for (uint64_t stages = 2 + roll(3); stages > 0; --stages) roll(2) ? fill(any(), c) : read(any(), c);
            if (roll(3) == 0) {
                $for(b, range(2)) { fill(p, b), read(any(), c); }
            }
        }
        if (roll(2)) fill(any(), 1);
        read(p, 2), read(q, 3);
        y[i] = sum;
    }

    std::mt19937_64 random;
    const uint64_t seed;
};

TEST(AutodiffPrivate, RandomFillsAndReads) {
    fuzz::each_seed(8, [](uint64_t seed) { Stages(seed).check(); });
}

}  // namespace
