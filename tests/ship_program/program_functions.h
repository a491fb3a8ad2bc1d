// Programs that the test library ships, and that the tests also run by the library itself.
#pragma once
#include <pumice/pumice.h>

namespace shipped {

using namespace pumice;

inline const auto heat = kernel("heat", Math::strict, [](Out<float> next, In<float> now, Val<float> c) {
    auto i = global_index();
    auto n = global_size();
    auto left = now[max(i - 1, 0)], right = now[min(i + 1, n - 1)];
    next[i] = now[i] + c * (left - 2.0f * now[i] + right);
});

inline const auto mismatch =
    kernel("mismatch", Math::strict, [](Out<float> errors, In<float> u, In<float> target, In<float> weights) {
        auto i = global_index();
        auto d = u[i] - target[i];
        errors[i] = weights[i % 4] * d * d;
    });

/// One item adds up, so that the order of additions is the same on every device.
inline const auto total = kernel("total", Math::strict, [](Out<float> sum, In<float> terms) {
    Var s = 0.0f;
    $for(k, range(terms.size(0))) { s += terms[k]; }
    sum[0] = s;
});

/// The heat equation in place, and its squared distance to a target.
inline const auto loss_of = [](Array<float>& loss, Array<float>& u0, const Array<float>& target, const auto& rate) {
    const Device device = u0.device();
    const int64_t n = u0.size();
    Array<float> u = u0.clone(), other = device.zeros<float>(n), errors = device.empty<float>(n);
    const Array<float> weights = device.upload<float>({1.0f, 0.5f, 0.25f, 2.0f});
    for (int step = 0; step < 6; ++step) {
        heat(ndrange(n), other, u, 0.5f * rate);
        heat(ndrange(n), u, other, 0.25f * rate);
    }
    mismatch(ndrange(n), errors, u, target, weights);
    total(ndrange(1), loss, errors);
};

/// The trip count depends on the data, so that the tape is counted.
inline const auto grow = kernel("grow", Math::strict, [](Out<float> y, In<float> x) {
    auto i = global_index();
    Var v = x[i];
    $while(v < 20.0f) { v = 0.25f * v * v + v + 0.5f; }
    y[i] = v;
});
inline const auto grow_all = [](Array<float>& y, Array<float>& x) {
    Array<float> middle = x.device().empty<float>(x.size());
    grow(ndrange(x.size()), middle, x);
    grow(ndrange(x.size()), y, middle);
};

inline const auto axpy = kernel("axpy", Math::strict, [](InOut<float> y, Val<float> a, In<float> x, Val<int> n) {
    auto i = global_index();
    y[i] += a * x[i] + cast<float>(n);
});

/// Its parameters have names that the functions of the headers use, and macros.
inline const auto hard_names =
    kernel("pumice_launch", Math::strict, [](InOut<float> y, Val<float> a, Val<float> b, Val<int> c, Val<int> d, Val<int> e) {
        y[global_index()] += a + b + cast<float>(c + d + e);
    }).names({"shipped_programs_library", "memcpy", "memset", "PUMICE_F32", "errno", "NULL"});

/// Scalars of the host in expressions, one with a derivative; a size as a scalar; parts of arrays; fills.
inline const auto scaled = [](Array<float>& y, Array<float>& x, int64_t n, const auto& a, const auto& b) {
    const auto c = sqrt(a * a + 0.25f) / (b - 3.0f);
    axpy(ndrange(n), y, c, x, int(n));
    axpy(ndrange(n - 2), y.slice(1, n - 1), max(c, a) * 0.5f, x.slice(2, n), 7);
    Array<float> filled = y.device().template empty<float>(n);
    filled.fill(abs(a) - b);
    axpy(ndrange(n), y, 2.0f, filled, 0);
};

struct Particle {
    float position, velocity;
};

}  // namespace shipped

PUMICE_STRUCT(shipped::Particle, position, velocity);

