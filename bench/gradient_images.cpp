// Gradients of textures: by their texels, to which several items add, and by the positions of the samples.
#include "bench/gradient_cases.h"

namespace bench::gradients {

using namespace pumice;

namespace {

constexpr int64_t items = 1024, texels = 512;

const auto zoom = kernel("zoom", [](Out<float4, 2> to, In<Texture<float4>> from, Val<float> scale) {
    auto [y, x] = global_index<2>();
    auto u = (cast<float>(x) + 0.5f) / float(items), v = (cast<float>(y) + 0.5f) / float(items);
    to(y, x) = from.sample(Val<float2>(u * scale + v * 0.3f, v * scale - u * 0.2f));
});
const auto look = kernel("look", [](Out<float4, 2> to, In<Texture<float4>> from, In<float2, 2> at) {
    auto [y, x] = global_index<2>();
    to(y, x) = from.sample(at(y, x));
});

const auto resample = kernel("resample", [](Out<float4, 2> to, In<Texture<float4>> from) {
    auto [y, x] = global_index<2>();
    const auto place = [&](auto i, int d) { return (cast<float>(i) + 0.5f) / cast<float>(to.size(d)); };
    to(y, x) = from.sample(Val<float2>(place(x, 1), place(y, 0)));
});

Texture<float4> picture(const Device& d, Filter filter, int64_t side = texels) {
    const Image<float4> image = d.image<float4>(Format::rgba8_unorm, {side, side});
    std::vector<std::byte> pixels(size_t(4 * side * side));
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = std::byte(i * 2654435761u >> 13);
    image.upload_pixels(pixels);
    return texture(image, {.filter = filter, .wrap = Wrap::repeat});
}

std::vector<float> numbers_of(const Array<float4, 2>& shadow) {
    std::vector<float> all;
    for (const float4& t : shadow.download()) all.insert(all.end(), {t.x, t.y, t.z, t.w});
    return all;
}

Case by_texels(const Device& d, const char* name, Filter filter) {
    const Texture<float4> from = picture(d, filter);
    const Array<float4, 2> to = d.zeros<float4>({items, items}), d_to = d.zeros<float4>({items, items}),
                           shadow = d.zeros<float4>({texels, texels});
    const Range r = ndrange(items, items);
    return {
        name,
        3,
        [=] { shadow.fill({}), d_to.fill({1, 1, 1, 1}); },
        [=] { zoom(r, to, from, 1.7f).wait(); },
        [=] { autodiff(Reverse, zoom, r, DuplicatedNoNeed(to, d_to), Duplicated(from, shadow), Const(1.7f)), d.synchronize(); },
        {},
        [=] { return numbers_of(shadow); }};
}

}  // namespace

Case linear_texels(const Device& d) { return by_texels(d, "gradient: linear texture, 1024^2", Filter::linear); }
Case cubic_texels(const Device& d) { return by_texels(d, "gradient: cubic texture, 1024^2", Filter::cubic); }

namespace {
Case resampled(const Device& d, const char* name, double target, int64_t side, int64_t from_side) {
    const Texture<float4> from = picture(d, Filter::linear, from_side);
    const Array<float4, 2> to = d.zeros<float4>({side, side}), d_to = d.zeros<float4>({side, side}),
                           shadow = d.zeros<float4>({from_side, from_side});
    const Range r = ndrange(side, side);
    return {name,
            target,
            [=] { shadow.fill({}), d_to.fill({1, 1, 1, 1}); },
            [=] { resample(r, to, from).wait(); },
            [=] { autodiff(Reverse, resample, r, DuplicatedNoNeed(to, d_to), Duplicated(from, shadow)), d.synchronize(); },
            {},
            [=] { return numbers_of(shadow); }};
}
}  // namespace

Case magnified_texels(const Device& d) { return resampled(d, "gradient: magnified texture, 1024^2", 3, 1024, 512); }
Case large_texels(const Device& d) { return resampled(d, "gradient: large texture, 2304^2", 10, 2304, 2304); }

Case texture_positions(const Device& d) {
    const Texture<float4> from = picture(d, Filter::linear);
    const Array<float4, 2> to = d.zeros<float4>({items, items}), d_to = d.zeros<float4>({items, items}),
                           shadow = d.zeros<float4>({texels, texels});
    std::vector<float2> places;
    for (int64_t y = 0; y < items; ++y)
        for (int64_t x = 0; x < items; ++x) {
            const float u = (float(x) + 0.5f) / float(items), v = (float(y) + 0.5f) / float(items);
            places.push_back({u * 1.7f + v * 0.3f, v * 1.7f - u * 0.2f});
        }
    const Array<float2, 2> at = d.upload(places, {items, items}), d_at = d.zeros<float2>({items, items});
    const Range r = ndrange(items, items);
    return {"gradient: texture and positions, 1024^2",
            3,
            [=] { shadow.fill({}), d_at.fill({}), d_to.fill({1, 1, 1, 1}); },
            [=] { look(r, to, from, at).wait(); },
            [=] {
                autodiff(Reverse, look, r, DuplicatedNoNeed(to, d_to), Duplicated(from, shadow), Duplicated(at, d_at));
                d.synchronize();
            },
            {},
            [=] { return numbers_of(shadow); }};
}

}  // namespace bench::gradients
