// Gradients of recurrences along the rows of a system and of steps in time.
#include "bench/corpus/gradients.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- tridiagonal: Thomas's elimination, an item a system; derivatives in the coefficients and the right-hand side ----
constexpr int rows = 64;
const auto thomas =
    kernel("thomas", [](Out<double, 2> x, In<double, 2> lower, In<double, 2> diagonal, In<double, 2> upper, In<double, 2> rhs) {
        auto s = global_index();
        Private<double, rows> factor, value;
        auto first = 1.0 / diagonal(0, s);
        Var c = upper(0, s) * first, v = rhs(0, s) * first;
        factor[0] = c, value[0] = v;
        $for(k, range(1, rows)) {
            auto pivot = 1.0 / (diagonal(k, s) - lower(k, s) * c);
            c = upper(k, s) * pivot;
            v = (rhs(k, s) - lower(k, s) * v) * pivot;
            factor[k] = c, value[k] = v;
        }
        x(rows - 1, s) = v;
        $for(back, range(1, rows)) {
            auto k = rows - 1 - back;
            v = value[k] - factor[k] * v;
            x(k, s) = v;
        }
    });
/// With the same factors l solves the transposed system, whose right-hand side is dx; the matrix's derivative is -l x^T.
const auto thomas_by_hand = kernel(
    "thomas_by_hand", [](InOut<double, 2> dx, In<double, 2> lower, In<double, 2> diagonal, In<double, 2> upper, In<double, 2> rhs,
                         InOut<double, 2> dlower, InOut<double, 2> ddiagonal, InOut<double, 2> dupper, InOut<double, 2> drhs) {
        auto s = global_index();
        Private<double, rows> factor, pivots, value, x;
        auto first = 1.0 / diagonal(0, s);
        Var c = upper(0, s) * first, v = rhs(0, s) * first, z = dx(0, s);
        factor[0] = c, pivots[0] = first, x[0] = v, value[0] = z;
        dx(0, s) = 0.0;
        $for(k, range(1, rows)) {
            z = dx(k, s) - c * z;
            value[k] = z;
            dx(k, s) = 0.0;
            auto pivot = 1.0 / (diagonal(k, s) - lower(k, s) * c);
            c = upper(k, s) * pivot;
            v = (rhs(k, s) - lower(k, s) * v) * pivot;
            factor[k] = c, pivots[k] = pivot, x[k] = v;
        }
        constexpr int last = rows - 1;
        Var own = x[last], l = value[last] * pivots[last];
        ddiagonal(last, s) -= l * own, drhs(last, s) += l;
        $for(back, range(1, rows)) {
            auto k = last - back;
            const Val<double> own_below = own, l_below = l;
            own = x[k] - factor[k] * own_below;
            l = (value[k] - lower(k + 1, s) * l_below) * pivots[k];
            dlower(k + 1, s) -= l_below * own, dupper(k, s) -= l * own_below;
            ddiagonal(k, s) -= l * own, drhs(k, s) += l;
        }
    });

Gradient tridiagonal() {
    return {"tridiagonal", 1e-10, [](const Device& d, Size size) {
                const int n = size == Size::test ? 45 : 12001;
                const size_t count = size_t(rows) * size_t(n);
                std::vector<Array<double, 2>> in, din;
                for (uint32_t k = 0; k < 4; ++k) {
                    in.push_back(d.upload(uniform<double>(count, k + 1, k == 1 ? 2.5 : -1, k == 1 ? 3.5 : 1), {rows, n}));
                    din.push_back(d.zeros<double>({rows, n}));
                }
                const Array<double, 2> x = d.zeros<double>({rows, n}), dx = d.zeros<double>({rows, n}),
                                       seeds = d.upload(uniform<double>(count, 5, -1, 1), {rows, n});
                return sides(
                    d, results_in(dx, din),
                    [=] {
                        for (const auto& g : din) g.fill(0);
                        dx.copy_from(seeds);
                    },
                    [=] { thomas(ndrange(n), x, in[0], in[1], in[2], in[3]); },
                    [=] {
                        autodiff(Reverse, thomas, ndrange(n), DuplicatedNoNeed(x, dx), Duplicated(in[0], din[0]),
                                 Duplicated(in[1], din[1]), Duplicated(in[2], din[2]), Duplicated(in[3], din[3]));
                    },
                    [=] { thomas_by_hand(ndrange(n), dx, in[0], in[1], in[2], in[3], din[0], din[1], din[2], din[3]); });
            }};
}

