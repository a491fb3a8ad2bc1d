// Kernels with groups and barriers: batches of small problems, one a group.
#include <cmath>
#include <numbers>

#include "bench/corpus/groups.h"
#include "bench/corpus/groups_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- tridiagonal: many systems of 128 rows, each by parallel cyclic reduction in local memory ----
constexpr int system_rows = 128;

const auto cyclic_reduction =
    kernel("tridiagonal", static_group<1, system_rows>,
           [](Out<double, 2> x, In<double, 2> lower, In<double, 2> diagonal, In<double, 2> upper, In<double, 2> right) {
               Local<double, system_rows> a, b, c, d;
               auto [s, i] = global_index<2>();
               Var my_a = lower(s, i), my_b = diagonal(s, i), my_c = upper(s, i), my_d = right(s, i);
               a[i] = my_a, b[i] = my_b, c[i] = my_c, d[i] = my_d;
               synchronize();
               for (int reach = 1; reach < system_rows; reach *= 2) {
                   const auto above = max(i - reach, 0), below = min(i + reach, system_rows - 1);
                   const auto up = select(i >= reach, -my_a / b[above], 0.0),
                              down = select(i < system_rows - reach, -my_c / b[below], 0.0);
                   my_a = up * a[above];
                   my_b += up * c[above] + down * a[below];
                   my_c = down * c[below];
                   my_d += up * d[above] + down * d[below];
                   synchronize();
                   a[i] = my_a, b[i] = my_b, c[i] = my_c, d[i] = my_d;
                   synchronize();
               }
               x(s, i) = my_d / my_b;
           });

Kernel tridiagonal() {
    return compared("tridiagonal", 1e-13, [](auto on, Size size) {
        const int systems = size == Size::test ? 7 : 9000;
        const auto off_diagonal = [&](uint32_t seed) { return uniform<double>(size_t(systems) * system_rows, seed, -1.0, 1.0); };
        const auto matrix = [&](const std::vector<double>& of) { return on.of(of, {systems, system_rows}); };
        const auto lower = matrix(off_diagonal(1)), upper = matrix(off_diagonal(2)), right = matrix(off_diagonal(3)),
                   diagonal = matrix(uniform<double>(size_t(systems) * system_rows, 4, 2.5, 4.0)),
                   x = zeros<double>(on, {systems, system_rows});
        if constexpr (on.ours)
            return side(on.device, results_in(x),
                        [=] { cyclic_reduction(ndrange(systems, system_rows), x, lower, diagonal, upper, right); });
        else
            return side(results_in(x), [=] { openmp::tridiagonal(x, lower, diagonal, upper, right, systems, system_rows); });
    });
}

// ---- fft_256: many transforms of 256 complex numbers in double, each by Stockham's steps of radix 4 in local memory ----
constexpr int points = 256, quarter = points / 4;

Val<double2> product(const Val<double2>& a, const Val<double2>& b) {
    return Val<double2>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

const auto fft = kernel("fft_256", static_group<1, quarter>, [](Out<double2, 2> out, In<double2, 2> in, In<double2> roots) {
    Local<double2, points> one, other;
    auto [t, l] = global_index<2>();
    for (int k = 0; k < 4; ++k) one[l + k * quarter] = in(t, l + k * quarter);
    synchronize();
    Local<double2, points>*from = &one, *to = &other;
    for (int stride = 1; stride < points; stride *= 4) {
        const auto a = (*from)[l], b = (*from)[l + quarter], c = (*from)[l + 2 * quarter], d = (*from)[l + 3 * quarter];
        const auto p = l / stride, place = l % stride + 4 * stride * p;
        const auto sum = a + c, minus = a - c, odd = b + d;
        const auto turned = Val<double2>(b.y - d.y, d.x - b.x);  // -i (b - d)
        (*to)[place] = sum + odd;
        (*to)[place + stride] = product(minus + turned, roots[p * stride]);
        (*to)[place + 2 * stride] = product(sum - odd, roots[2 * p * stride]);
        (*to)[place + 3 * stride] = product(minus - turned, roots[3 * p * stride]);
        synchronize();
        std::swap(from, to);
    }
    for (int k = 0; k < 4; ++k) out(t, l + k * quarter) = (*from)[l + k * quarter];
});

Kernel fft_256() {
    return compared("fft_256", 1e-13, [](auto on, Size size) {
        const int count = size == Size::test ? 5 : 6000;
        const auto host_roots = [&] {
            std::vector<double> all;
            for (int k = 0; k < points; ++k) {
                const double angle = -2 * std::numbers::pi * k / points;
                all.push_back(std::cos(angle));
                all.push_back(std::sin(angle));
            }
            return all;
        };
        const auto input = [&] { return uniform<double>(size_t(count) * points * 2, 1, -1.0, 1.0); };
        if constexpr (on.ours) {
            const auto complex = [](const std::vector<double>& parts) {
                std::vector<double2> all;
                for (size_t k = 0; k < parts.size(); k += 2) all.push_back({parts[k], parts[k + 1]});
                return all;
            };
            const auto in = on.of(complex(input()), {count, points}), out = zeros<double2>(on, {count, points});
            const auto roots = on.of(complex(host_roots()));
            return side(on.device, results_in(out), [=] { fft(ndrange(count, quarter), out, in, roots); });
        } else {
            const auto in = on.of(input()), out = zeros<double>(on, int64_t(in.size())), roots = on.of(host_roots());
            return side(results_in(out), [=] { openmp::fft_256(out, in, roots, count); });
        }
    });
}

// ---- softmax: the softmax of each row, one group a row ----
constexpr int row_items = 128;

const auto softmax_rows = kernel("softmax", static_group<1, row_items>, [](InOut<float, 2> y, In<float, 2> x) {
    auto [i, l] = global_index<2>();
    const auto columns = x.size(1);
    Var largest = x(i, min(l, columns - 1));
    $for(j, range(l, columns, row_items)) { largest = max(largest, x(i, j)); }
    const auto most = group::reduce_max(largest);
    Var sum = 0.0f;
    $for(j, range(l, columns, row_items)) {
        const auto e = exp(x(i, j) - most);
        y(i, j) = e;
        sum += e;
    }
    const auto scale = 1.0f / group::reduce_add(sum);
    $for(j, range(l, columns, row_items)) { y(i, j) = y(i, j) * scale; }
});

Kernel softmax() {
    return compared("softmax", 1e-7, [](auto on, Size size) {
        const int rows = size == Size::test ? 9 : 4000, columns = size == Size::test ? 301 : 1500;
        const auto x = on.of(uniform<float>(size_t(rows) * size_t(columns), 1, -8.0f, 8.0f), {rows, columns}),
                   y = zeros<float>(on, {rows, columns});
        if constexpr (on.ours)
            return side(on.device, results_in(y), [=] { softmax_rows(ndrange(rows, row_items), y, x); });
        else
            return side(results_in(y), [=] { openmp::softmax(y, x, rows, columns); });
    });
}

}  // namespace

std::vector<Kernel> batches() { return {tridiagonal(), fft_256(), softmax()}; }

}  // namespace bench::corpus
