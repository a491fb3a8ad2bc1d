// Gradients of stencils and of samples of a picture.
#include "bench/corpus/gradients.h"

namespace bench::corpus {
namespace {

using namespace pumice;

/// Numbers at the inner points of a square or a cube, zeros at the others.
template <class T> std::vector<T> inner_weights(int n, int dimensions, uint32_t seed) {
    size_t count = 1;
    for (int d = 0; d < dimensions; ++d) count *= size_t(n);
    std::vector<T> weights = uniform<T>(count, seed);
    for (size_t at = 0; at < count; ++at) {
        size_t rest = at;
        for (int d = 0; d < dimensions; ++d, rest /= size_t(n))
            if (rest % size_t(n) == 0 || rest % size_t(n) == size_t(n) - 1) weights[at] = 0;
    }
    return weights;
}

// ---- jacobi_2d: one step ----
const auto average = kernel("average", [](Out<double, 2> next, In<double, 2> now) {
    auto [i, j] = global_index<2>();
    next(i, j) = 0.2 * (now(i, j) + now(i, j - 1) + now(i, j + 1) + now(i - 1, j) + now(i + 1, j));
});
/// The shadow of `next` is zero outside the inner points, which are the items.
const auto average_by_hand = kernel("average_by_hand", [](In<double, 2> dnext, InOut<double, 2> dnow) {
    auto [i, j] = global_index<2>();
    dnow(i, j) += 0.2 * (dnext(i, j) + dnext(i, j - 1) + dnext(i, j + 1) + dnext(i - 1, j) + dnext(i + 1, j));
});
/// The points of the four edges: each has one inner neighbour.
const auto average_edges_by_hand = kernel("average_edges_by_hand", [](In<double, 2> dnext, InOut<double, 2> dnow) {
    auto k = global_index();
    auto last = dnow.size(0) - 1;
    dnow(0, k) += 0.2 * dnext(1, k), dnow(last, k) += 0.2 * dnext(last - 1, k);
    dnow(k, 0) += 0.2 * dnext(k, 1), dnow(k, last) += 0.2 * dnext(k, last - 1);
});

Gradient jacobi_2d() {
    return {"jacobi_2d", 1e-12, [](const Device& d, Size size) {
                const int n = size == Size::test ? 61 : 1901;
                const size_t count = size_t(n) * size_t(n);
                const Array<double, 2> now = d.upload(uniform<double>(count, 1), {n, n}), next = d.zeros<double>({n, n}),
                                       dnow = d.zeros<double>({n, n}), dnext = d.zeros<double>({n, n}),
                                       seeds = d.upload(inner_weights<double>(n, 2, 2), {n, n});
                const Range inside = ndrange({1, 1}, {n - 1, n - 1});
                return sides(
                    d, results_in(dnow, dnext), [=] { dnow.fill(0), dnext.copy_from(seeds); },
                    [=] { average(inside, next, now); },
                    [=] { autodiff(Reverse, average, inside, DuplicatedNoNeed(next, dnext), Duplicated(now, dnow)); },
                    [=] {
                        average_by_hand(inside, dnext, dnow), average_edges_by_hand(ndrange({1}, {n - 1}), dnext, dnow);
                        dnext.fill(0);
                    });
            }};
}

// ---- heat_3d: one step ----
const auto heat = kernel("heat", [](Out<float, 3> next, In<float, 3> now) {
    auto [i, j, k] = global_index<3>();
    auto t = now(i, j, k);
    next(i, j, k) = t + 0.125f * (now(i + 1, j, k) - 2.0f * t + now(i - 1, j, k)) +
                    0.125f * (now(i, j + 1, k) - 2.0f * t + now(i, j - 1, k)) +
                    0.125f * (now(i, j, k + 1) - 2.0f * t + now(i, j, k - 1));
});
/// The shadow of `next` is zero outside the inner points, which are the items.
const auto heat_by_hand = kernel("heat_by_hand", [](In<float, 3> dnext, InOut<float, 3> dnow) {
    auto [i, j, k] = global_index<3>();
    dnow(i, j, k) += 0.25f * dnext(i, j, k) + 0.125f * (dnext(i + 1, j, k) + dnext(i - 1, j, k) + dnext(i, j + 1, k) +
                                                        dnext(i, j - 1, k) + dnext(i, j, k + 1) + dnext(i, j, k - 1));
});
/// The points of the six faces: each has one inner neighbour.
const auto heat_faces_by_hand = kernel("heat_faces_by_hand", [](In<float, 3> dnext, InOut<float, 3> dnow) {
    auto [a, b] = global_index<2>();
    auto last = dnow.size(0) - 1;
    dnow(0, a, b) += 0.125f * dnext(1, a, b), dnow(last, a, b) += 0.125f * dnext(last - 1, a, b);
    dnow(a, 0, b) += 0.125f * dnext(a, 1, b), dnow(a, last, b) += 0.125f * dnext(a, last - 1, b);
    dnow(a, b, 0) += 0.125f * dnext(a, b, 1), dnow(a, b, last) += 0.125f * dnext(a, b, last - 1);
});

Gradient heat_3d() {
    return {"heat_3d", 1e-5, [](const Device& d, Size size) {
                const int n = size == Size::test ? 21 : 181;
                const size_t count = size_t(n) * size_t(n) * size_t(n);
                const Array<float, 3> now = d.upload(uniform<float>(count, 1), {n, n, n}), next = d.zeros<float>({n, n, n}),
                                      dnow = d.zeros<float>({n, n, n}), dnext = d.zeros<float>({n, n, n}),
                                      seeds = d.upload(inner_weights<float>(n, 3, 2), {n, n, n});
                const Range inside = ndrange({1, 1, 1}, {n - 1, n - 1, n - 1});
                return sides(
                    d, results_in(dnow, dnext), [=] { dnow.fill(0), dnext.copy_from(seeds); }, [=] { heat(inside, next, now); },
                    [=] { autodiff(Reverse, heat, inside, DuplicatedNoNeed(next, dnext), Duplicated(now, dnow)); },
                    [=] {
                        heat_by_hand(inside, dnext, dnow), heat_faces_by_hand(ndrange({1, 1}, {n - 1, n - 1}), dnext, dnow);
                        dnext.fill(0);
                    });
            }};
}

// ---- shallow_water: one step in flux form; the fluxes are products of several fields on both sides of a face ----
constexpr double gravity = 1.0, wave = 1.5, ratio = 0.1;  // of the time step to the spacing
/// Depth, momentum along a face's normal and across it, and the velocities.
struct Water {
    Val<double> h, n, t, u, v;
};
struct Flux {
    Val<double> h, n, t;
};
Water water(Val<double> h, Val<double> n, Val<double> t) {
    auto inverse = 1.0 / h;
    return {h, n, t, n * inverse, t * inverse};
}
Water turned(const Water& w) { return {w.h, w.t, w.n, w.v, w.u}; }
Flux turned(const Flux& f) { return {f.h, f.t, f.n}; }
Flux flux(const Water& l, const Water& r) {
    auto mass = 0.5 * (l.n + r.n);
    return {mass - 0.5 * wave * (r.h - l.h), 0.5 * mass * (l.u + r.u) + 0.5 * gravity * l.h * r.h - 0.5 * wave * (r.n - l.n),
            0.5 * mass * (l.v + r.v) - 0.5 * wave * (r.t - l.t)};
}
const auto shallow_step = kernel("shallow_step", [](Out<double, 2> next_h, Out<double, 2> next_hu, Out<double, 2> next_hv,
                                                    In<double, 2> h, In<double, 2> hu, In<double, 2> hv) {
    auto [i, j] = global_index<2>();
    auto at = [&](auto y, auto x) { return water(h(y, x), hu(y, x), hv(y, x)); };
    const Water here = at(i, j);
    const Flux west = flux(at(i, j - 1), here), east = flux(here, at(i, j + 1));
    const Flux north = turned(flux(turned(at(i - 1, j)), turned(here))), south = turned(flux(turned(here), turned(at(i + 1, j))));
    next_h(i, j) = here.h - ratio * (east.h - west.h + south.h - north.h);
    next_hu(i, j) = here.n - ratio * (east.n - west.n + south.n - north.n);
    next_hv(i, j) = here.t - ratio * (east.t - west.t + south.t - north.t);
});
/// The contribution of the face between `here` and `other` to the adjoint of `here`. `side` is 1 if `here` is to the left of the
/// face or above it, and -1 otherwise.
Flux face_adjoint(double side, const Water& here, const Water& other, const Flux& g_here, const Flux& g_other) {
    auto at = [&](auto a, auto b) { return side * ratio * (b - a); };
    auto gh = at(g_here.h, g_other.h), gn = at(g_here.n, g_other.n), gt = at(g_here.t, g_other.t);
    auto half = 0.25 * (here.n + other.n) / here.h, gu = half * gn, gv = half * gt;
    auto mass = gh + 0.5 * gn * (here.u + other.u) + 0.5 * gt * (here.v + other.v);
    return {0.5 * gravity * other.h * gn + side * 0.5 * wave * gh - gu * here.u - gv * here.v,
            0.5 * mass + side * 0.5 * wave * gn + gu, side * 0.5 * wave * gt + gv};
}
/// The shadows of the results are zero outside the inner points, which are the items.
const auto shallow_by_hand =
    kernel("shallow_by_hand", [](In<double, 2> gh, In<double, 2> ghu, In<double, 2> ghv, In<double, 2> h, In<double, 2> hu,
                                 In<double, 2> hv, InOut<double, 2> dh, InOut<double, 2> dhu, InOut<double, 2> dhv) {
        auto [i, j] = global_index<2>();
        auto at = [&](auto y, auto x) { return water(h(y, x), hu(y, x), hv(y, x)); };
        auto g = [&](auto y, auto x) { return Flux{gh(y, x), ghu(y, x), ghv(y, x)}; };
        const Water here = at(i, j);
        const Flux own = g(i, j);
        const Flux west = face_adjoint(-1, here, at(i, j - 1), own, g(i, j - 1));
        const Flux east = face_adjoint(1, here, at(i, j + 1), own, g(i, j + 1));
        const Flux north = turned(face_adjoint(-1, turned(here), turned(at(i - 1, j)), turned(own), turned(g(i - 1, j))));
        const Flux south = turned(face_adjoint(1, turned(here), turned(at(i + 1, j)), turned(own), turned(g(i + 1, j))));
        dh(i, j) += own.h + west.h + east.h + north.h + south.h;
        dhu(i, j) += own.n + west.n + east.n + north.n + south.n;
        dhv(i, j) += own.t + west.t + east.t + north.t + south.t;
    });
/// The points of the four edges: each has one inner neighbour.
const auto shallow_edges_by_hand =
    kernel("shallow_edges_by_hand", [](In<double, 2> gh, In<double, 2> ghu, In<double, 2> ghv, In<double, 2> h, In<double, 2> hu,
                                       In<double, 2> hv, InOut<double, 2> dh, InOut<double, 2> dhu, InOut<double, 2> dhv) {
        auto k = global_index();
        Val<int> last = h.size(0) - 1;
        auto at = [&](auto y, auto x) { return water(h(y, x), hu(y, x), hv(y, x)); };
        auto g = [&](auto y, auto x) { return Flux{gh(y, x), ghu(y, x), ghv(y, x)}; };
        auto add = [&](auto y, auto x, const Flux& f) { dh(y, x) += f.h, dhu(y, x) += f.n, dhv(y, x) += f.t; };
        for (const bool first : {true, false}) {
            Val<int> edge = first ? Val<int>(0) : last, inner = first ? Val<int>(1) : last - 1;
            const double side = first ? 1 : -1;
            add(k, edge, face_adjoint(side, at(k, edge), at(k, inner), g(k, edge), g(k, inner)));
            add(edge, k,
                turned(face_adjoint(side, turned(at(edge, k)), turned(at(inner, k)), turned(g(edge, k)), turned(g(inner, k)))));
        }
    });

Gradient shallow_water() {
    return {"shallow_water", 1e-10, [](const Device& d, Size size) {
                const int n = size == Size::test ? 43 : 1001;
                const size_t count = size_t(n) * size_t(n);
                std::vector<Array<double, 2>> now, next, dnow, dnext, seeds;
                for (uint32_t f = 0; f < 3; ++f) {
                    now.push_back(d.upload(uniform<double>(count, f + 1, f ? -0.5 : 1, f ? 0.5 : 2), {n, n}));
                    seeds.push_back(d.upload(inner_weights<double>(n, 2, f + 4), {n, n}));
                    for (auto* all : {&next, &dnow, &dnext}) all->push_back(d.zeros<double>({n, n}));
                }
                const Range inside = ndrange({1, 1}, {n - 1, n - 1});
                return sides(
                    d, results_in(dnow, dnext),
                    [=] {
                        for (size_t f = 0; f < 3; ++f) dnow[f].fill(0), dnext[f].copy_from(seeds[f]);
                    },
                    [=] { shallow_step(inside, next[0], next[1], next[2], now[0], now[1], now[2]); },
                    [=] {
                        autodiff(Reverse, shallow_step, inside, DuplicatedNoNeed(next[0], dnext[0]),
                                 DuplicatedNoNeed(next[1], dnext[1]), DuplicatedNoNeed(next[2], dnext[2]),
                                 Duplicated(now[0], dnow[0]), Duplicated(now[1], dnow[1]), Duplicated(now[2], dnow[2]));
                    },
                    [=] {
                        shallow_by_hand(inside, dnext[0], dnext[1], dnext[2], now[0], now[1], now[2], dnow[0], dnow[1], dnow[2]);
                        shallow_edges_by_hand(ndrange({1}, {n - 1}), dnext[0], dnext[1], dnext[2], now[0], now[1], now[2],
                                              dnow[0], dnow[1], dnow[2]);
                        for (const auto& g : dnext) g.fill(0);
                    });
            }};
}

// ---- bilinear_samples: of a picture at given positions; derivatives in the positions and the texels ----
const auto sample = kernel("sample", [](Out<float> out, In<float, 2> picture, In<float> rows, In<float> columns) {
    auto s = global_index();
    auto y = rows[s], x = columns[s];
    auto i = cast<int>(y), j = cast<int>(x);
    auto fy = y - cast<float>(i), fx = x - cast<float>(j);
    out[s] = lerp(lerp(picture(i, j), picture(i, j + 1), fx), lerp(picture(i + 1, j), picture(i + 1, j + 1), fx), fy);
});
const auto sample_by_hand =
    kernel("sample_by_hand", [](InOut<float> dout, In<float, 2> picture, In<float> rows, In<float> columns,
                                InOut<float, 2> dpicture, InOut<float> drows, InOut<float> dcolumns) {
        auto s = global_index();
        const Val<float> y = rows[s], x = columns[s], g = dout[s];
        auto i = cast<int>(y), j = cast<int>(x);
        auto fy = y - cast<float>(i), fx = x - cast<float>(j);
        auto above = picture(i, j + 1) - picture(i, j), below = picture(i + 1, j + 1) - picture(i + 1, j);
        drows[s] += g * (picture(i + 1, j) - picture(i, j) + fx * (below - above));
        dcolumns[s] += g * (above + fy * (below - above));
        auto lower = g * fy, upper = g - lower;
        atomic_add(dpicture(i, j), upper - upper * fx), atomic_add(dpicture(i, j + 1), upper * fx);
        atomic_add(dpicture(i + 1, j), lower - lower * fx), atomic_add(dpicture(i + 1, j + 1), lower * fx);
        dout[s] = 0.0f;
    });

Gradient bilinear_samples() {
    return {"bilinear_samples", 1e-4, [](const Device& d, Size size) {
                // The positions are a grid's, turned, scaled and shaken a little, as those of a warp are.
                const int n = size == Size::test ? 51 : 1301, extent = size == Size::test ? 41 : 701, count = n * n;
                std::vector<float> y = uniform<float>(size_t(count), 1, 0.0f, 0.3f),
                                   x = uniform<float>(size_t(count), 2, 0.0f, 0.3f);
                for (int s = 0; s < count; ++s) {
                    const double v = double(s / n) / n - 0.5, u = double(s % n) / n - 0.5, middle = 0.5 * extent;
                    y[size_t(s)] += float(middle + 0.65 * (extent - 3) * (0.8 * v + 0.6 * u));
                    x[size_t(s)] += float(middle + 0.65 * (extent - 3) * (0.8 * u - 0.6 * v));
                }
                const Array<float, 2> picture = d.upload(uniform<float>(size_t(extent) * size_t(extent), 3), {extent, extent}),
                                      dpicture = d.zeros<float>({extent, extent});
                const Array<float> rows = d.upload(y), columns = d.upload(x), out = d.zeros<float>(count),
                                   drows = d.zeros<float>(count), dcolumns = d.zeros<float>(count), dout = d.zeros<float>(count),
                                   seeds = d.upload(uniform<float>(size_t(count), 4));
                return sides(
                    d, results_in(dpicture, drows, dcolumns, dout),
                    [=] { dpicture.fill(0), drows.fill(0), dcolumns.fill(0), dout.copy_from(seeds); },
                    [=] { sample(ndrange(count), out, picture, rows, columns); },
                    [=] {
                        autodiff(Reverse, sample, ndrange(count), DuplicatedNoNeed(out, dout), Duplicated(picture, dpicture),
                                 Duplicated(rows, drows), Duplicated(columns, dcolumns));
                    },
                    [=] { sample_by_hand(ndrange(count), dout, picture, rows, columns, dpicture, drows, dcolumns); });
            }};
}

}  // namespace

std::vector<Gradient> gradients_of_grids() { return {jacobi_2d(), heat_3d(), shallow_water(), bilinear_samples()}; }

}  // namespace bench::corpus
