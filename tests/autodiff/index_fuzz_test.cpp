// Random indices that wrap: casts to 8 and 16 bits, products, shifts and masks of 32 and 64 bits. Items that are far apart may
// then reach one element, to which the reverse sweep must not add plainly. The derivatives of each kernel pass the checks of
// derivatives.h on the device under test, and agree with those of the interpreter.
#include <cmath>
#include <cstdio>
#include <random>

#include "tests/autodiff/derivatives.h"
#include "tests/device/types.h"
#include "tests/fuzz/seeds.h"

using namespace pumice;
using suite::dot;
using suite::numbers;

namespace {

constexpr int size_of_x = 300;

bool has_narrow_types() {
    const Device device = suite::device();
    return device.supports(Feature::int8) && device.supports(Feature::int16) && device.supports(Feature::int64);
}

class Wrapping {
public:
    explicit Wrapping(uint64_t seed) : random(seed * 2654435761u + 5), seed(seed) {
        items = int(roll(3) ? 1 + roll(700) : 1030 + roll(200));
        fixed = roll(4) == 0;
        how = random();
        const auto body = [this](InOut<float> y, In<float> x, In<float> w) { record(y, x, w); };
        const std::string name = text("wrapping_", seed);
        if (fixed)
            kernel.emplace(pumice::kernel(name, static_range<900>, body)), items = 900;
        else
            kernel.emplace(pumice::kernel(name, body));
    }

    void check() {
        SCOPED_TRACE(text("PUMICE_FUZZ_SEED=", seed, " over ", items, " items\n", kernel->ir()));
        const Device device = suite::device();
        const auto array = [&](const Device& on, int64_t n, uint64_t which) {
            Array<float> a(on, {n}, false);
            a.copy_from(numbers<float>(n, seed * 16 + which));
            return a;
        };
        suite::expect_derivatives(*kernel, ndrange(items), array(device, items, 0), array(device, size_of_x, 1),
                                  array(device, items, 2));
        const auto gradient = [&](const Device& on) {
            const Array<float> dx = array(on, size_of_x, 3), dw = array(on, items, 4);
            autodiff(Reverse, *kernel, ndrange(items), Duplicated(array(on, items, 0), array(on, items, 5)),
                     Duplicated(array(on, size_of_x, 1), dx), Duplicated(array(on, items, 2), dw));
            std::vector<float> all = dx.download();
            for (const float v : dw.download()) all.push_back(v);
            return all;
        };
        const std::vector<float> got = gradient(device), want = gradient(Device::open("interp"));
        for (size_t n = 0; n < want.size(); ++n)
            ASSERT_NEAR(got[n], want[n], 2e-4f * std::max(1.0f, std::abs(want[n])))
                << "of " << (n < size_of_x ? "x" : "w") << ", number " << n;
    }

private:
    uint64_t roll(uint64_t n) { return random() % n; }
    int constant() {
        switch (roll(4)) {
            case 0: return int(roll(9)) - 4;
            case 1: return 1 << roll(31);
            case 2: return int(random());
            default: return (roll(2) ? 1 : 3) << roll(10);
        }
    }

    /// A random integer of any type that depends on the item's index.
    Val<int> through_types(const Val<int>& i) {
        switch (narrow ? roll(9) : 8) {
            case 0: return cast<int>(cast<uint8_t>(i));
            case 1: return cast<int>(cast<int8_t>(i));
            case 2: return cast<int>(cast<uint16_t>(i));
            case 3: return cast<int>(cast<int16_t>(i));
            case 4: return cast<int>(cast<uint8_t>(i) * uint8_t(random()) + uint8_t(roll(3)));
            case 5: return cast<int>(cast<int64_t>(i) * (int64_t(constant()) << roll(40)));
            case 6: return cast<int>((cast<uint64_t>(i) << unsigned(roll(64))) >> unsigned(roll(64)));
            case 7: return cast<int>(cast<uint16_t>(i) << uint16_t(roll(16)));
            default: return cast<int>(cast<uint32_t>(i) * uint32_t(constant()));
        }
    }
    Val<int> step(const Val<int>& i) {
        switch (roll(9)) {
            case 0: return i + constant();
            case 1: return constant() - i;
            case 2: return i << int(roll(32));
            case 3: return i >> int(roll(32));
            case 4: return i & constant();
            case 5: return i * constant();
            case 6: return -i;
            default: return through_types(i);
        }
    }

    Val<int> walk(const Val<int>& i, uint64_t steps) { return steps == 0 ? i : walk(step(i), steps - 1); }

