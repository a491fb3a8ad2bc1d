// Cases that the memory limits: triad, 3-D diffusion, elementwise maths, transpose.
#include "bench/cpu/by_halide.h"
#include "bench/cpu/cpu_kernels.h"
#include "bench/cpu/opencl.h"
#include "bench/cpu/openmp.h"
#include "bench/cpu/python.h"
#include "bench/harness.h"

namespace bench::cpu {
namespace {

using namespace pumice;

Case triad_case() {
    constexpr int n = 16'000'000;
    Case c{"triad, 16M floats", Bound::memory, 12.0 * n, 1e-6, {}, {}};
    c.ours = [](const Device& d) {
        Array<float> a = d.zeros<float>(n), b = d.upload(noise(n, 1)), e = d.upload(noise(n, 2));
        return Side{"", [=] { triad(ndrange(n), a, b, e, 0.75f).wait(); }, [=] { return a.download(); }};
    };
    c.peers.push_back([] {
        HostArray a(n), b(noise(n, 1)), e(noise(n, 2));
        return Side{"OpenMP", [=] { openmp::triad(a, b, e, 0.75f, n); }, [=] { return a.vector(); }};
    });
    if (halide()) c.peers.push_back([] { return halide()->triad(noise(n, 1), noise(n, 2), 0.75f); });
    c.peers.push_back([] {
        return opencl(
            "kernel void k(global float* a, global const float* b, global const float* c, float s) {"
            " int i = get_global_id(0); a[i] = b[i] + s * c[i]; }",
            {cl_out(n), cl_in(noise(n, 1)), cl_in(noise(n, 2)), cl_word(0.75f)}, {n}, {}, 0);
    });
    add_python_peers(c, "triad", [] { return Arrays{noise(n, 1), noise(n, 2)}; }, {0.75});
    return c;
}

Case diffusion_case() {
    constexpr int n = 256;
    constexpr size_t count = size_t(n) * n * n;
    Case c{"3-D diffusion, 256^3", Bound::memory, 8.0 * (n - 2) * (n - 2) * (n - 2), 1e-5, {}, {}};
    c.ours = [](const Device& d) {
        Array<float, 3> now = d.upload(noise(count, 3), {n, n, n}), next = d.zeros<float>({n, n, n});
        return Side{"", [=] { diffuse(ndrange({1, 1, 1}, {n - 1, n - 1, n - 1}), next, now, 0.1f).wait(); },
                    [=] { return next.download(); }};
    };
    c.peers.push_back([] {
        HostArray next(count), now(noise(count, 3));
        return Side{"OpenMP", [=] { openmp::diffuse(next, now, 0.1f, n); }, [=] { return next.vector(); }};
    });
    if (halide()) c.peers.push_back([] { return halide()->diffusion(noise(count, 3), 0.1f, n); });
    c.peers.push_back([] {
        return opencl(R"(kernel void k(global float* next, global const float* now, float c, int n) {
            int x = get_global_id(0) + 1, y = get_global_id(1) + 1, z = get_global_id(2) + 1;
            int row = n, plane = n * n, p = z * plane + y * row + x;
            next[p] = now[p] + c * (now[p - plane] + now[p + plane] + now[p - row] + now[p + row] + now[p - 1] + now[p + 1] - 6.0f * now[p]); })",
                      {cl_out(count), cl_in(noise(count, 3)), cl_word(0.1f), cl_word(n)}, {n - 2, n - 2, n - 2}, {}, 0);
    });
    add_python_peers(c, "diffusion", [] { return Arrays{noise(count, 3)}; }, {n, 0.1});
    return c;
}

Case maths_case() {
    constexpr int n = 16'000'000;
    Case c{"sin x exp x + x^3, 16M", Bound::memory, 8.0 * n, 1e-5, {}, {}};
    c.ours = [](const Device& d) {
        Array<float> y = d.zeros<float>(n), x = d.upload(noise(n, 4));
        return Side{"", [=] { maths(ndrange(n), y, x).wait(); }, [=] { return y.download(); }};
    };
    c.peers.push_back([] {
        HostArray y(n), x(noise(n, 4));
        return Side{"OpenMP", [=] { openmp::maths(y, x, n); }, [=] { return y.vector(); }};
    });
    if (halide()) c.peers.push_back([] { return halide()->maths(noise(n, 4)); });
    c.peers.push_back([] {
        return opencl(
            "kernel void k(global float* y, global const float* x) { int i = get_global_id(0); float v = x[i];"
            " y[i] = sin(v) * exp(v) + v * v * v; }",
            {cl_out(n), cl_in(noise(n, 4))}, {n}, {}, 0);
    });
    add_python_peers(c, "maths", [] { return Arrays{noise(n, 4)}; });
    return c;
}

Case transpose_case() {
    constexpr int n = 4096;
    constexpr size_t count = size_t(n) * n;
    Case c{"transpose, 4096^2", Bound::memory, 8.0 * n * n, 0, {}, {}};
    c.ours = [](const Device& d) {
        Array<float, 2> to = d.zeros<float>({n, n}), from = d.upload(noise(count, 5), {n, n});
        return Side{"", [=] { transpose(ndrange(n, n).group(16, 16), to, from).wait(); }, [=] { return to.download(); }};
    };
    c.peers.push_back([] {
        HostArray to(count), from(noise(count, 5));
        return Side{"OpenMP", [=] { openmp::transpose(to, from, n); }, [=] { return to.vector(); }};
    });
    if (halide()) c.peers.push_back([] { return halide()->transpose(noise(count, 5), n); });
    c.peers.push_back([] {
        return opencl(R"(kernel void k(global float* to, global const float* from, int n) {
            local float tile[16][17];
            int i = get_local_id(1), j = get_local_id(0), row = get_group_id(1) * 16, column = get_group_id(0) * 16;
            tile[i][j] = from[(column + i) * n + row + j];
            barrier(CLK_LOCAL_MEM_FENCE);
            to[(row + i) * n + column + j] = tile[j][i]; })",
                      {cl_out(count), cl_in(noise(count, 5)), cl_word(n)}, {n, n}, {16, 16}, 0);
    });
    return c;
}

}  // namespace

std::vector<Case> stream_cases() { return {triad_case(), diffusion_case(), maths_case(), transpose_case()}; }

}  // namespace bench::cpu
