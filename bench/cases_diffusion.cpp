// One explicit step of 3-D diffusion, the 7-point stencil, over the interior of a grid. The peer of the first case is
// hand-written GLSL that takes size and factor as push constants. The other cases show the cost of indices: their peer has both
// as constants, while Pumice learns the range at the launch and chooses the group (in the last case the launch gives the peer's).
// The arrays are plain, views of a larger array, or members of a struct.
#include <string>

#include "bench/harness.h"

namespace bench {
struct Field {
    pumice::Array<float, 3> next, now;
    float c;
};
}  // namespace bench
PUMICE_STRUCT(bench::Field, next, now, c);

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

const auto diffuse_field = kernel("diffuse_field", [](InOut<Field> f) {
    auto [i, j, k] = global_index<3>();
    f.next(i, j, k) = f.now(i, j, k) + f.c * (f.now(i - 1, j, k) + f.now(i + 1, j, k) + f.now(i, j - 1, k) + f.now(i, j + 1, k) +
                                              f.now(i, j, k - 1) + f.now(i, j, k + 1) - 6.0f * f.now(i, j, k));
});

/// The peer with the size and the factor written into it.
std::string constant_glsl(int n) {
    std::string glsl = peer_glsl;
    const std::string push = "layout(push_constant) uniform Push { ivec3 size; float c; };";
    glsl.replace(glsl.find(push), push.size(), text("const ivec3 size = ivec3(", n, "); const float c = 0.1;"));
    return glsl;
}

enum class Through { arrays, views, members };

/// Ours does not know the size before the launch, nor, unless `grouped`, the group.
Measurement against_constants(Bench& bench, int n, Through through, bool grouped) {
    const size_t count = size_t(n) * n * n;
    const std::vector<float> host = noise(count, 3);
    // The second and the third of three fields in one array, so that no view begins where its array does.
    const Array<float> all = bench.device.zeros<float>(int64_t(3 * count));
    Field f{bench.device.zeros<float>({n, n, n}), bench.device.upload(host, {n, n, n}), 0.1f};
    if (through == Through::views) {
        f.next = all.reshape({3 * n, n, n}).slice(n, 2 * n);
        f.now = all.slice(int64_t(2 * count), int64_t(3 * count)).reshape({n, n, n});
        f.now.copy_from(host);
    }
    Range range = ndrange({1, 1, 1}, {n - 1, n - 1, n - 1});
    if (grouped) range = range.group(1, 8, 32);
    const Side ours =
        launches([&] { return through == Through::members ? diffuse_field(range, f) : diffuse(range, f.next, f.now, f.c); });

    raw::Pipeline pipeline(bench.raw, "diffuse", constant_glsl(n), 2, 0);
    raw::Buffer pnow(bench.raw, host), pnext(bench.raw, count * 4);
    const Side peer = dispatches(bench.raw, pipeline, pipeline.bindings({&pnext, &pnow}), {}, uint32_t(n - 2 + 31) / 32,
                                 uint32_t(n - 2 + 7) / 8, uint32_t(n - 2));
    const Measurement m = compare(bench, ours, peer);
    require_same(f.next.download(), pnext.download<float>(), 1e-6);
    return m;
}

Measurement run(Bench& bench, int n) {
    const float c = 0.1f;
    const size_t count = size_t(n) * n * n;
    const std::vector<float> host = noise(count, 3);
    Array<float, 3> now = bench.device.upload(host, {n, n, n}), next = bench.device.zeros<float>({n, n, n});
    const Side ours = launches([&] { return diffuse(ndrange({1, 1, 1}, {n - 1, n - 1, n - 1}).group(1, 8, 32), next, now, c); });

    raw::Pipeline pipeline(bench.raw, "diffuse", peer_glsl, 2, 16);
    raw::Buffer pnow(bench.raw, host), pnext(bench.raw, count * 4);
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
    const auto constants = [&](const char* name, double target, Through through, bool grouped) {
        return Case{name,         Kind::variant, target,
                    8 * interior, "GB/s",        [=](Bench& bench) { return against_constants(bench, n, through, grouped); }};
    };
    return {{"3-D diffusion, 256^3", Kind::kernel, 1.15, 8 * interior, "GB/s", [](Bench& bench) { return run(bench, n); }},
            constants("diffusion against constants", 1.03, Through::arrays, false),
            constants("diffusion through views", 1.05, Through::views, false),
            constants("diffusion through a struct", 1.05, Through::members, false),
            constants("diffusion against constants, in their group", 1.03, Through::arrays, true)};
}

}  // namespace bench
