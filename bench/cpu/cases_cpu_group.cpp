// Cases whose items meet in local memory: tiled matmul, tiled reduction, histogram.
#include "bench/cpu/by_halide.h"
#include "bench/cpu/cpu_kernels.h"
#include "bench/cpu/opencl.h"
#include "bench/cpu/openmp.h"
#include "bench/harness.h"

#include <cstring>

namespace bench::cpu {
namespace {

using namespace pumice;

std::vector<uint32_t> values(int n) {
    std::vector<uint32_t> x(static_cast<size_t>(n));
    uint32_t state = 1;
    for (uint32_t& v : x) v = (state = state * 1664525u + 1013904223u) >> 24;
    return x;
}
std::vector<float> as_floats(const std::vector<uint32_t>& v) { return {v.begin(), v.end()}; }
std::vector<float> bits_of(const std::vector<uint32_t>& v) {
    std::vector<float> bits(v.size());
    std::memcpy(bits.data(), v.data(), v.size() * 4);
    return bits;
}

Case matmul_case() {
    constexpr int n = 1024;
    constexpr size_t count = size_t(n) * n;
    Case c{"tiled matmul, 1024^3", Bound::compute, 2.0 * n * n * n, 1e-3, {}, {}};
    c.ours = [](const Device& d) {
        Array<float, 2> a = d.upload(noise(count, 6), {n, n}), b = d.upload(noise(count, 7), {n, n}), r = d.zeros<float>({n, n});
        return Side{"", [=] { matmul(ndrange(n, n).group(16, 16), r, a, b).wait(); }, [=] { return r.download(); }};
    };
    const auto peer = [](const char* name, auto* function) {
        return [=] {
            HostArray r(count), a(noise(count, 6)), b(noise(count, 7));
            return Side{name, [=] { function(r, a, b, n); }, [=] { return r.vector(); }};
        };
    };
    c.peers.push_back(peer("OpenMP", openmp::matmul));
    c.peers.push_back(peer("by hand", by_hand::matmul));
    if (halide()) c.peers.push_back([] { return halide()->matmul(noise(count, 6), noise(count, 7), n); });
    c.peers.push_back([] {
        return opencl(R"(kernel void k(global float* c, global const float* a, global const float* b, int n) {
            local float ta[16][16], tb[16][16];
            int i = get_local_id(1), j = get_local_id(0), row = get_global_id(1), column = get_global_id(0);
            float sum = 0;
            for (int tile = 0; tile < n; tile += 16) {
                ta[i][j] = a[row * n + tile + j];
                tb[i][j] = b[(tile + i) * n + column];
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int k = 0; k < 16; ++k) sum += ta[i][k] * tb[k][j];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            c[row * n + column] = sum; })",
                      {cl_out(count), cl_in(noise(count, 6)), cl_in(noise(count, 7)), cl_word(n)}, {n, n}, {16, 16}, 0);
    });
    return c;
}

Case reduction_case() {
    constexpr int n = 16'777'216, groups = n / 256;
    Case c{"tiled reduction, 16M", Bound::reading, 4.0 * n, 1e-4, {}, {}};
    c.ours = [](const Device& d) {
        Array<float> x = d.upload(noise(n, 8)), sums = d.zeros<float>(groups);
        return Side{"", [=] { block_sum(ndrange(n).group(256), sums, x).wait(); }, [=] { return sums.download(); }};
    };
    c.peers.push_back([] {
        HostArray sums(groups), x(noise(n, 8));
        return Side{"OpenMP", [=] { openmp::sums(sums, x, n); }, [=] { return sums.vector(); }};
    });
    c.peers.push_back([] {
        return opencl(R"(kernel void k(global float* sums, global const float* x) {
            local float tile[256];
            int l = get_local_id(0);
            tile[l] = x[get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int width = 128; width > 0; width /= 2) {
                if (l < width) tile[l] += tile[l + width];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            if (l == 0) sums[get_group_id(0)] = tile[0]; })",
                      {cl_out(groups), cl_in(noise(n, 8))}, {n}, {256}, 0);
    });
    return c;
}

Case histogram_case() {
    constexpr int n = 16'777'216, items = 256 * 256;
    Case c{"histogram, 16M into 256", Bound::reading, 4.0 * n, 0, {}, {}};
    c.ours = [](const Device& d) {
        Array<uint32_t> x = d.upload(values(n)), bins = d.zeros<uint32_t>(256);
        return Side{"",
                    [=] {
                        clear(ndrange(256), bins);
                        histogram(ndrange(items).group(256), bins, x).wait();
                    },
                    [=] { return as_floats(bins.download()); }};
    };
    c.peers.push_back([] {
        auto x = std::make_shared<std::vector<uint32_t>>(values(n)), bins = std::make_shared<std::vector<uint32_t>>(256);
        return Side{"OpenMP", [=] { openmp::histogram(bins->data(), x->data(), n); }, [=] { return as_floats(*bins); }};
    });
    c.peers.push_back([] {
        Side side = opencl(R"(kernel void k(global uint* bins, global const uint* x, int n) {
            local uint counts[256];
            int l = get_local_id(0);
            counts[l] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&counts[x[i] & 255]);
            barrier(CLK_LOCAL_MEM_FENCE);
            atomic_add(&bins[l], counts[l]); })",
                           {cl_inout(std::vector<float>(256)), cl_in(bits_of(values(n))), cl_word(n)}, {items}, {256}, 0, 0);
        side.result = [bits = side.result] {
            const std::vector<float> from = bits();
            std::vector<uint32_t> words(from.size());
            std::memcpy(words.data(), from.data(), from.size() * 4);
            return as_floats(words);
        };
        return side;
    });
    return c;
}

}  // namespace

std::vector<Case> group_cases() { return {matmul_case(), reduction_case(), histogram_case()}; }

}  // namespace bench::cpu
