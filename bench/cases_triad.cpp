// a = b + s * c, which measures the speed of memory: once with arrays far larger than the caches, once with arrays that fit.
#include "bench/harness.h"

namespace bench {
namespace {

using namespace pumice;

const auto triad = kernel("triad", [](Out<float> a, In<float> b, In<float> c, Val<float> s) {
    auto i = global_index();
    a[i] = b[i] + s * c[i];
});

const char* const peer_glsl = R"(#version 450
layout(local_size_x = 256) in;
layout(binding = 0) writeonly restrict buffer A { float a[]; };
layout(binding = 1) readonly restrict buffer B { float b[]; };
layout(binding = 2) readonly restrict buffer C { float c[]; };
layout(push_constant) uniform Push { uint n; float s; };
void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < n) a[i] = b[i] + s * c[i];
}
)";

Measurement run(Bench& bench, int n) {
    const float s = 0.75f;
    const std::vector<float> host_b = noise(size_t(n), 1), host_c = noise(size_t(n), 2);
    Array<float> a = bench.device.zeros<float>(n), b = bench.device.upload(host_b), c = bench.device.upload(host_c);
    const Side ours = launches([&] { return triad(ndrange(n).group(256), a, b, c, s); });

    raw::Pipeline pipeline(bench.raw, "triad", peer_glsl, 3, 8);
    raw::Buffer pa(bench.raw, size_t(n) * 4), pb(bench.raw, host_b), pc(bench.raw, host_c);
    const Side peer =
        dispatches(bench.raw, pipeline, pipeline.bindings({&pa, &pb, &pc}), {word(n), word(s)}, uint32_t(n + 255) / 256);

    const Measurement m = compare(bench, ours, peer);
    require_same(a.download(), pa.download<float>(), 1e-6);
    return m;
}

}  // namespace

std::vector<Case> triad_cases() {
    const auto of = [](const char* name, int n) {
        return Case{name, Kind::kernel, 1.15, 12.0 * n, "GB/s", [n](Bench& bench) { return run(bench, n); }};
    };
    // 16 million, not 2^24: groups of 256 then stay below 65536, which a raw dispatch may not reach.
    return {of("triad, 16M floats", 16'000'000), of("triad, 64K floats (in cache)", 65536)};
}

}  // namespace bench
