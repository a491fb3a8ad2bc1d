// Cases of simulations: a lattice-Boltzmann step and a particle push with branches.
#include "bench/cpu/cpu_kernels.h"
#include "bench/cpu/opencl.h"
#include "bench/cpu/openmp.h"
#include "bench/harness.h"

namespace bench::cpu {
namespace {

using namespace pumice;

constexpr int side = 1024;
constexpr size_t cells = 9 * size_t(side) * side;

std::vector<float> lattice() {
    std::vector<float> f = noise(cells, 16);
    for (size_t q = 0; q < 9; ++q)
        for (size_t i = 0; i < cells / 9; ++i) f[q * (cells / 9) + i] = weights[q] * (1 + 0.05f * f[q * (cells / 9) + i]);
    return f;
}

Case lbm_case() {
    Case c{"LBM D2Q9, 1024^2", Bound::memory, 72.0 * side * side, 1e-5, {}, {}};
    c.ours = [](const Device& d) {
        Array<float, 3> now = d.upload(lattice(), {9, side, side}), next = d.zeros<float>({9, side, side});
        return Side{"", [=] { lbm(ndrange(side, side), next, now, 1.2f).wait(); }, [=] { return next.download(); }};
    };
    c.peers.push_back([] {
        HostArray now(lattice()), next(cells);
        return Side{"OpenMP", [=] { openmp::lbm(next, now, 1.2f, side); }, [=] { return next.vector(); }};
    });
    c.peers.push_back([] {
        return opencl(R"(kernel void k(global float* next, global const float* now, float omega, int n) {
            const int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
            const float w[9] = {4.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};
            int i = get_global_id(0), j = get_global_id(1), plane = n * n;
            float f[9], rho = 0, ux = 0, uy = 0;
            #pragma unroll
            for (int q = 0; q < 9; ++q) {
                int x = i - ex[q], y = j - ey[q];
                x = x < 0 ? n - 1 : x == n ? 0 : x; y = y < 0 ? n - 1 : y == n ? 0 : y;
                f[q] = now[q * plane + y * n + x];
                rho += f[q]; ux += f[q] * ex[q]; uy += f[q] * ey[q];
            }
            ux /= rho; uy /= rho;
            float still = 1.0f - 1.5f * (ux * ux + uy * uy);
            #pragma unroll
            for (int q = 0; q < 9; ++q) {
                float eu = ex[q] * ux + ey[q] * uy;
                next[q * plane + j * n + i] = f[q] + omega * (w[q] * rho * (still + 3.0f * eu + 4.5f * eu * eu) - f[q]);
            } })",
                      {cl_out(cells), cl_in(lattice()), cl_word(1.2f), cl_word(side)}, {side, side}, {}, 0);
    });
    return c;
}

Case push_case() {
    constexpr int n = 4'000'000;
    static constexpr float dt = 1e-4f;
    // A step moves a particle by at most 1e-4; one on an edge may take either way.
    Case c{"particle push with branches, 4M", Bound::memory, 32.0 * n, -1e-7, {}, {}};
    c.ours = [](const Device& d) {
        Array<float> x = d.upload(noise(n, 17)), y = d.upload(noise(n, 18)), u = d.upload(noise(n, 19)),
                     v = d.upload(noise(n, 20));
        return Side{"", [=] { push(ndrange(n), x, y, u, v, dt).wait(); }, [=] { return x.download(); }};
    };
    c.peers.push_back([] {
        HostArray x(noise(n, 17)), y(noise(n, 18)), u(noise(n, 19)), v(noise(n, 20));
        return Side{"OpenMP", [=] { openmp::push(x, y, u, v, dt, n); }, [=] { return x.vector(); }};
    });
    c.peers.push_back([] {
        return opencl(
            R"(kernel void k(global float* x, global float* y, global float* u, global float* v, float dt) {
            int i = get_global_id(0);
            float px = x[i], py = y[i], pu = u[i], pv = v[i], r2 = px * px + py * py;
            if (r2 < 0.25f) {
                float s = sin(dt * 3.0f), c = cos(dt * 3.0f), t = c * pu - s * pv;
                pv = s * pu + c * pv; pu = t;
            } else if (px > 0) {
                float f = dt / (r2 * sqrt(r2));
                pu -= f * px; pv -= f * py;
            }
            px += dt * pu; py += dt * pv;
            if (px < -1.0f || px > 1.0f) { pu = -pu; px = fmin(fmax(px, -1.0f), 1.0f); }
            if (py < -1.0f || py > 1.0f) { pv = -pv; py = fmin(fmax(py, -1.0f), 1.0f); }
            x[i] = px; y[i] = py; u[i] = pu; v[i] = pv; })",
            {cl_inout(noise(n, 17)), cl_inout(noise(n, 18)), cl_inout(noise(n, 19)), cl_inout(noise(n, 20)), cl_word(dt)}, {n},
            {}, 0);
    });
    return c;
}

}  // namespace

std::vector<Case> flow_cases() { return {lbm_case(), push_case()}; }

}  // namespace bench::cpu
