// The kernels of the runtime's tests: shipped by rt_kernels.cpp as the library `rt_shipped`, and run by the library in the same
// process.
#pragma once
#include <pumice/pumice.h>

/// Members of different types and sizes, so that an element is no multiple of a cache line.
struct RtBody {
    pumice::float3 position;
    float mass;
    int8_t kind;
    int hits;
};
PUMICE_STRUCT(RtBody, position, mass, kind, hits);

struct RtWorld {
    pumice::Array<float> heights;
    pumice::Array<RtBody> bodies;
    float scale;
    int count;
};
PUMICE_STRUCT(RtWorld, heights, bodies, scale, count);

namespace rt_kernels {

using namespace pumice;

// ---- elementwise ----

inline const auto saxpy = kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
                              auto i = global_index();
                              y[i] += a * x[i];
                          }).names({"y", "x", "a"});
inline const auto strict = kernel("strict", Math::strict, [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] = (y[i] + a * x[i]) / (1.0f + x[i] * x[i]) + sqrt(abs(y[i]));
});
inline const auto fast = kernel("fast", Math::fast, [](InOut<float> y, In<float> x) {
    auto i = global_index();
    y[i] = exp(-abs(y[i])) * sin(x[i]) + pow(abs(x[i]), 0.3f) / (1.0f + y[i] * y[i]);
});
inline const auto floats = kernel("floats", [](Out<float> y, In<float> x) {
    auto i = global_index();
    Val<float> v = x[i];
    y[i] = exp(v) + log1p(abs(v)) * atan2(v, 0.3f) + tanh(v) * cbrt(v) + hypot(v, 2.0f) + erf(v) + tgamma(v) + lgamma(v + 3.0f) +
           fmod(v, 0.7f) + rint(v) + nextafter(v, 9.0f) + ldexp(v, 3);
});
inline const auto doubles = kernel("doubles", [](Out<double> y, In<double> x, Val<double> a) {
    auto i = global_index();
    Val<double> v = x[i];
    y[i] = exp(v * a) + sin(v) * cos(3.0 * v) + erf(v) + tgamma(v) + digamma(v + 3.0) + log(abs(v)) + pow(abs(v), 1.3) +
           asinh(v) + expm1(v) + trigamma(v + 2.5) + sqrt(abs(v)) + remainder(v, 0.7);
});
inline const auto halves = kernel("halves", [](InOut<half> y, In<bfloat16> x, Out<bfloat16> z, Val<half> a, Val<bfloat16> b) {
    auto i = global_index();
    y[i] = y[i] * a + cast<half>(x[i]);
    z[i] = exp(x[i]) * b - cast<bfloat16>(y[i]);
});
inline const auto narrow = kernel("narrow", [](InOut<int8_t> a, In<bool> b, Out<bool> c, InOut<uint16_t> d, InOut<int16_t> e,
                                               InOut<uint8_t> f, Val<int8_t> s, Val<bool> t, Val<uint16_t> u) {
    auto i = global_index();
    a[i] = a[i] * s + cast<int8_t>(b[i]);
    c[i] = (a[i] > s) != (b[i] && t);
    d[i] = mul_high(d[i], u) + (d[i] >> 3);
    e[i] = cast<int16_t>(d[i]) / (e[i] | cast<int16_t>(1));
    f[i] = f[i] * f[i] - reverse_bits(f[i]);
});
inline const auto wide = kernel("wide", [](InOut<int64_t> a, InOut<uint64_t> b, Val<int64_t> s, Val<uint64_t> t) {
    auto i = global_index();
    a[i] = a[i] / (s + cast<int64_t>(i)) + (a[i] % s);
    b[i] = mul_high(b[i], t) ^ (b[i] << (i % 64)) ^ popcount(b[i]);
});
inline const auto escape = kernel("escape", [](Out<int, 2> steps, Val<float> zoom) {
    auto [r, c] = global_index<2>();
    Val<float> x0 = cast<float>(c) * zoom - 2.0f, y0 = cast<float>(r) * zoom - 1.0f;
    Var x = 0.0f;
    Var y = 0.0f;
    Var n = 0;
    $while(x * x + y * y < 4.0f && n < 100) {
        Val<float> next = x * x - y * y + x0;
        y = 2.0f * x * y + y0;
        x = next;
        n += 1;
    }
    steps(r, c) = n;
});
inline const auto dice = kernel("dice", [](Out<float> x, Out<uint32_t> n, Val<uint32_t> seed) {
    auto i = global_index();
    rng::Counter random(seed, cast<uint32_t>(i));
    x[i] = random.normal<float>();
    n[i] = cast<uint32_t>(random.integer(6));
});
inline const auto clear = kernel("clear", [](Out<float> y, Val<float> a) { y[global_index()] = a; });
inline const auto add_all = kernel("add_all", [](Out<float> y, In<float> a, In<float> b) {
    auto i = global_index();
    y[i] = a[i] + b[i];
});

