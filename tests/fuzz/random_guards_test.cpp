// Random guards: kernels whose effects are under comparisons of the item's indices, beside the same comparisons on the host. Sums
// wrap round, rows begin anywhere, and guards are nested, negated, or return.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <random>

#include "tests/fuzz/seeds.h"
#include "tests/kept_device.h"

using namespace pumice;

namespace {

int wrapped(int64_t v) { return int(uint32_t(uint64_t(v))); }

/// `sign * j + by_row * i + more`, compared with a limit.
struct Term {
    int sign, by_row, more;
    int how;  ///< < <= > >= == !=
    enum { constant, row, number, loaded } limit;
    int value;  ///< added to the limit

    template <class Index, class Limits> auto holds(const Index& i, const Index& j, const Index& n, const Limits& limits) const {
        const auto x = sign > 0 ? j + by_row * i + more : by_row * i + more - j;
        const auto to = limit == constant ? 0 * n + value
                        : limit == row    ? i + value
                        : limit == number ? n + value
                                          : limits[i] + value;
        switch (how) {
            case 0: return x < to;
            case 1: return x <= to;
            case 2: return x > to;
            case 3: return to <= x;
            case 4: return x == to;
            default: return x != to;
        }
    }
    bool on_host(int i, int j, int n, const std::vector<int>& limits) const {
        const int x = wrapped(int64_t(sign) * j + int64_t(by_row) * i + more);
        const int to = wrapped(int64_t(value) + (limit == row      ? i
                                                 : limit == number ? n
                                                 : limit == loaded ? limits[size_t(i)]
                                                                   : 0));
        const bool all[] = {x<to, x <= to, x> to, x >= to, x == to, x != to};
        return all[how];
    }
};

enum class Form { both, nested, returns, neither, otherwise, after, count };

template <class T> void compare(const Device& device, uint64_t seeds) {
    fuzz::each_seed(seeds, [&](uint64_t seed) {
        std::mt19937_64 random(seed * 7919);
        const auto roll = [&](int n) { return int(random() % uint64_t(n)); };
        const int rows = roll(3) ? 3 + roll(5) : 130, columns = 1 + roll(roll(2) ? 40 : 700), n = roll(columns + 1);
        std::vector<int> limits;
        for (int i = 0; i < rows; ++i) limits.push_back(roll(columns + 9) - 4);
        const auto term = [&] {
            Term t{roll(4) ? 1 : -1, roll(3) - 1, roll(9) - 4, roll(6), decltype(Term::limit)(roll(4)), roll(9) - 4};
            if (t.limit == Term::constant) t.value = roll(columns + 1);
            if (roll(5) == 0) t.more = (roll(2) ? INT32_MAX : INT32_MIN + columns) - roll(columns + 1);
            if (roll(8) == 0) t.value = roll(2) ? INT32_MAX - roll(3) : INT32_MIN + roll(3);
            if (t.sign < 0) t.more = wrapped(int64_t(t.more) + columns);
            return t;
        };
        const Term a = term(), b = term();
        const Form form = Form(roll(int(Form::count)));
        const int first_row = roll(rows), first = roll(columns);
        const auto k = kernel("guards", [=](InOut<T, 2> out, In<int> in, Val<int> number) {
            auto [i, j] = global_index<2>();
            const Val<int> row = i, column = j, count = number;
            const auto p = a.holds(row, column, count, in), q = b.holds(row, column, count, in);
            const auto act = [&] { out(row, column) = cast<T>(7 * row + column); };
            switch (form) {
                case Form::both: $if(p && q) { act();
                    }
                    break;
                case Form::nested:
                    $if(p) {
                        $if(q) { act(); }
                    }
                    break;
                case Form::returns: $if(p) { $return;
                    }
                    $if(q) { act(); }
                    break;
                case Form::neither: $if(!(p || q)) { act();
                    }
                    break;
                case Form::otherwise: $if(p) { act();
                    }
                    $else { out(row, column) = T(3); }
                    break;
                default: $if(p && q) { act();
                    }
                    out(row, column) += T(1);
            }
        });
        const Array<T, 2> out = device.zeros<T>({rows, columns});
        k(ndrange({first_row, first}, {rows, columns}), out, device.upload(limits), n);
        const std::vector<T> got = out.download();
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j) {
                const bool p = a.on_host(i, j, n, limits), q = b.on_host(i, j, n, limits);
                const bool acts = form == Form::returns     ? !p && q
                                  : form == Form::neither   ? !p && !q
                                  : form == Form::otherwise ? p
                                                            : p && q;
                int want = acts ? 7 * i + j : form == Form::otherwise ? 3 : 0;
                if (form == Form::after) ++want;
                if (i < first_row || j < first) want = 0;
                ASSERT_EQ(got[size_t(i) * size_t(columns) + size_t(j)], T(want))
                    << "seed " << seed << ", item " << i << ", " << j << " of " << rows << " x " << columns << ", form "
                    << int(form);
            }
    });
}

TEST(RandomGuards, AreThoseOfTheHost) { compare<int>(kept_device->get(), 60); }

// Such kernels have wide packets.
TEST(RandomGuards, OfBytesAreThoseOfTheHost) {
    const Device device = kept_device->get();
    if (!device.supports(Feature::int8)) GTEST_SKIP() << "SKIPPED: " << device.name() << " has no bytes";
    compare<uint8_t>(device, 30);
}

}  // namespace