namespace shipped {

/// Two sizes, groups with local memory, a structure, integers; one array has as many elements as there are groups.
inline const auto sum_groups = kernel("sum_groups", Math::strict, static_group<32>, [](Out<float> sums, In<float> x) {
    Local<float, 32> tile;
    auto i = global_index(), l = local_index();
    tile[l] = x[i];
    synchronize();
    $if(l == 0) {
        Var s = 0.0f;
        $for(k, range(min(32, x.size(0) - i))) { s += tile[k] * tile[k]; }
        sums[i / 32] = s;
    }
});
inline const auto move = kernel("move", Math::strict, [](InOut<Particle> p, In<int32_t> steps, In<float, 2> force) {
    auto i = global_index();
    Var v = p[i].velocity;
    $for(k, range(force.size(1))) { v += force(i, k); }
    p[i].velocity = v;
    p[i].position += v * cast<float>(steps[i]);
});
inline const auto energy = kernel("energy", Math::strict, [](Out<float> e, In<Particle> p) {
    auto i = global_index();
    e[i] = p[i].velocity * p[i].velocity + p[i].position;
});
inline const auto particles = [](Array<float>& sums, Array<Particle>& p, const Array<int32_t>& steps, Array<float, 2>& force) {
    const int64_t n = p.size();
    const Device device = p.device();
    for (int round = 0; round < 3; ++round) move(ndrange(n), p, steps, force);
    const Array<float> ones = device.upload(std::vector<float>(size_t(n), 1.0f));  // as many as a size: a fill
    Array<float> energies = device.empty<float>(n);
    energy(ndrange(n), energies, p);
    axpy(ndrange(n), energies, 0.5f, ones, 0);
    const Array<float> parts = device.empty<float>((n + 31) / 32);
    sum_groups(ndrange(n), parts, energies);
    total(ndrange(1), sums.slice(0, 1), parts);
    const Array<float, 2> turned = device.zeros<float>({force.size(1), n});  // n * m elements, copied by a kernel of the library
    turned.copy_from(View(force.reshape({force.size(1), n})));
    total(ndrange(1), sums.slice(1, 2), turned.flat());
};

/// Two layers of products. Whether items own the elements of a shadow depends on the sizes, if the program is not shipped.
inline const auto product = kernel("product", [](Out<float, 2> c, In<float, 2> a, In<float, 2> b) {
    auto [i, j] = global_index<2>();
    Var sum = 0.0f;
    $for(k, range(a.size(1))) { sum += a(i, k) * b(k, j); }
    c(i, j) = sum;
});
inline const auto layers = [](Array<float, 2>& y, Array<float, 2>& x, Array<float, 2>& first, Array<float, 2>& second) {
    Array<float, 2> middle = x.device().empty<float>({x.size(0), first.size(1)});
    product(ndrange(x.size(0), first.size(1)), middle, x, first);
    product(ndrange(x.size(0), second.size(1)), y, middle, second);
};

/// Loops over the same elements in all items, whose shadows are summed up in cells for many items, and forces of pairs.
inline const auto dense = kernel("dense", [](Out<float> y, In<float, 2> x, In<float> z) {
    auto i = global_index();
    Var sum = 0.0f;
    $for(k, range(z.size())) { sum += x(i, k) * z[k]; }
    y[i] = sum;
});
inline const auto forces = kernel("forces", [](Out<float> y, In<float> x) {
    auto i = global_index();
    Var sum = 0.0f;
    $for(j, range(x.size())) {
        auto d = x[j] - x[i];
        sum += d / (1.0f + d * d);
    }
    y[i] = sum;
});
inline const auto dense_forces = [](Array<float>& y, Array<float, 2>& x, Array<float>& z) {
    Array<float> middle = x.device().empty<float>(x.size(0));
    dense(ndrange(x.size(0)), middle, x, z);
    forces(ndrange(x.size(0)), y, middle);
};

/// A stencil: processors and graphics cards have different adjoints of it.
inline const auto smooth = kernel("smooth", Math::strict, [](Out<float, 2> to, In<float, 2> from) {
    auto [i, j] = global_index<2>();
    auto up = from(max(i - 1, 0), j), left = from(i, max(j - 1, 0));
    to(i, j) = 0.5f * from(i, j) + 0.25f * (up * up + left);
});
inline const auto smoothed = [](Array<float, 2>& to, Array<float, 2>& from, int64_t rows, int64_t columns) {
    Array<float, 2> middle = to.device().empty<float>({rows, columns});
    const Stream stream = to.device().stream();
    smooth(ndrange(rows, columns).on(stream), middle, from);
    stream.synchronize();
    smooth(ndrange(rows, columns), to, middle);
};

/// Indirect ranges: kernels compute how many items the next ones have.
inline const auto count_above = kernel("count_above", [](In<float> x, InOut<int32_t> counts, Val<float> least) {
    $if(x[global_index()] > least) {
        auto before = atomic_add(counts[0], 1);
        $if(before < 3) { counts[1] = 3; }
    };
});
inline const auto curve = kernel("curve", Math::strict, [](InOut<float> y, In<float> x) {
    auto i = global_index();
    y[i] = y[i] * x[i] + x[i] * x[i] / cast<float>(global_size());
});
inline const auto tiled = kernel("tiled", Math::strict, static_group<16>, [](InOut<float> y, In<float> x) {
    Local<float, 16> tile;
    auto i = global_index(), l = local_index();
    tile[l] = x[i] * x[i];
    synchronize();
    y[i] = y[i] * tile[max(l - 1, 0)];
});
inline const auto spread = kernel("spread", Math::strict, [](InOut<float, 2> table, In<float> x) {
    auto [i, j] = global_index<2>();
    auto [n, m] = global_size<2>();
    table(i, j) += x[i] * cast<float>(j + 1) / cast<float>(n + m);
});
inline const auto counted = [](Array<float>& y, Array<float>& x) {
    const int64_t n = x.size();
    const Device device = x.device();
    Array<int32_t> counts = device.empty<int32_t>(2);
    Array<float, 2> table = device.zeros<float>({n, 4});
    for (const float least : {0.6f, 0.55f, 0.7f}) {
        counts.fill(0);
        count_above(ndrange(n), x, counts, least);
        curve(indirect(counts.slice(0, 1), n), y, x);
        tiled(indirect(counts.slice(0, 1), n), y, x);
        spread(indirect(counts, n, 4), table, x);
    }
    counts.fill(0);  // the reverse sweep runs over the counts of each launch
    axpy(ndrange(n), y, 0.5f, table.flat().slice(n, 2 * n), 0);
};
inline const auto mark = kernel("mark", [](InOut<int32_t> hits) { hits[global_index()] += 1; });
inline const auto marked = [](Array<int32_t>& hits, Array<int32_t>& counts) {
    mark(indirect(counts, hits.size() - 10), hits);
    mark(indirect(counts, hits.size()), hits);
};

/// Functions of scalars, whose derivatives call others.
inline const auto add_scalars = kernel(
    "add_scalars", Math::strict, [](InOut<float> y, Val<float> a, Val<double> b) { y[global_index()] += a + cast<float>(b); });
inline const auto functions = [](Array<float>& y, const auto& a, const auto& b) {
    const auto add = [&](const auto& p, const auto& q) { add_scalars(ndrange(y.size()), y, p, q); };
    add(exp(a) + log(a), exp2(b) * expm1(b));
    add(log2(a) - log10(a), log1p(b) + pow(b, 1.5));
    add(pow(a, a) + sin(a), cos(b) * tan(b));
    add(asin(0.1f * a) - acos(0.2f * a), atan(b) + atan2(b, 2.0));
    add(hypot(a, 3.0f), sinh(b) * cosh(b));
    add(tanh(a) * asinh(a), acosh(b + 1.0) + atanh(0.1 * b));
    add(erf(a) + floor(4.0f * a), erfc(b) + ceil(b) * trunc(3.0 * b));
};

}  // namespace shipped