    void record(const InOut<float>& y, const In<float>& x, const In<float>& w) {
        random.seed(how);
        const Val<int> i = global_index();
        Var<float> sum = 0.25f * y[i];
        for (uint64_t n = 1 + roll(3); n > 0; --n) {
            const auto term = [&](const Val<int>& at) {
                const Val<float> v = x[at];
                return roll(2) ? w[i] * sin(v) : v * v;
            };
            const Val<int> at = walk(i, roll(5));
            switch (narrow ? roll(5) : 4) {
                case 0: sum += term(cast<int>(cast<uint8_t>(at))); break;
                case 1: sum += term(cast<int>(cast<int8_t>(at)) + 128 + int(roll(30))); break;
                case 2: {
                    const int columns = 1 + int(roll(6));
                    const Val<int> row = cast<int>(cast<uint8_t>(at)) >> 3;
                    $for(k, range(columns)) { sum += 0.1f * x[row * columns + k] * x[row * columns + k]; }
                    break;
                }
                default: $if(at >= 0 && at < size_of_x) { sum += term(at);
                    }
            }
        }
        y[i] = sum;
    }

    std::mt19937_64 random;
    const uint64_t seed;
    uint64_t how = 0;
    int items = 0;
    bool fixed = false;
    const bool narrow = has_narrow_types();
    std::optional<Kernel<InOut<float>, In<float>, In<float>>> kernel;
};

TEST(Autodiff, random_indices_that_wrap) {
    fuzz::each_seed(16, [](uint64_t seed) { Wrapping(seed).check(); });
}

/// `items` items read elements of x by the index, and the sum of the derivatives is the number of items.
template <class Index> void expect_counts(const char* name, int items, int elements, Index index) {
    const Device device = suite::device();
    const auto squares = kernel(name, [&](Out<float> y, In<float> x) {
        auto i = global_index();
        const Val<int> j = index(i);
        y[i] = x[j] * x[j];
    });
    const Array<float> y = device.zeros<float>(items), dy = device.full<float>(items, 1.0f);
    const Array<float> x = device.full<float>(elements, 0.5f), dx = device.zeros<float>(elements);
    autodiff(Reverse, squares, ndrange(items), Duplicated(y, dy), Duplicated(x, dx));
    float all = 0;
    for (const float g : dx.download()) all += g;
    EXPECT_EQ(all, float(items)) << name;
}

TEST(Autodiff, items_whose_wrapped_indices_meet_all_add) {
    if (has_narrow_types()) {
        expect_counts("of_bytes", 1000, 256, [](auto i) { return cast<int>(cast<uint8_t>(i * 64)); });
        expect_counts("of_shorts", 1000, 65536, [](auto i) { return cast<int>(cast<uint16_t>(i << 12)); });
        expect_counts("of_signed_bytes", 1000, 256, [](auto i) { return cast<int>(cast<int8_t>(i)) + 128; });
        expect_counts("of_wide_products", 1000, 8, [](auto i) { return cast<int>(cast<int64_t>(i) * (int64_t(1) << 32)) + 3; });
        expect_counts("of_narrow_sums", 1000, 256, [](auto i) { return cast<int>(cast<uint8_t>(i) + uint8_t(3)); });
    } else {
        std::puts("SKIPPED: integers of 8, 16 and 64 bits, which the device has not");
    }
    // In a product of 32 bits, every 256th item reads the same element.
    const Device device = suite::device();
    const auto far = kernel("far_apart", [](Out<float> y, In<float> x) {
        auto i = global_index();
        y[i] = 0.0f;
        $if(i % 256 == 0) {
            auto j = i * (1 << 24) + 2;
            y[i] = x[j] * x[j];
        }
    });
    const auto gradient = [&](const auto& kernel, int items) {
        const Array<float> y = device.zeros<float>(items), dy = device.full<float>(items, 1.0f);
        const Array<float> x = device.full<float>(4, 0.5f), dx = device.zeros<float>(4);
        autodiff(Reverse, kernel, ndrange(items), Duplicated(y, dy), Duplicated(x, dx));
        return dx.download();
    };
    EXPECT_EQ(gradient(far, 4096), (std::vector<float>{0, 0, 16, 0}));
    // Strides at which items meet only in large launches.
    const auto rarely = kernel("rarely", [](Out<float> y, In<float> x) {
        auto i = global_index();
        y[i] = 0.0f;
        $if(i % (1 << 20) == 0) {
            auto j = i * (1 << 12) + 1;
            y[i] = x[j] * x[j];
        }
    });
    EXPECT_EQ(gradient(rarely, 4096), (std::vector<float>{0, 1, 0, 0}));
    EXPECT_EQ(gradient(rarely, (1 << 20) + 1), (std::vector<float>{0, 2, 0, 0}));
    EXPECT_EQ(gradient(rarely, 4096), (std::vector<float>{0, 1, 0, 0}));
}

}  // namespace
