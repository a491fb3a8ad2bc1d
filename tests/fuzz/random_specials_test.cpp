// Random arithmetic of infinities, NaN and signed zeros, beside the interpreter. Constants flow through variables, selections,
// branches and loops of fixed length, where the compiler of a driver may know a value that Pumice does not.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/fuzz/seeds.h"
#include "tests/kept_device.h"

using namespace pumice;

namespace {

constexpr int steps = 8;  ///< results of an item

template <class T> std::vector<T> specials() {
    using limits = std::numeric_limits<T>;
    return {T(0), -T(0), limits::infinity(), -limits::infinity(), limits::quiet_NaN(), T(1), T(-3), T(0.5), T(2)};
}

/// A kernel without branches in its own text: the seed decides what is recorded.
template <class T> class Recorder {
public:
    Recorder(uint64_t seed) : random(seed * 3571) {}

    void record(const Out<T>& y, const In<T>& x, const In<int>& n) {
        const auto i = global_index();
        const Val<int> number = n[i];
        values.push_back(x[2 * i]);
        values.push_back(x[2 * i + 1]);
        for (int step = 0; step < steps; ++step) {
            values.push_back(next(number));
            y[steps * i + step] = values.back();
        }
    }

private:
    int roll(int n) { return int(random() % uint64_t(n)); }
    Val<T> operand() {
        constexpr int constants[] = {0, 0, 1, -1, 2};
        return roll(4) ? values[size_t(roll(int(values.size())))] : Val<T>(T(constants[roll(5)]));
    }
    Val<T> combined(const Val<T>& a) { return combined(a, operand()); }
    Val<T> combined(const Val<T>& a, const Val<T>& b) {
        switch (roll(6)) {
            case 0: return a + b;
            case 1: return a - b;
            case 2:
            case 3: return a * b;
            case 4: return fma(a, b, operand());
            default: return a / b;
        }
    }
    /// Always the same, but not for one who reads it instruction by instruction.
    Val<bool> condition(const Val<int>& number) {
        const Val<T> a = operand();
        switch (roll(5)) {
            case 0: return a < a;
            case 1: return number != number + 0;
            case 2: return (number & 1) > 1;
            case 3: return number == 3;
            default: return a <= operand();
        }
    }
    Val<T> next(const Val<int>& number) {
        switch (roll(6)) {
            case 0: {
                const Val<bool> chosen = condition(number);
                const Val<T> a = operand(), b = operand();
                return select(chosen, a, b);
            }
            case 1: {
                Var<T> changed = operand();
                $if(condition(number)) { changed = combined(changed); }
                return changed;
            }
            case 2: {
                Var<T> carried = operand();
                $for(j, range(0, 1 + roll(4))) { carried = combined(carried); }
                return carried;
            }
            case 3: {
                Var<T> carried = operand();
                const Val<T> a = operand();
                $for(j, range(0, 1 + roll(3))) { carried = combined(carried + a, cast<T>(j)); }
                return carried;
            }
            default: return combined(operand());
        }
    }

    std::mt19937_64 random;
    std::vector<Val<T>> values;
};

template <class T, class Bits> void compare(const Device& device, uint64_t seeds) {
    const Device interpreter = Device::open("interp");
    const std::vector<T> all = specials<T>();
    std::vector<T> x;
    std::vector<int> n;
    for (const T a : all)
        for (const T b : all) x.push_back(a), x.push_back(b), n.push_back(int(n.size() % 5));
    fuzz::each_seed(seeds, [&](uint64_t seed) {
        const auto k =
            kernel("specials", Math::strict, [seed](Out<T> y, In<T> x, In<int> n) { Recorder<T>(seed).record(y, x, n); });
        const auto run = [&](const Device& on) {
            const Array<T> y = on.zeros<T>(steps * int64_t(n.size()));
            k(ndrange(int64_t(n.size())), y, on.upload(x), on.upload(n));
            return y.download();
        };
        const std::vector<T> got = run(device), want = run(interpreter);
        for (size_t i = 0; i < got.size(); ++i) {
            if (std::isnan(got[i]) && std::isnan(want[i])) continue;
            ASSERT_EQ(std::bit_cast<Bits>(got[i]), std::bit_cast<Bits>(want[i]))
                << "PUMICE_FUZZ_SEED=" << seed << ": result " << i % steps << " of x[0] = " << x[i / steps * 2]
                << ", x[1] = " << x[i / steps * 2 + 1] << ", n = " << n[i / steps] << " is " << got[i] << ", and " << want[i]
                << " by the interpreter\n"
                << k.ir();
        }
    });
}

TEST(RandomSpecials, AreThoseOfTheInterpreter) { compare<float, uint32_t>(kept_device->get(), 60); }

TEST(RandomSpecials, OfDoublesAreThoseOfTheInterpreter) {
    const Device device = kept_device->get();
    if (!device.supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: " << device.name() << " has no doubles";
    compare<double, uint64_t>(device, 30);
}

}  // namespace
