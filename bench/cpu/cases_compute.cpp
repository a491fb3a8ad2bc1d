// Cases that arithmetic limits: n-body, mandelbrot, Black-Scholes.
#include "bench/cpu/cpu_kernels.h"
#include "bench/cpu/opencl.h"
#include "bench/cpu/openmp.h"
#include "bench/cpu/python.h"
#include "bench/harness.h"

namespace bench::cpu {
namespace {

using namespace pumice;

std::vector<float> between(size_t count, uint32_t seed, float low, float high) {
    std::vector<float> v = noise(count, seed);
    for (float& x : v) x = low + (x + 1) * 0.5f * (high - low);
    return v;
}

Case nbody_case() {
    constexpr int n = 8192;
    Case c{"n-body, 8192", Bound::compute, 19.0 * n * n, 2e-3, {}, {}};
    c.ours = [](const Device& d) {
        Array<float> x = d.upload(noise(n, 9)), y = d.upload(noise(n, 10)), z = d.upload(noise(n, 11)),
                     m = d.upload(between(n, 12, 0.1f, 1));
        Array<float> ax = d.zeros<float>(n), ay = d.zeros<float>(n), az = d.zeros<float>(n);
        return Side{"", [=] { nbody(ndrange(n), ax, ay, az, x, y, z, m).wait(); }, [=] { return ax.download(); }};
    };
    const auto peer = [](const char* name, auto* function) {
        return [=] {
            HostArray x(noise(n, 9)), y(noise(n, 10)), z(noise(n, 11)), m(between(n, 12, 0.1f, 1)), ax(n), ay(n), az(n);
            return Side{name, [=] { function(ax, ay, az, x, y, z, m, n); }, [=] { return ax.vector(); }};
        };
    };
    c.peers.push_back(peer("OpenMP", openmp::nbody));
    c.peers.push_back(peer("by hand", by_hand::nbody));
    c.peers.push_back([] {
        return opencl(
            R"(kernel void k(global float* ax, global float* ay, global float* az, global const float* x, global const float* y,
                global const float* z, global const float* m, int n) {
            int i = get_global_id(0);
            float xi = x[i], yi = y[i], zi = z[i], sx = 0, sy = 0, sz = 0;
            for (int j = 0; j < n; ++j) {
                float dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
                float r = rsqrt(dx * dx + dy * dy + dz * dz + 1e-2f), f = m[j] * r * r * r;
                sx += f * dx; sy += f * dy; sz += f * dz;
            }
            ax[i] = sx; ay[i] = sy; az[i] = sz; })",
            {cl_out(n), cl_out(n), cl_out(n), cl_in(noise(n, 9)), cl_in(noise(n, 10)), cl_in(noise(n, 11)),
             cl_in(between(n, 12, 0.1f, 1)), cl_word(n)},
            {n}, {}, 0);
    });
    add_python_peers(c, "nbody", [] { return Arrays{noise(n, 9), noise(n, 10), noise(n, 11), between(n, 12, 0.1f, 1)}; });
    return c;
}

Case mandelbrot_case() {
    static constexpr int n = 1024, most = 256;
    constexpr size_t count = size_t(n) * n;
    // Ten operations an iteration; the iterations are counted once.
    static const double iterations = [] {
        std::vector<float> steps(count);
        openmp::mandelbrot(steps.data(), n, n, most);
        double sum = 0;
        for (const float s : steps) sum += s;
        return sum;
    }();
    // A rounding that differs turns a pixel on the edge: what differs is bounded by the mean (see run.cpp).
    Case c{"mandelbrot, 1024^2", Bound::compute, 10 * iterations, -1e-2, {}, {}};
    c.ours = [](const Device& d) {
        Array<float, 2> steps = d.zeros<float>({n, n});
        return Side{"", [=] { mandelbrot(ndrange(n, n), steps, most).wait(); }, [=] { return steps.download(); }};
    };
    c.peers.push_back([] {
        HostArray steps(count);
        return Side{"OpenMP", [=] { openmp::mandelbrot(steps, n, n, most); }, [=] { return steps.vector(); }};
    });
    c.peers.push_back([] {
        return opencl(R"(kernel void k(global float* steps, int n, int most) {
            int i = get_global_id(0), j = get_global_id(1);
            float cx = -2.0f + 3.0f * i / n, cy = -1.5f + 3.0f * j / n, x = 0, y = 0;
            int k = 0;
            for (; k < most && x * x + y * y < 4.0f; ++k) { float t = x * x - y * y + cx; y = 2.0f * x * y + cy; x = t; }
            steps[j * n + i] = k; })",
                      {cl_out(count), cl_word(n), cl_word(most)}, {n, n}, {}, 0);
    });
    add_python_peers(c, "mandelbrot", [] { return Arrays(); }, {n, most});
    return c;
}

Case black_scholes_case() {
    constexpr int n = 4'000'000;
    Case c{"Black-Scholes, 4M", Bound::memory, 20.0 * n, 1e-3, {}, {}};
    c.ours = [](const Device& d) {
        Array<float> s = d.upload(between(n, 13, 5, 30)), k = d.upload(between(n, 14, 1, 100)),
                     t = d.upload(between(n, 15, 0.25f, 10));
        Array<float> call = d.zeros<float>(n), put = d.zeros<float>(n);
        return Side{"", [=] { black_scholes(ndrange(n), call, put, s, k, t).wait(); }, [=] { return call.download(); }};
    };
    c.peers.push_back([] {
        HostArray s(between(n, 13, 5, 30)), k(between(n, 14, 1, 100)), t(between(n, 15, 0.25f, 10)), call(n), put(n);
        return Side{"OpenMP", [=] { openmp::black_scholes(call, put, s, k, t, n); }, [=] { return call.vector(); }};
    });
    c.peers.push_back([] {
        return opencl(
            R"(float normal(float d) {
                float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
                float p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
                float tail = 0.39894228f * exp(-0.5f * d * d) * p;
                return d > 0 ? 1.0f - tail : tail; }
            kernel void k(global float* call, global float* put, global const float* spot, global const float* strike, global const float* years) {
                int i = get_global_id(0);
                float s = spot[i], k = strike[i], t = years[i], root = sqrt(t);
                float d1 = (log(s / k) + (0.03f + 0.5f * 0.25f * 0.25f) * t) / (0.25f * root), d2 = d1 - 0.25f * root;
                float n1 = normal(d1), n2 = normal(d2), later = k * exp(-0.03f * t);
                call[i] = s * n1 - later * n2;
                put[i] = later * (1.0f - n2) - s * (1.0f - n1); })",
            {cl_out(n), cl_out(n), cl_in(between(n, 13, 5, 30)), cl_in(between(n, 14, 1, 100)), cl_in(between(n, 15, 0.25f, 10))},
            {n}, {}, 0);
    });
    add_python_peers(c, "black_scholes",
                     [] { return Arrays{between(n, 13, 5, 30), between(n, 14, 1, 100), between(n, 15, 0.25f, 10)}; });
    return c;
}

}  // namespace

std::vector<Case> compute_cases() { return {nbody_case(), mandelbrot_case(), black_scholes_case()}; }

}  // namespace bench::cpu