/// Work for some time, and work whose order shows in the result.
inline const auto spin = kernel("spin", [](InOut<float> x, Val<int> times) {
    auto i = global_index();
    Var v = x[i];
    $for(k, range(times)) { v = v * 0.999f + 1.0f; }
    x[i] = v;
});
inline const auto mix = kernel("mix", [](InOut<uint32_t> x, Val<uint32_t> a) {
    auto i = global_index();
    x[i] = x[i] * 31u + a;
});

// ---- neighbours ----

inline const auto stencil = kernel("stencil", [](Out<float, 2> to, In<float, 2> from) {
    auto [i, j] = global_index<2>();
    to(i, j) = 0.25f * (from(i - 1, j) + from(i + 1, j) + from(i, j - 1) + from(i, j + 1)) - from(i, j);
});
inline const auto cube = kernel("cube", [](Out<float, 3> to, In<float, 3> from) {
    auto [i, j, k] = global_index<3>();
    to(i, j, k) = from(i - 1, j, k) + from(i + 1, j, k) + from(i, j - 1, k) + from(i, j + 1, k) + from(i, j, k - 1) +
                  from(i, j, k + 1) - 6.0f * from(i, j, k);
});
inline const auto transposed = kernel("transpose", [](Out<float, 2> to, In<float, 2> from) {
    auto [i, j] = global_index<2>();
    to(j, i) = from(i, j);
});
inline const auto transposed_bytes = kernel("transpose_bytes", [](Out<uint8_t, 2> to, In<uint8_t, 2> from) {
    auto [i, j] = global_index<2>();
    to(i, j) = from(j, i);
});
/// The slowest index of the array is the fastest of the range.
inline const auto swapped = kernel("swapped", [](InOut<float, 2> a) {
    auto [i, j] = global_index<2>();
    a(j, i) = a(j, i) * 2.0f + cast<float>(i - j);
});

// ---- groups ----

inline const auto matmul = kernel("matmul", whole_groups, [](Out<float, 2> c, In<float, 2> a, In<float, 2> b) {
    Local<float, 16, 16> left, right;
    auto [row, column] = global_index<2>();
    auto [r, s] = local_index<2>();
    Val<int> rows = cast<int>(a.size(0)), inner = cast<int>(a.size(1)), columns = cast<int>(b.size(1));
    Var sum = 0.0f;
    $for(tile, range((inner + 15) / 16)) {
        Var x = 0.0f;
        Var y = 0.0f;
        Val<int> p = tile * 16 + s, q = tile * 16 + r;
        $if(row < rows && p < inner) { x = a(row, p); }
        $if(q < inner && column < columns) { y = b(q, column); }
        left(r, s) = x;
        right(r, s) = y;
        synchronize();
        $for(k, range(16)) { sum += left(r, k) * right(k, s); }
        synchronize();
    }
    $if(in_range()) { c(row, column) = sum; }
});
inline const auto whole = kernel("whole", whole_groups, [](InOut<int> inside, InOut<int> outside) {
    $if(in_range()) { atomic_add(inside[0], 1); }
    $else { atomic_add(outside[0], global_index()); }
});
inline const auto fixed_group = kernel("fixed_group", static_group<8>, [](InOut<int> out) {
    Local<int> tile(group_size());
    tile[local_index()] = out[global_index()];
    synchronize();
    out[global_index()] = tile[local_index() ^ 1] * 10 + local_index();
});
inline const auto fixed_range =
    kernel("fixed_range", static_range<12>, [](Out<int> out) { out[global_index()] = global_index() + global_size(); });
