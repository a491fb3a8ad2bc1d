// One sum a group of 256, by a tree in local memory.
#include "bench/harness.h"
#include "bench/kernels.h"

namespace bench {
namespace {

using namespace pumice;

const auto block_sum = block_sum_tree();

// Unrolled by hand: [[unroll]] is not heeded for a width that halves, and a loop took 1.5 times as long on lavapipe.
const char* const peer_glsl = R"(#version 450
layout(local_size_x = 256) in;
layout(binding = 0) writeonly restrict buffer Sums { float sums[]; };
layout(binding = 1) readonly restrict buffer X { float x[]; };
layout(push_constant) uniform Push { uint n; };
shared float tile[256];
#define FOLD(width) if (l < width) tile[l] += tile[l + width]; barrier()
void main() {
    const uint l = gl_LocalInvocationID.x, i = gl_GlobalInvocationID.x;
    tile[l] = i < n ? x[i] : 0.0;
    barrier();
    FOLD(128); FOLD(64); FOLD(32); FOLD(16); FOLD(8); FOLD(4); FOLD(2); FOLD(1);
    if (l == 0) sums[gl_WorkGroupID.x] = tile[0];
}
)";

Measurement run(Bench& bench, int n) {
    const int groups = (n + 255) / 256;
    const std::vector<float> host = noise(size_t(n), 6);
    Array<float> x = bench.device.upload(host), sums = bench.device.zeros<float>(groups);
    const Side ours = launches([&] { return block_sum(ndrange(n).group(256), sums, x); });

    raw::Pipeline pipeline(bench.raw, "block_sum", peer_glsl, 2, 4);
    raw::Buffer px(bench.raw, host), psums(bench.raw, size_t(groups) * 4);
    const Side peer = dispatches(bench.raw, pipeline, pipeline.bindings({&psums, &px}), {word(n)}, uint32_t(groups));

    const Measurement m = compare(bench, ours, peer);
    require_same(sums.download(), psums.download<float>(), 1e-6);
    return m;
}

}  // namespace

std::vector<Case> reduction_cases() {
    const int n = 4'000'000;
    return {{"tiled reduction, 4M floats", Kind::kernel, 1.15, 4.0 * n, "GB/s", [](Bench& bench) { return run(bench, n); }}};
}

}  // namespace bench
