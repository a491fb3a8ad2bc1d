// The cost of a group's means: barriers, local memory and atomics, one at a time.
#include "bench/harness.h"

namespace bench {
namespace {

using namespace pumice;

constexpr int turns = 64, radius = 8, bins = 128;

// Barriers in a loop: little else is done.
const auto rotate = kernel("rotate", [](InOut<float> a, Val<int> times) {
    Local<float, 64> ring;
    auto l = local_index();
    auto i = global_index();
    Var v = a[i];
    $for(k, range(times)) {
        ring[l] = v;
        synchronize();
        v = ring[(l + 1) % 64] + 1.0f;
        synchronize();
    }
    a[i] = v;
});
const char* const rotate_glsl = R"(#version 450
layout(local_size_x = 64) in;
layout(binding = 0) restrict buffer A { float a[]; };
layout(push_constant) uniform Push { int n; int times; };
shared float ring[64];
void main() {
    const int l = int(gl_LocalInvocationID.x), i = int(gl_GlobalInvocationID.x);
    const bool some = i < n;
    float v = some ? a[i] : 0.0;
    for (int k = 0; k < times; ++k) {
        ring[l] = v;
        barrier();
        v = ring[(l + 1) % 64] + 1.0;
        barrier();
    }
    if (some) a[i] = v;
}
)";

// Local memory that each item reads many times: the mean of 17 neighbours.
const auto smooth = kernel("smooth", [](Out<float> y, In<float> x) {
    Local<float, 128 + 2 * radius> tile;
    auto l = local_index();
    auto i = global_index();
    tile[l + radius] = x[i];
    $if(l < radius) {
        tile[l] = x[max(i - radius, 0)];
        tile[l + 128 + radius] = x[min(i + 128, global_size() - 1)];
    }
    synchronize();
    Var sum = 0.0f;
    $for(k, range(2 * radius + 1)) { sum += tile[l + k]; }
    y[i] = sum / float(2 * radius + 1);
});
const char* const smooth_glsl = R"(#version 450
layout(local_size_x = 128) in;
layout(binding = 0) writeonly restrict buffer Y { float y[]; };
layout(binding = 1) readonly restrict buffer X { float x[]; };
layout(push_constant) uniform Push { int n; };
shared float tile[144];
void main() {
    const int l = int(gl_LocalInvocationID.x), i = int(gl_GlobalInvocationID.x);
    const bool some = i < n;
    if (some) {
        tile[l + 8] = x[i];
        if (l < 8) {
            tile[l] = x[max(i - 8, 0)];
            tile[l + 136] = x[min(i + 128, n - 1)];
        }
    }
    barrier();
    if (some) {
        float sum = 0.0;
        for (int k = 0; k < 17; ++k) sum += tile[l + k];
        y[i] = sum / 17.0;
    }
}
)";

// Atomics on local memory, and a few on global memory.
const auto histogram = kernel("histogram", whole_groups, [](InOut<uint32_t> all, In<uint32_t> data) {
    Local<uint32_t, bins> partial;
    auto l = local_index();
    partial[l] = 0u;
    synchronize();
    $if(in_range()) { atomic_add(partial[data[global_index()]], 1u); }
    synchronize();
    atomic_add(all[l], partial[l]);
});
const char* const histogram_glsl = R"(#version 450
layout(local_size_x = 128) in;
layout(binding = 0) restrict buffer All { uint all[]; };
layout(binding = 1) readonly restrict buffer Data { uint data[]; };
layout(push_constant) uniform Push { int n; };
shared uint partial[128];
void main() {
    const int l = int(gl_LocalInvocationID.x), i = int(gl_GlobalInvocationID.x);
    partial[l] = 0;
    barrier();
    if (i < n) atomicAdd(partial[data[i]], 1);
    barrier();
    atomicAdd(all[l], partial[l]);
}
)";

// Atomics on global memory only.
const auto scatter = kernel("scatter", [](InOut<uint32_t> all, In<uint32_t> data) { atomic_add(all[data[global_index()]], 1u); });
const char* const scatter_glsl = R"(#version 450
layout(local_size_x = 128) in;
layout(binding = 0) restrict buffer All { uint all[]; };
layout(binding = 1) readonly restrict buffer Data { uint data[]; };
layout(push_constant) uniform Push { int n; };
void main() {
    const int i = int(gl_GlobalInvocationID.x);
    if (i < n) atomicAdd(all[data[i]], 1);
}
)";

Measurement barriers(Bench& bench, int n) {
    const std::vector<float> host = noise(size_t(n), 4);
    Array<float> a = bench.device.upload(host);
    raw::Pipeline pipeline(bench.raw, "rotate", rotate_glsl, 1, 8);
    raw::Buffer pa(bench.raw, host);
    const Side peer = dispatches(bench.raw, pipeline, pipeline.bindings({&pa}), {word(n), word(turns)}, uint32_t(n + 63) / 64);
    const Measurement m = compare(bench, launches([&] { return rotate(ndrange(n).group(64), a, turns); }), peer);
    require_same(a.download(), pa.download<float>(), 1e-6);
    return m;
}

Measurement local_memory(Bench& bench, int n) {
    const std::vector<float> host = noise(size_t(n), 5);
    Array<float> x = bench.device.upload(host), y = bench.device.zeros<float>(n);
    raw::Pipeline pipeline(bench.raw, "smooth", smooth_glsl, 2, 4);
    raw::Buffer px(bench.raw, host), py(bench.raw, size_t(n) * 4);
    const Side peer = dispatches(bench.raw, pipeline, pipeline.bindings({&py, &px}), {word(n)}, uint32_t(n + 127) / 128);
    const Measurement m = compare(bench, launches([&] { return smooth(ndrange(n).group(128), y, x); }), peer);
    require_same(y.download(), py.download<float>(), 1e-5);
    return m;
}

template <class K> Measurement counts(Bench& bench, int n, const K& kernel, const char* glsl) {
    std::vector<uint32_t> host(static_cast<size_t>(n));
    for (size_t i = 0; i < host.size(); ++i) host[i] = uint32_t(i * 2654435761u) >> 25;
    Array<uint32_t> data = bench.device.upload(host), all = bench.device.zeros<uint32_t>(bins);
    raw::Pipeline pipeline(bench.raw, "histogram", glsl, 2, 4);
    raw::Buffer pdata(bench.raw, host), pall(bench.raw, bins * 4);
    const Side peer = dispatches(bench.raw, pipeline, pipeline.bindings({&pall, &pdata}), {word(n)}, uint32_t(n + 127) / 128);
    const Measurement m = compare(bench, launches([&] { return kernel(ndrange(n).group(bins), all, data); }), peer);
    if (all.download() != pall.download<uint32_t>()) fail("the sides count differently");
    return m;
}

}  // namespace

std::vector<Case> group_cases() {
    constexpr int n = 7813 * 128;
    return {
        {"barriers, 128 in a loop, 64K items", Kind::variant, 1.10, 0, "", [](Bench& bench) { return barriers(bench, 65536); }},
        {"local memory, 17 reads an item", Kind::variant, 1.10, 8.0 * n, "GB/s",
         [](Bench& bench) { return local_memory(bench, n); }},
        {"atomics on local memory", Kind::variant, 1.10, 4.0 * n, "GB/s",
         [](Bench& bench) { return counts(bench, n, histogram, histogram_glsl); }},
        {"atomics on global memory", Kind::variant, 1.10, 4.0 * n, "GB/s",
         [](Bench& bench) { return counts(bench, n, scatter, scatter_glsl); }}};
}

}  // namespace bench