inline const auto fixed_both = kernel("fixed_both", static_group<4, 8>, static_range<16, 24>, [](Out<int, 2> out) {
    auto [i, j] = global_index<2>();
    auto [r, c] = local_index<2>();
    out(i, j) = r * 100 + c + group_index<2>()[0] * 1000 + group_index<2>()[1] * 10000;
});
/// The items tell their group: the launch gives its size.
inline const auto told_group = kernel("told_group", [](Out<int> out) {
    out[global_index()] = local_index() + 1000 * group_index() + 1000000 * (group_size() / 32) + global_size() - group_count();
});
inline const auto collective = kernel("collective", [](Out<int> out, Out<float> floats, In<int> x, Out<uint32_t> votes) {
    auto i = global_index();
    Val<int> v = x[i];
    out[i * 4] = group::reduce_add(v) + group::reduce_max(v);
    out[i * 4 + 1] = group::inclusive_add(v) - group::exclusive_min(v);
    out[i * 4 + 2] = group::broadcast(v, 0) + select(group::any(v > 90), 1, 0);
    out[i * 4 + 3] = subgroup::reduce_xor(v) + subgroup::inclusive_add(v) + subgroup::shuffle_xor(v, 0u) + subgroup::size();
    floats[i] = group::reduce_add(cast<float>(v) * 0.1f);
    votes[i] = subgroup::ballot(v > 50).x + select(subgroup::elect(), 1u, 0u);
});
inline const auto sized_local = kernel("sized_local", [](InOut<int> a) {
    Local<int> tile(group_size() * 2 + 1);
    auto l = local_index();
    tile[l] = a[global_index()];
    tile[l + group_size()] = l;
    synchronize();
    a[global_index()] = tile[group_size() - 1 - l] * 3 + tile[2 * group_size() - 1 - l];
});
inline const auto private_sort = kernel("private_sort", [](InOut<int> a) {
    Private<int, 4, 2> p;
    auto i = global_index();
    $for(k, range(8)) { p(k / 2, k % 2) = a[i * 8 + (k * 3) % 8]; }
    $for(k, range(8)) { a[i * 8 + k] = p((k + i) % 4, k % 2) + k; }
});

// ---- sums ----

inline const auto total = kernel("total", [](InOut<float> sum, In<float> x) { atomic_add(sum[0], x[global_index()]); });
inline const auto count = kernel("count", [](InOut<uint32_t> sum, In<uint32_t> x) { atomic_add(sum[0], x[global_index()]); });
inline const auto histogram =
    kernel("histogram", [](InOut<uint32_t> bins, In<uint32_t> x) { atomic_add(bins[x[global_index()] % 61u], 1u); });
/// A sparse matrix (CSR) times a vector. In its adjoint each item owns the derivatives of its row's values.
inline const auto sparse = kernel("sparse", [](Out<double> y, In<double> values, In<double> x, In<int> starts, In<int> columns) {
    auto row = global_index();
    Var sum = 0.0;
    $for(e, range(starts[row], starts[row + 1])) { sum += values[e] * x[columns[e]]; }
    y[row] = sum;
});
inline const auto adjoint_of_sparse =
    pumice::adjoint<pumice::Duplicated, pumice::Duplicated, pumice::Duplicated, pumice::Const, pumice::Const>(sparse);
inline const auto range_sums = kernel("range_sums", [](InOut<int> sums, In<int> starts, Val<int> shift) {
    auto i = global_index() + shift;
    $for(e, range(starts[global_index() + 2], starts[global_index() + 3])) { atomic_add(sums[e], i % 7 + 1); }
});
inline const auto row_sums = kernel("row_sums", [](InOut<double> sums, In<float, 2> x) {
    auto [i, j] = global_index<2>();
    atomic_add(sums[i], cast<double>(x(i, j)));
});
/// The summed array has four dimensions.
inline const auto deep_sums = kernel("deep_sums", [](InOut<uint32_t, 4> bins, In<uint32_t> x) {
    Val<uint32_t> v = x[global_index()];
    atomic_add(bins(v % 3u, v % 5u, v % 7u, v % 11u), 1u);
});
/// More summed arrays than the runtime has room for copies of.
inline const auto many_sums =
    kernel("many_sums", [](InOut<int> a, InOut<int> b, InOut<int> c, InOut<int> d, InOut<int> e, InOut<int> f, InOut<int> g,
                           InOut<int> h, InOut<int> i, InOut<int> j, InOut<int> k, InOut<int> l, InOut<int> m, InOut<int> n,
                           InOut<int> o, InOut<int> p, InOut<int> q, InOut<int> r, InOut<uint64_t> s, InOut<float> t) {
        auto at = global_index();
        int step = 1;
        for (const InOut<int>* one : {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m, &n, &o, &p, &q, &r})
            atomic_add((*one)[at % 5], at % 7 + step++);
        atomic_add(s[at % 3], cast<uint64_t>(at));
        atomic_sub(t[0], 1.0f);
    });