// ---- lorenz: 50 steps of Runge and Kutta's method, an item a trajectory; derivatives in the start and in a parameter ----
constexpr int steps = 50;
constexpr double h = 0.005, sigma = 10, beta = 8.0 / 3;
struct Point {
    Val<double> x, y, z;
};
Point slope(const Point& p, Val<double> rho) { return {sigma * (p.y - p.x), p.x * (rho - p.z) - p.y, p.x * p.y - beta * p.z}; }
Point ahead(const Point& p, double by, const Point& k) { return {p.x + by * k.x, p.y + by * k.y, p.z + by * k.z}; }
Point times(double by, const Point& p) { return {by * p.x, by * p.y, by * p.z}; }
struct Stages {
    Point k1, p2, k2, p3, k3, p4;
};
Stages stages(const Point& p, Val<double> rho) {
    const Point k1 = slope(p, rho), p2 = ahead(p, 0.5 * h, k1), k2 = slope(p2, rho), p3 = ahead(p, 0.5 * h, k2),
                k3 = slope(p3, rho);
    return {k1, p2, k2, p3, k3, ahead(p, h, k3)};
}
Point next_point(const Point& p, Val<double> rho) {
    const Stages s = stages(p, rho);
    return ahead(ahead(ahead(ahead(p, h / 6, s.k1), h / 3, s.k2), h / 3, s.k3), h / 6, slope(s.p4, rho));
}
const auto lorenz_steps = kernel("lorenz_steps", [](Out<double> to_x, Out<double> to_y, Out<double> to_z, In<double> from_x,
                                                    In<double> from_y, In<double> from_z, In<double> rhos) {
    auto i = global_index();
    auto rho = rhos[i];
    Var x = from_x[i], y = from_y[i], z = from_z[i];
    $for(s, range(steps)) {
        (void)s;
        const Point p = next_point({x, y, z}, rho);
        x = p.x, y = p.y, z = p.z;
    }
    to_x[i] = x, to_y[i] = y, to_z[i] = z;
});
/// The transposed derivative of `slope` at p times g.
Point slope_adjoint(const Point& p, Val<double> rho, const Point& g) {
    return {(rho - p.z) * g.y - sigma * g.x + p.y * g.z, sigma * g.x - g.y + p.x * g.z, -(p.x * g.y) - beta * g.z};
}
/// Keeps the states; the reverse sweep computes the stages of each step again.
const auto lorenz_by_hand = kernel("lorenz_by_hand", [](InOut<double> gx, InOut<double> gy, InOut<double> gz, In<double> from_x,
                                                        In<double> from_y, In<double> from_z, In<double> rhos, InOut<double> dx,
                                                        InOut<double> dy, InOut<double> dz, InOut<double> drho) {
    auto i = global_index();
    auto rho = rhos[i];
    Private<double, steps> xs, ys, zs;
    Var x = from_x[i], y = from_y[i], z = from_z[i], a = gx[i], b = gy[i], c = gz[i], by_rho = 0.0;
    $for(s, range(steps)) {
        xs[s] = x, ys[s] = y, zs[s] = z;
        const Point p = next_point({x, y, z}, rho);
        x = p.x, y = p.y, z = p.z;
    }
    $for(t, range(steps)) {
        auto s = steps - 1 - t;
        const Point p{xs[s], ys[s], zs[s]}, g{a, b, c};
        const Stages at = stages(p, rho);
        const Point g4 = times(h / 6, g), b4 = slope_adjoint(at.p4, rho, g4);
        const Point g3 = ahead(times(h / 3, g), h, b4), b3 = slope_adjoint(at.p3, rho, g3);
        const Point g2 = ahead(times(h / 3, g), 0.5 * h, b3), b2 = slope_adjoint(at.p2, rho, g2);
        const Point g1 = ahead(g4, 0.5 * h, b2), b1 = slope_adjoint(p, rho, g1);
        by_rho += p.x * g1.y + at.p2.x * g2.y + at.p3.x * g3.y + at.p4.x * g4.y;
        a = g.x + b1.x + b2.x + b3.x + b4.x, b = g.y + b1.y + b2.y + b3.y + b4.y, c = g.z + b1.z + b2.z + b3.z + b4.z;
    }
    dx[i] += a, dy[i] += b, dz[i] += c, drho[i] += by_rho;
    gx[i] = 0.0, gy[i] = 0.0, gz[i] = 0.0;
});

Gradient lorenz() {
    return {"lorenz", 1e-10, [](const Device& d, Size size) {
                const int n = size == Size::test ? 45 : 32001;
                std::vector<Array<double>> from, to, dfrom, dto, seeds;
                for (uint32_t k = 0; k < 4; ++k) {
                    from.push_back(d.upload(uniform<double>(size_t(n), k + 1, k == 3 ? 20 : -10, k == 3 ? 30 : 10)));
                    seeds.push_back(d.upload(uniform<double>(size_t(n), k + 5, -1, 1)));
                    for (auto* all : {&to, &dfrom, &dto}) all->push_back(d.zeros<double>(n));
                }
                return sides(
                    d, results_in(dfrom, dto),
                    [=] {
                        for (const auto& g : dfrom) g.fill(0);
                        for (size_t k = 0; k < 3; ++k) dto[k].copy_from(seeds[k]);
                    },
                    [=] { lorenz_steps(ndrange(n), to[0], to[1], to[2], from[0], from[1], from[2], from[3]); },
                    [=] {
                        autodiff(Reverse, lorenz_steps, ndrange(n), DuplicatedNoNeed(to[0], dto[0]),
                                 DuplicatedNoNeed(to[1], dto[1]), DuplicatedNoNeed(to[2], dto[2]), Duplicated(from[0], dfrom[0]),
                                 Duplicated(from[1], dfrom[1]), Duplicated(from[2], dfrom[2]), Duplicated(from[3], dfrom[3]));
                    },
                    [=] {
                        lorenz_by_hand(ndrange(n), dto[0], dto[1], dto[2], from[0], from[1], from[2], from[3], dfrom[0], dfrom[1],
                                       dfrom[2], dfrom[3]);
                    });
            }};
}

}  // namespace

std::vector<Gradient> gradients_of_sequences() { return {tridiagonal(), lorenz()}; }

}  // namespace bench::corpus
