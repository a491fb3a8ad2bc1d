// Textures: exact and hardware filters against hand-written GLSL that does the same, and the filter on the device cpu.
#include "bench/harness.h"

namespace bench {
namespace {

using namespace pumice;

constexpr int items = 512, texels = 512;  // the output stays in the caches of the device cpu

const auto zoom = kernel("zoom", [](Out<float4, 2> to, In<Texture<float4>> from, Val<float> scale) {
    auto [y, x] = global_index<2>();
    auto u = (cast<float>(x) + 0.5f) * (scale / float(items)), v = (cast<float>(y) + 0.5f) * (scale / float(items));
    to(y, x) = from.sample(Val<float2>(u + v * 0.3f, v - u * 0.2f));
});

/// `SAMPLE` stands for the filter.
const char* const peer_glsl = R"(#version 450
layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) writeonly restrict buffer To { vec4 to[]; };
layout(binding = 1) uniform sampler2D from;
layout(push_constant) uniform Push { int n; float scale; };
vec4 by_hand(vec2 at) {
    const ivec2 size = textureSize(from, 0);
    const vec2 x = at * vec2(size) - 0.5, below = floor(x), f = x - below;
    const ivec2 i = ivec2(below), a = clamp(i, ivec2(0), size - 1), b = clamp(i + 1, ivec2(0), size - 1);
    const vec4 p = texelFetch(from, a, 0), q = texelFetch(from, ivec2(b.x, a.y), 0);
    const vec4 r = texelFetch(from, ivec2(a.x, b.y), 0), s = texelFetch(from, b, 0);
    const vec4 upper = p + f.x * (q - p), lower = r + f.x * (s - r);
    return upper + f.y * (lower - upper);
}
void main() {
    const ivec2 at = ivec2(gl_GlobalInvocationID);
    if (at.x >= n || at.y >= n) return;
    const vec2 p = (vec2(at) + 0.5) * (scale / float(n));
    const vec2 uv = vec2(p.x + p.y * 0.3, p.y - p.x * 0.2);
    to[at.y * n + at.x] = SAMPLE;
}
)";

std::vector<uint8_t> picture() {
    std::vector<uint8_t> pixels;
    for (uint32_t i = 0; i < 4 * texels * texels; ++i) pixels.push_back(uint8_t(i * 2654435761u >> 13));
    return pixels;
}

Measurement run(Bench& bench, const Device& device, Sampling sampling, bool peer_samples) {
    const float scale = 1.1f;
    const std::vector<uint8_t> pixels = picture();
    const Image<float4> image = device.image<float4>(Format::rgba8_unorm, {texels, texels});
    image.upload_pixels(std::as_bytes(std::span(pixels)));
    const Texture<float4> from = texture(image, {.sampling = sampling});
    const Array<float4, 2> to = device.zeros<float4>({items, items});
    // The device cpu chooses its group itself.
    const Range range = device.name().rfind("cpu", 0) == 0 ? ndrange(items, items) : ndrange(items, items).group(8, 32);
    const Side ours = launches([&] { return zoom(range, to, from, scale); });

    std::string glsl = peer_glsl;
    glsl.replace(glsl.find("SAMPLE"), 6, peer_samples ? "textureLod(from, uv, 0.0)" : "by_hand(uv)");
    raw::Pipeline pipeline(bench.raw, "zoom", glsl, 1, 8, 4, 1);
    raw::Buffer pto(bench.raw, size_t(16) * items * items);
    const raw::Image pfrom(bench.raw, texels, texels, peer_samples, pixels);
    const Side peer =
        dispatches(bench.raw, pipeline, pipeline.bindings({&pto}, {&pfrom}), {word(items), word(scale)}, items / 32, items / 8);
    const Measurement m = compare(bench, ours, peer);
    std::vector<float> got;
    for (const float4& t : to.download()) got.insert(got.end(), {t.x, t.y, t.z, t.w});
    require_same(got, pto.download<float>(), peer_samples ? 2e-2 : 1e-4);
    return m;
}

}  // namespace

std::vector<Case> image_cases() {
    const double samples = double(items) * items;
    const auto of = [&](const char* name, double target, auto device, Sampling sampling, bool peer_samples) {
        return Case{name,    Kind::variant, target,
                    samples, "Gsamples/s",  [=](Bench& bench) { return run(bench, device(bench), sampling, peer_samples); }};
    };
    const auto own = [](Bench& bench) { return bench.device; };
    const auto cpu = [](Bench&) { return Device::open("cpu"); };
    return {of("exact linear texture, 512^2", 1.1, own, Sampling::exact, false),
            of("linear texture by the device's sampler", 1.1, own, Sampling::fast, true),
            // A third: at least three times the samples a second of a software driver on the same processor.
            of("exact linear texture on cpu over this driver", 1.0 / 3, cpu, Sampling::exact, false),
            of("linear texture on cpu over this sampler", 1.0 / 3, cpu, Sampling::exact, true)};
}

}  // namespace bench