inline const auto atomics =
    kernel("atomics", [](InOut<int64_t> a, InOut<uint64_t> b, InOut<int8_t> c, InOut<float> d, In<int> x) {
        auto i = global_index();
        Val<int> v = x[i];
        atomic_min(a[0], cast<int64_t>(v) * 100000000000);
        atomic_max(a[1], cast<int64_t>(v) * -300000000000);
        atomic_add(a[2], cast<int64_t>(v));
        atomic_xor(b[0], cast<uint64_t>(v) << 33);
        atomic_or(b[1], cast<uint64_t>(v) << (v % 64));
        atomic_and(b[2], ~(Val<uint64_t>(1u) << (v % 64)));
        atomic_compare_exchange(b[3], Val<uint64_t>(0u), Val<uint64_t>(77u));
        atomic_add(c[v % 4], cast<int8_t>(1));
        atomic_max(d[0], cast<float>(v) * 0.5f);
    });

// ---- structs ----

inline const auto bodies = kernel("bodies", [](InOut<RtBody> all, In<float3> push, Val<float> step, Val<float3> gravity) {
                               auto i = global_index();
                               Var body = all[i];
                               body.position += step * push[i] + gravity;
                               body.hits += cast<int>(body.kind);
                               body.kind = cast<int8_t>(body.hits);
                               body.mass = length(body.position);
                               all[i] = body;
                           }).names({"all", "push", "step", "gravity"});
inline const auto world = kernel("world", [](InOut<RtWorld> w, Val<int> class_) {
                              auto i = global_index();
                              w.heights[i] = w.heights[i] * w.scale + cast<float>(w.count + class_);
                              w.bodies[i].mass = w.heights[i];
                          }).names({"w", "class_"});
inline const auto squares = kernel("squares", [](InOut<float4x4> m, In<double2> d, Out<double> e) {
    auto i = global_index();
    m[i] = m[i] * transpose(m[i]) + m[i];
    e[i] = dot(d[i], d[i]);
});

// ---- ranges ----

inline const auto five = kernel("five", [](Out<int, 5> out) {
    auto [a, b, c, d, e] = global_index<5>();
    auto local = local_index<5>();
    out(a, b, c, d, e) = (((a * 10 + b) * 10 + c) * 10 + d) * 10 + e + 1000000 * (local[0] + local[1] + local[2]);
});
inline const auto six = kernel("six", [](InOut<int, 6> a) {
    auto i = global_index<6>();
    a(i[0], i[1], i[2], i[3], i[4], i[5]) = a(i[0], i[1], i[2], i[3], i[4], i[5]) * 2 + i[5] - i[0] + global_size<6>()[1];
});
inline const auto four = kernel("four", [](Out<float, 4> out, In<float, 4> in) {
    auto [a, b, c, d] = global_index<4>();
    out(a, b, c, d) = in(a, b, c, d) + in(a, c % 2, b % 2, 0) + cast<float>(out.size(0) * 1000 + out.size(3));
});
inline const auto any_rank =
    kernel("any_rank", [](Out<int> a) { a[global_index_linear()] = global_index_linear() + global_size_linear(); });

// ---- reports ----

inline const auto prints = kernel("prints", [](In<float> x, In<double> y, In<int64_t> z) {
    auto i = global_index();
    print("{} {:.3f} {:>12} {:<8} {:+} {{}}", i, x[i], y[i], z[i], x[i]);
    $if(i % 3 == 0) { print("{:x} {} {:08.2e} {:b} {:o} {}", i, x[i] > 0.0f, y[i], i, z[i], cast<half>(x[i])); }
});
inline const auto prints_planes = kernel("prints_planes", [](Val<bfloat16> a) {
    auto [i, j, k] = global_index<3>();
    print("{} {} {} {}", i, j, k, a);
});
inline const auto requires_small = kernel("requires_small", [](InOut<int> x) {
    auto i = global_index();
    require(x[i] < 10, "{} is below ten", x[i]);
    x[i] += 1;
});
inline const auto requires_deep = kernel("requires_deep", [](InOut<int, 4> x) {
    auto [a, b, c, d] = global_index<4>();
    require(x(a, b, c, d) < 10, "{} is below ten", x(a, b, c, d));
});

}  // namespace rt_kernels
