// C = A B by 16 x 16 tiles in local memory. The sizes are multiples of 16, so neither side checks bounds.
#include "bench/harness.h"
#include "bench/kernels.h"

namespace bench {
namespace {

using namespace pumice;

const auto matmul = tiled_matmul();

const char* const peer_glsl = R"(#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) writeonly restrict buffer C { float c[]; };
layout(binding = 1) readonly restrict buffer A { float a[]; };
layout(binding = 2) readonly restrict buffer B { float b[]; };
layout(push_constant) uniform Push { int inner, columns; };
shared float tile_a[16][16], tile_b[16][16];
void main() {
    const int row = int(gl_GlobalInvocationID.y), column = int(gl_GlobalInvocationID.x);
    const int i = int(gl_LocalInvocationID.y), j = int(gl_LocalInvocationID.x);
    float sum = 0;
    for (int tile = 0; tile < inner; tile += 16) {
        tile_a[i][j] = a[row * inner + tile + j];
        tile_b[i][j] = b[(tile + i) * columns + column];
        barrier();
        [[unroll]] for (int k = 0; k < 16; ++k) sum += tile_a[i][k] * tile_b[k][j];
        barrier();
    }
    c[row * columns + column] = sum;
}
)";

Measurement run(Bench& bench, int n) {
    const size_t count = size_t(n) * n;
    const std::vector<float> host_a = noise(count, 4), host_b = noise(count, 5);
    Array<float, 2> a = bench.device.upload(host_a, {n, n}), b = bench.device.upload(host_b, {n, n});
    Array<float, 2> c = bench.device.zeros<float>({n, n});
    const Side ours = launches([&] { return matmul(ndrange(n, n).group(16, 16), c, a, b); });

    raw::Pipeline pipeline(bench.raw, "matmul", peer_glsl, 3, 8);
    raw::Buffer pa(bench.raw, host_a), pb(bench.raw, host_b), pc(bench.raw, count * 4);
    const Side peer = dispatches(bench.raw, pipeline, pipeline.bindings({&pc, &pa, &pb}), {word(n), word(n)}, uint32_t(n) / 16,
                                 uint32_t(n) / 16);

    const Measurement m = compare(bench, ours, peer);
    require_same(c.download(), pc.download<float>(), 1e-4);
    return m;
}

}  // namespace

std::vector<Case> matmul_cases() {
    const int n = 512;
    return {{"tiled matmul, 512^3", Kind::kernel, 1.15, 2.0 * n * n * n, "GFLOP/s", [](Bench& bench) { return run(bench, n); }}};
}

}  // namespace bench
