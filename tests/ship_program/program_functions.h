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

/// Scalars of the host in expressions, one with a derivative; a size as a scalar; parts of arrays; fills.
inline const auto scaled = [](Array<float>& y, Array<float>& x, int64_t n, const auto& a, const auto& b) {
    const auto c = sqrt(a * a + 0.25f) / (b - 3.0f);
    axpy(ndrange(n), y, c, x, int(n));
    axpy(ndrange(n - 2), y.slice(1, n - 1), max(c, a) * 0.5f, x.slice(2, n), 7);
    Array<float> filled = y.device().template empty<float>(n);
    filled.fill(abs(a) - b);
    axpy(ndrange(n), y, 2.0f, filled, 0);
};

}  // namespace shipped
