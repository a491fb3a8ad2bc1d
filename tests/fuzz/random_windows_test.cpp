// Random windows: items add up elements around their own in loops whose bounds depend on the item or not, at indices that are
// clamped, wrapped round, or kept inside by the bounds themselves, beside the same on the host.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <algorithm>
#include <random>

#include "tests/fuzz/seeds.h"
#include "tests/kept_device.h"

using namespace pumice;

namespace {

/// A number that a kernel and the host compute alike.
struct Bound {
    enum { constant, argument, of_item, least, most, clamped, loaded, forms } form;
    int more, factor, limit;

    template <class I, class Numbers> auto of(const I& i, const I& n, const Numbers& numbers) const {
        const auto low = [](const auto& a, const auto& b) { return select_less(a, b, a, b); };
        const auto high = [](const auto& a, const auto& b) { return select_less(a, b, b, a); };
        const I zero = i * 0;
        const I moved = i * factor + more, end = zero + limit;
        switch (form) {
            case constant: return I(zero + more);
            case argument: return I(n + more);
            case of_item: return I(moved);
            case least: return I(low(moved, end));
            case most: return I(high(moved, end));
            case clamped: return I(high(low(moved, end), I(zero - 1)));
            default: return I(numbers(i) + more);
        }
    }

    static int select_less(int a, int b, int yes, int no) { return a < b ? yes : no; }
    static Val<int> select_less(const Val<int>& a, const Val<int>& b, const Val<int>& yes, const Val<int>& no) {
        return select(a < b, yes, no);
    }
};

/// An index from the item's, `by_item` times, and the counter's, `by_counter` times, brought into 0 .. size - 1.
struct Place {
    int by_item, by_counter, more;
    enum { clamp_both, min_then_max, clamp_sum, wrap, guarded, forms } form;

    int inside(int x, int size) const {
        if (form == wrap) return ((x % size) + size) % size;
        return std::clamp(x, 0, size - 1);
    }
};

struct Window {
    Bound from, to;
    Place first, second;
    int step;
    bool two;
};

TEST(RandomWindows, AreThoseOfTheHost) {
    const Device& device = kept_device->get();
    fuzz::each_seed(device.name() == "interp" ? 40 : 120, [&](uint64_t seed) {
        std::mt19937_64 random(seed * 8191);
        const auto roll = [&](int n) { return int(random() % uint64_t(n)); };
        const int size = 1 + roll(roll(2) ? 40 : 400), n = roll(9);
        const auto bound = [&](int around) {
            return Bound{decltype(Bound::form)(roll(Bound::forms)), around + roll(5) - 2, roll(4) ? 1 : roll(3), 1 + roll(9)};
        };
        const auto place = [&] {
            return Place{roll(5) ? 1 : roll(3), roll(3) - 1, roll(7) - 3, decltype(Place::form)(roll(Place::forms))};
        };
        const Window w{bound(0), bound(4), place(), place(), roll(4) ? 1 : 2, roll(2) == 0};
        std::vector<int> x, numbers;
        for (int i = 0; i < size; ++i) x.push_back(roll(1000)), numbers.push_back(roll(6));

        const auto k = kernel("random_window", [&](Out<int> y, In<int> x, In<int> numbers, Val<int> n) {
            const Val<int> i = global_index();
            const auto taken = [&](const Place& p, const Val<int>& c, Var<int>& sum) {
                const Val<int> at = i * p.by_item + c * p.by_counter + p.more;
                switch (p.form) {
                    case Place::clamp_both: sum += x[clamp(at, 0, size - 1)]; break;
                    case Place::min_then_max: sum += x[max(min(at, size - 1), 0)]; break;
                    case Place::clamp_sum: sum += x[clamp(i * p.by_item + p.more + c * p.by_counter, 0, x.size(0) - 1)]; break;
                    case Place::wrap: sum += x[(at % size + size) % size]; break;
                    default: $if(at >= 0 && at < size) { sum += x[at];
                        }
                        $else { sum += x[select(at < 0, Val<int>(0), Val<int>(size - 1))]; }
                }
            };
            const auto number = [&](const Val<int>& of) { return Val<int>(numbers[of]); };
            Var<int> sum = 0;
            $for(c, range(w.from.of(i, n, number), min(w.to.of(i, n, number), w.from.of(i, n, number) + 12), w.step)) {
                taken(w.first, c, sum);
                if (w.two) taken(w.second, c, sum);
            }
            y[i] = sum;
        });
        const Array<int> y = device.zeros<int>(size);
        k(ndrange(size), y, device.upload(x), device.upload(numbers), n);
        std::vector<int> wanted;
        for (int i = 0; i < size; ++i) {
            const auto number = [&](int of) { return numbers[size_t(of)]; };
            const int from = w.from.of(i, n, number), to = std::min(w.to.of(i, n, number), from + 12);
            int sum = 0;
            for (int c = from; c < to; c += w.step) {
                const auto taken = [&](const Place& p) {
                    sum += x[size_t(p.inside(i * p.by_item + c * p.by_counter + p.more, size))];
                };
                taken(w.first);
                if (w.two) taken(w.second);
            }
            wanted.push_back(sum);
        }
        ASSERT_EQ(y.download(), wanted) << "PUMICE_FUZZ_SEED=" << seed << ": " << size << " elements\n" << k.ir();
    });
}

}  // namespace
