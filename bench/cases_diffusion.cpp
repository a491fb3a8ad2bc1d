// One explicit step of 3-D diffusion, the 7-point stencil, over the interior of a grid.
#include "bench/harness.h"

namespace bench {
namespace {

using namespace pumice;

const auto diffuse = kernel("diffuse", [](Out<float, 3> next, In<float, 3> now, Val<float> c) {
    auto [i, j, k] = global_index<3>();
    next(i, j, k) = now(i, j, k) + c * (now(i - 1, j, k) + now(i + 1, j, k) + now(i, j - 1, k) + now(i, j + 1, k) +
                                        now(i, j, k - 1) + now(i, j, k + 1) - 6.0f * now(i, j, k));
});

const char* const peer_glsl = R"(#version 450
layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) writeonly restrict buffer Next { float next[]; };
layout(binding = 1) readonly restrict buffer Now { float now[]; };
layout(push_constant) uniform Push { ivec3 size; float c; };
void main() {
    const ivec3 at = ivec3(gl_GlobalInvocationID) + 1;
    if (any(greaterThanEqual(at, size - 1))) return;
    const int row = size.x, plane = size.x * size.y;
    const int p = at.z * plane + at.y * row + at.x;
    next[p] = now[p]
        + c * (now[p - plane] + now[p + plane] + now[p - row] + now[p + row] + now[p - 1] + now[p + 1] - 6.0 * now[p]);
}
)";

Measurement run(Bench& bench, int n) {
    const float c = 0.1f;
    const size_t count = size_t(n) * n * n;
    const std::vector<float> host = noise(count, 3);
    Array<float, 3> now = bench.device.upload(host, {n, n, n}), next = bench.device.zeros<float>({n, n, n});
    const Side ours = [&](int times) {
        Event last;
        for (int t = 0; t < times; ++t) last = diffuse(ndrange({1, 1, 1}, {n - 1, n - 1, n - 1}).group(1, 8, 32), next, now, c);
        last.wait();
    };

    raw::Pipeline pipeline(bench.raw, "diffuse", peer_glsl, 2, 16);
    raw::Buffer pnow(bench.raw, count * 4), pnext(bench.raw, count * 4);
    pnow.upload(host);
    const Side peer = dispatches(bench.raw, pipeline, pipeline.bindings({&pnext, &pnow}), {word(n), word(n), word(n), word(c)},
                                 uint32_t(n - 2 + 31) / 32, uint32_t(n - 2 + 7) / 8, uint32_t(n - 2));

    const Measurement m = compare(bench, ours, peer);
    require_same(next.download(), pnext.download<float>(), 1e-6);
    return m;
}

}  // namespace

std::vector<Case> diffusion_cases() {
    const int n = 256;
    const double interior = double(n - 2) * (n - 2) * (n - 2);
    return {{"3-D diffusion, 256^3", Kind::kernel, 1.15, 8 * interior, "GB/s", [](Bench& bench) { return run(bench, n); }}};
}

}  // namespace bench
