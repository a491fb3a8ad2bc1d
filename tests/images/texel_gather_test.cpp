// Gradients by texels of samples at affine positions, which gather on devices without private copies: against those of the same
// samples at positions from an array, which scatter.
#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include "core/support/debug.h"
#include "tests/fuzz/seeds.h"
#include "tests/images/images.h"
#include "tests/log_capture.h"

using namespace pumice;
using namespace pumice::internal;

namespace {

/// The device under test; the cpu is opened anew, without the private copies to which it would add.
class TexelGather : public testing::Test {
protected:
    void SetUp() override {
        kept_device->close();
        const debug::Override rules("PUMICE_CPU_WITHOUT", "privatised_reductions");
        suite::device();
    }
    void TearDown() override { kept_device->close(); }
};

/// The position of item i along an axis is s * i + o.
using Line = std::array<float, 2>;
constexpr auto place = [](auto i, auto s, auto o) { return cast<float>(i) * s + o; };

const auto line = kernel("line", Math::strict, [](Out<float4> to, In<Texture<float4, 1>> t, Val<float> s, Val<float> o) {
    auto x = global_index();
    to[x] = t.sample(place(x, s, o));
});
const auto picture =
    kernel("picture", Math::strict,
           [](Out<float4, 2> to, In<Texture<float4>> t, Val<float> sx, Val<float> ox, Val<float> sy, Val<float> oy) {
               auto [y, x] = global_index<2>();
               to(y, x) = t.sample(Val<float2>(place(x, sx, ox), place(y, sy, oy)));
           });
const auto volume = kernel("volume", Math::strict,
                           [](Out<float4, 3> to, In<Texture<float4, 3>> t, Val<float> sx, Val<float> ox, Val<float> sy,
                              Val<float> oy, Val<float> sz, Val<float> oz) {
                               auto [z, y, x] = global_index<3>();
                               to(z, y, x) = t.sample(Val<float3>(place(x, sx, ox), place(y, sy, oy), place(z, sz, oz)));
                           });
const auto line_at = kernel("line_at", Math::strict, [](Out<float4> to, In<Texture<float4, 1>> t, In<float> at) {
    auto i = global_index();
    to[i] = t.sample(at[i]);
});
const auto picture_at = kernel("picture_at", Math::strict, [](Out<float4> to, In<Texture<float4>> t, In<float2> at) {
    auto i = global_index();
    to[i] = t.sample(at[i]);
});
const auto volume_at = kernel("volume_at", Math::strict, [](Out<float4> to, In<Texture<float4, 3>> t, In<float> at) {
    auto i = global_index();
    to[i] = t.sample(Val<float3>(at[3 * i], at[3 * i + 1], at[3 * i + 2]));
});
const auto places = kernel("places", Math::strict, [](Out<float> to, Val<float> s, Val<float> o, Val<int> first) {
    auto i = global_index();
    to[i] = place(i + first, s, o);
});

std::vector<float> positions(const Device& d, int64_t first, int64_t n, Line l) {
    const auto all = d.zeros<float>(n);
    places(ndrange(n), all, l[0], l[1], int(first));
    return all.download();
}

template <int N> std::vector<float> floats_of(const Array<float4, N>& a) {
    std::vector<float> all;
    for (const float4& t : a.download()) all.insert(all.end(), {t.x, t.y, t.z, t.w});
    return all;
}
std::vector<float4> colours(int64_t n, uint32_t seed) {
    const std::vector<float> x = suite::numbers(size_t(4 * n), seed);
    std::vector<float4> all;
    for (size_t i = 0; i < size_t(n); ++i) all.push_back({x[4 * i], x[4 * i + 1] - 0.5f, -x[4 * i + 2], x[4 * i + 3]});
    return all;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want) {
    ASSERT_EQ(got.size(), want.size());
    float largest = 1;
    for (const float w : want) largest = std::max(largest, std::abs(w));
    for (size_t i = 0; i < got.size(); ++i)
        if (!(std::abs(got[i] - want[i]) <= 1e-5f * largest)) {
            ADD_FAILURE() << "number " << i << " is " << got[i] << ", and " << want[i] << " where items scatter";
            return;
        }
}

/// One to three dimensions, the first one the width: texels, items from `first` on, and the line of positions.
struct Resampling {
    std::vector<int64_t> texels, items;
    std::vector<Line> lines;
    int64_t first = 0;
};

template <int N> Array<float4, N> shaped(const Array<float4>& a, const int64_t (&extents)[N]) {
    if constexpr (N == 1)
        return a;
    else
        return a.reshape(extents);
}

/// True if items gathered.
template <int N> bool check(const Resampling& r, const Sampler& sampler) {
    const Device d = suite::device();
    int64_t texels[N], from[N], to[N], outs[N];  // the width last
    int64_t all_texels = 1, all_items = 1, all_outs = 1;
    for (size_t a = 0; a < N; ++a) {
        const size_t n = N - 1 - a;
        texels[n] = r.texels[a], from[n] = r.first, to[n] = r.first + r.items[a], outs[n] = to[n];
        all_texels *= texels[n], all_items *= r.items[a], all_outs *= outs[n];
    }
    const auto image = d.image<float4, N>(Format::rgba32_float, texels);
    image.upload(colours(all_texels, 3));
    const auto t = texture(image, sampler);
    const std::vector<float4> before = colours(all_texels, 5), seeds = colours(all_outs, 7);
    // Outside of the range the adjoints are there, too, but no item is.
    const auto y = shaped<N>(d.zeros<float4>(all_outs), outs), dy = shaped<N>(d.upload(seeds), outs);
    const auto shadow = shaped<N>(d.upload(before), texels);
    const Range range = [&] {
        if constexpr (N == 1) return ndrange({from[0]}, {to[0]});
        if constexpr (N == 2) return ndrange({from[0], from[1]}, {to[0], to[1]});
        if constexpr (N == 3) return ndrange({from[0], from[1], from[2]}, {to[0], to[1], to[2]});
    }();
    const auto& l = r.lines;
    const std::string log = log_of([&] {
        const auto run = [&](const auto& kernel, auto... numbers) {
            autodiff(Reverse, kernel, range, DuplicatedNoNeed(y, dy), Duplicated(t, shadow), Const(numbers)...);
        };
        if constexpr (N == 1) run(line, l[0][0], l[0][1]);
        if constexpr (N == 2) run(picture, l[0][0], l[0][1], l[1][0], l[1][1]);
        if constexpr (N == 3) run(volume, l[0][0], l[0][1], l[1][0], l[1][1], l[2][0], l[2][1]);
        d.synchronize();
    });

    std::vector<std::vector<float>> at;
    for (size_t a = 0; a < N; ++a) at.push_back(positions(d, r.first, r.items[a], l[a]));
    std::vector<float> list;
    std::vector<float2> pairs;
    std::vector<float4> chosen, left = seeds;
    for (int64_t i = 0; i < all_items; ++i) {
        int64_t rest = i, out = 0, stride = 1;
        std::array<float, N> p;
        for (size_t a = 0; a < N; ++a) {
            const int64_t n = rest % r.items[a];
            rest /= r.items[a], out += (n + r.first) * stride, stride *= outs[N - 1 - a];
            p[a] = at[a][size_t(n)];
        }
        list.insert(list.end(), p.begin(), p.end());
        if constexpr (N == 2) pairs.push_back({p[0], p[1]});
        chosen.push_back(seeds[size_t(out)]), left[size_t(out)] = {0, 0, 0, 0};
    }
    const auto z = d.zeros<float4>(all_items), dz = d.upload(chosen);
    const auto want = shaped<N>(d.upload(before), texels);
    const auto scatter = [&](const auto& kernel, const auto& where) {
        autodiff(Reverse, kernel, ndrange(all_items), DuplicatedNoNeed(z, dz), Duplicated(t, want), Const(where));
    };
    if constexpr (N == 1) scatter(line_at, d.upload(list));
    if constexpr (N == 2) scatter(picture_at, d.upload(pairs));
    if constexpr (N == 3) scatter(volume_at, d.upload(list));
    expect_near(floats_of(shadow), floats_of(want));
    EXPECT_EQ(floats_of(dy), floats_of(d.upload(left)));  // consumed
    return log.find("runs by footprint_gather") != std::string::npos;
}

/// The positions of the middles of n items, from `from` to `to`.
Line across(float from, float to, int64_t n) { return {(to - from) / float(n), from + (to - from) / float(2 * n)}; }

template <class F> void each_sampler(const F& check) {
    for (const Filter filter : {Filter::nearest, Filter::linear, Filter::cubic})
        for (const Wrap wrap : {Wrap::repeat, Wrap::clamp, Wrap::mirror, Wrap::border}) {
            SCOPED_TRACE(text(filter_names[size_t(filter)], " ", wrap_names[size_t(wrap)]));
            check(Sampler{.filter = filter, .wrap = wrap, .border = {0.5f, 0, 1, 1}});
        }
}

TEST_F(TexelGather, of_lines) {
    each_sampler([](const Sampler& s) {
        const auto gathers = [&](int64_t texels, int64_t items, float from, float to, int64_t first = 0) {
            SCOPED_TRACE(text(texels, " texels, ", items, " items from ", from, " to ", to));
            return check<1>({{texels}, {items}, {across(from, to, items)}, first}, s);
        };
        EXPECT_TRUE(gathers(7, 53, 0, 1));
        EXPECT_TRUE(gathers(16, 130, 0, 1));  // each fourth position is that of a texel
        EXPECT_TRUE(gathers(7, 53, 1, 0));    // mirrored
        EXPECT_TRUE(gathers(5, 61, -0.4f, 1.3f));
        EXPECT_TRUE(gathers(5, 61, 1.3f, -0.4f));
        EXPECT_TRUE(gathers(9, 97, 0.2f, 0.6f));  // some texels are not sampled
        EXPECT_TRUE(gathers(9, 97, 0.2f, 0.6f, 30));
        gathers(3, 200, -3.2f, 4.1f), gathers(1, 40, -1.5f, 1.5f), gathers(2, 50, -2, 3), gathers(1, 1, 0, 1);
        gathers(40, 11, 0, 1), gathers(33, 32, 0, 1), gathers(8, 40, 7, 9), gathers(8, 40, 100.25f, 101);
        gathers(6, 300, -60, 61);
        // The picture repeats far more often than there are items.
        EXPECT_FALSE(gathers(1, 100, 0, 3e6f) && s.wrap == Wrap::repeat);
        gathers(2, 100, 0, 150), gathers(1, 3, 0, 1e8f), gathers(2, 100, -5, 1e11f);
    });
}

TEST_F(TexelGather, of_lines_that_do_not_move) {
    for (const float slope : {0.0f, 1e-30f, 1e-9f})
        EXPECT_FALSE(check<1>({{8}, {60}, {Line{slope, 0.4f}}}, {.filter = Filter::linear})) << slope;
}

TEST_F(TexelGather, of_pictures) {
    each_sampler([](const Sampler& s) {
        EXPECT_TRUE(check<2>({{6, 5}, {19, 21}, {across(0, 1, 19), across(0, 1, 21)}}, s));
        EXPECT_TRUE(check<2>({{7, 3}, {30, 14}, {across(1.1f, -0.1f, 30), across(-0.2f, 1, 14)}, 2}, s));
        check<2>({{4, 9}, {23, 30}, {across(-1, 2, 23), across(1.5f, -0.5f, 30)}}, s);
        check<2>({{9, 8}, {13, 12}, {across(0, 1, 13), across(0, 1, 12)}}, s);
        check<2>({{1, 2}, {9, 8}, {across(0, 1, 9), across(0, 1, 8)}}, s);
    });
}

TEST_F(TexelGather, of_volumes) {
    for (const Wrap wrap : {Wrap::repeat, Wrap::clamp, Wrap::mirror, Wrap::border}) {
        SCOPED_TRACE(wrap_names[size_t(wrap)]);
        const Sampler s{.filter = Filter::linear, .wrap = wrap, .border = {1, 1, 0, 1}};
        EXPECT_TRUE(check<3>({{3, 4, 2}, {10, 11, 7}, {across(0, 1, 10), across(1, 0, 11), across(-0.1f, 1, 7)}}, s));
        check<3>({{2, 3, 4}, {5, 6, 9}, {across(-0.4f, 1.3f, 5), across(0, 1, 6), across(1, 0, 9)}, 1}, s);
    }
}

// ---- other kernels ----

struct Pictures {
    Device d = suite::device();
    int64_t height = 5, width = 6, rows = 20, columns = 22;
    Array<float4, 2> y = d.zeros<float4>({rows, columns}), dy = d.upload(colours(rows * columns, 2)).reshape({rows, columns}),
                     shadow = d.upload(colours(height * width, 4)).reshape({height, width}), want = shadow.clone();
    Texture<float4> t = [this] {
        const auto image = d.image<float4>(Format::rgba32_float, {height, width});
        image.upload(colours(height * width, 3));
        return texture(image, {.filter = Filter::linear, .wrap = Wrap::repeat});
    }();
    Array<float2, 2> at() const {
        std::vector<float2> all;
        const std::vector<float> x = positions(d, 0, columns, across(0, 1, columns)),
                                 v = positions(d, 0, rows, across(0, 1, rows));
        for (const float b : v)
            for (const float a : x) all.push_back({a, b});
        return d.upload(all).reshape({rows, columns});
    }
};

/// One body for two kernels: positions from indices, and from an array. Both gradients agree.
template <class F> void compare(const char* name, const F& body, bool gathers = true) {
    Pictures p;
    const Line x = across(0, 1, p.columns), y = across(0, 1, p.rows);
    const auto affine = kernel(name, Math::strict, [body, x, y](Out<float4, 2> to, In<Texture<float4>> t) {
        auto [j, i] = global_index<2>();
        body(to, t, j, i, place(i, x[0], x[1]), place(j, y[0], y[1]));
    });
    const auto given = kernel(name, Math::strict, [body](Out<float4, 2> to, In<Texture<float4>> t, In<float2, 2> at) {
        auto [j, i] = global_index<2>();
        const Val<float2> here = at(j, i);
        body(to, t, j, i, here.x, here.y);
    });
    const Array<float4, 2> seeds = p.dy.clone();
    const std::string log = log_of([&] {
        autodiff(Reverse, affine, ndrange(p.rows, p.columns), Duplicated(p.y, p.dy), Duplicated(p.t, p.shadow));
        p.d.synchronize();
    });
    EXPECT_EQ(log.find("runs by footprint_gather") != std::string::npos, gathers) << log;
    const Array<float4, 2> result = p.y.clone();
    autodiff(Reverse, given, ndrange(p.rows, p.columns), Duplicated(p.y, seeds), Duplicated(p.t, p.want), Const(p.at()));
    expect_near(floats_of(p.shadow), floats_of(p.want));
    expect_near(floats_of(result), floats_of(p.y));
}

TEST_F(TexelGather, of_a_square) {
    compare("square", [](auto& to, auto& t, auto j, auto i, auto u, auto v) {
        const Val<float4> c = t.sample(Val<float2>(u, v));
        to(j, i) = Val<float4>(c.x * c.x, c.y * c.z, sin(c.z), c.x + c.w);
    });
}

TEST_F(TexelGather, under_a_condition) {
    compare("guarded", [](auto& to, auto& t, auto j, auto i, auto u, auto v) {
        $if(i % 3 != j % 2) { to(j, i) = t.sample(Val<float2>(u, v)); }
        $else { to(j, i) = Val<float4>(0.0f, 0.0f, 0.0f, 0.0f); }
    });
}

TEST_F(TexelGather, of_several_samples) {
    compare("blurred", [](auto& to, auto& t, auto j, auto i, auto u, auto v) {
        const Val<float4> a = t.sample(Val<float2>(u, v)), b = t.sample(Val<float2>(u + 0.1f, v)),
                          c = t.sample(Val<float2>(u * 0.5f, v - 0.2f));
        to(j, i) = Val<float4>(a.x + 2.0f * b.x, a.y * b.y, c.z, a.w - c.w);
    });
}

/// One sample is at a position that no gather can invert: its texels are scattered beside the others.
TEST_F(TexelGather, beside_a_sample_that_scatters) {
    compare("beside", [](auto& to, auto& t, auto j, auto i, auto u, auto v) {
        const Val<float4> a = t.sample(Val<float2>(u, v)), b = t.sample(Val<float2>(u * u, v));
        to(j, i) = Val<float4>(a.x + b.x, a.y, b.z, a.w * b.w);
    });
}

/// A rotated picture is scattered.
TEST_F(TexelGather, not_of_a_rotation) {
    compare(
        "rotated",
        [](auto& to, auto& t, auto j, auto i, auto u, auto v) {
            to(j, i) = t.sample(Val<float2>(u * 0.8f - v * 0.6f, u * 0.6f + v * 0.8f));
        },
        false);
}

/// The derivative by the scale is scattered beside texels that gather.
TEST_F(TexelGather, beside_the_derivative_by_the_scale) {
    Pictures p;
    const auto line = across(0, 1, p.columns);
    const float s = line[0], o = line[1];
    const std::string log = log_of([&] {
        const Array<float4, 2> seeds = p.dy.clone(), unused = p.shadow.clone();
        const auto [with] = autodiff(Reverse, picture, ndrange(p.rows, p.columns), Duplicated(p.y, p.dy),
                                     Duplicated(p.t, p.shadow), Active(s), Const(o), Const(s), Const(o));
        const auto [without] = autodiff(Reverse, picture, ndrange(p.rows, p.columns), Duplicated(p.y, seeds), Const(p.t),
                                        Active(s), Const(o), Const(s), Const(o));
        EXPECT_NEAR(with, without, 1e-4f * std::abs(without));
    });
    EXPECT_NE(log.find("runs by footprint_gather"), std::string::npos) << log;
}

/// A NaN reaches the texels that its item has sampled, and no others.
TEST_F(TexelGather, keeps_a_NaN_to_the_texels_of_its_item) {
    Pictures p;
    std::vector<float4> seeds(size_t(p.rows * p.columns), float4{1, 1, 1, 1});
    seeds[size_t(7 * p.columns + 9)].y = NAN;
    p.dy.copy_from(seeds);
    const Array<float4, 2> more = p.dy.clone();
    const auto [s, o] = across(0, 1, p.columns);
    const auto [t, v] = across(0, 1, p.rows);
    autodiff(Reverse, picture, ndrange(p.rows, p.columns), DuplicatedNoNeed(p.y, p.dy), Duplicated(p.t, p.shadow), Const(s),
             Const(o), Const(t), Const(v));
    const auto given = kernel("given", Math::strict, [](Out<float4, 2> to, In<Texture<float4>> from, In<float2, 2> at) {
        auto [j, i] = global_index<2>();
        to(j, i) = from.sample(at(j, i));
    });
    autodiff(Reverse, given, ndrange(p.rows, p.columns), DuplicatedNoNeed(p.y, more), Duplicated(p.t, p.want), Const(p.at()));
    const std::vector<float> got = floats_of(p.shadow), want = floats_of(p.want);
    EXPECT_EQ(std::ranges::count_if(want, [](float x) { return std::isnan(x); }), 4);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), std::isnan(want[i])) << i;
}

/// Results have a fixed order of additions.
TEST_F(TexelGather, is_deterministic) {
    std::vector<float> first;
    for (int n = 0; n < 3; ++n) {
        Pictures p;
        const auto [s, o] = across(0, 1, p.columns);
        autodiff(Reverse, picture, ndrange(p.rows, p.columns), DuplicatedNoNeed(p.y, p.dy), Duplicated(p.t, p.shadow), Const(s),
                 Const(o), Const(s), Const(o));
        if (n == 0) first = floats_of(p.shadow);
        EXPECT_EQ(floats_of(p.shadow), first);
    }
}

// ---- layers and levels ----

TEST_F(TexelGather, of_layers) {
    const Device d = suite::device();
    const int64_t layers = 3, h = 4, w = 5, rows = 17, columns = 19;
    const auto every =
        kernel("every", Math::strict, [](Out<float4, 3> to, In<TextureArray<float4>> t, Val<float> sx, Val<float> sy) {
            auto [l, y, x] = global_index<3>();
            to(l, y, x) = t.sample(Val<float2>(place(x, sx, 0.01f), place(y, sy, 0.01f)), l);
        });
    const auto given = kernel("given", Math::strict, [](Out<float4, 3> to, In<TextureArray<float4>> t, In<float2, 2> at) {
        auto [l, y, x] = global_index<3>();
        to(l, y, x) = t.sample(at(y, x), l);
    });
    const auto images = d.image_array<float4>(Format::rgba32_float, layers, {h, w});
    for (int l = 0; l < layers; ++l) images.upload(colours(h * w, uint32_t(l + 1)), 0, l);
    const float sx = 1.0f / columns, sy = 1.0f / rows;
    std::vector<float2> at;
    for (const float v : positions(d, 0, rows, {sy, 0.01f}))
        for (const float u : positions(d, 0, columns, {sx, 0.01f})) at.push_back({u, v});
    const auto y = d.zeros<float4>({layers, rows, columns});
    const auto seeds = d.upload(colours(layers * rows * columns, 9)).reshape({layers, rows, columns}), more = seeds.clone();
    const auto shadow = d.zeros<float4>({layers, h, w}), want = d.zeros<float4>({layers, h, w});
    const auto t = texture(images, {.filter = Filter::linear, .wrap = Wrap::mirror});
    const std::string log = log_of([&] {
        autodiff(Reverse, every, ndrange(layers, rows, columns), DuplicatedNoNeed(y, seeds), Duplicated(t, shadow), Const(sx),
                 Const(sy));
        d.synchronize();
    });
    EXPECT_NE(log.find("runs by footprint_gather"), std::string::npos) << log;
    autodiff(Reverse, given, ndrange(layers, rows, columns), DuplicatedNoNeed(y, more), Duplicated(t, want),
             Const(d.upload(at).reshape({rows, columns})));
    expect_near(floats_of(shadow), floats_of(want));
}

TEST_F(TexelGather, of_levels) {
    const Device d = suite::device();
    const int64_t h = 8, w = 12, rows = 40, columns = 50;
    const auto level = kernel("level", Math::strict, [](Out<float4, 2> to, In<Texture<float4>> t, Val<float> s, Val<float> lod) {
        auto [y, x] = global_index<2>();
        to(y, x) = t.sample(Val<float2>(place(x, s, 0.01f), place(y, s, 0.01f)), lod);
    });
    const auto given =
        kernel("given", Math::strict, [](Out<float4, 2> to, In<Texture<float4>> t, In<float2, 2> at, Val<float> lod) {
            auto [y, x] = global_index<2>();
            to(y, x) = t.sample(at(y, x), lod);
        });
    const auto image = d.image<float4>(Format::rgba32_float, {h, w}, {.levels = 3});
    image.upload(colours(h * w, 1));
    image.generate_levels();
    const float s = 1.0f / columns;
    std::vector<float2> at;
    for (const float v : positions(d, 0, rows, {s, 0.01f}))
        for (const float u : positions(d, 0, columns, {s, 0.01f})) at.push_back({u, v});
    for (const Filter mip : {Filter::nearest, Filter::linear})
        for (const float lod : {0.0f, 0.7f, 2.0f, 9.0f}) {
            SCOPED_TRACE(text(filter_names[size_t(mip)], " ", lod));
            const auto t = texture(image, {.filter = Filter::linear, .wrap = Wrap::clamp, .mip_filter = mip});
            const auto y = d.zeros<float4>({rows, columns});
            const auto seeds = d.upload(colours(rows * columns, 9)).reshape({rows, columns}), more = seeds.clone();
            const auto shadow = d.zeros<float4>({3, h, w}), want = d.zeros<float4>({3, h, w});
            const std::string log = log_of([&] {
                autodiff(Reverse, level, ndrange(rows, columns), DuplicatedNoNeed(y, seeds), Duplicated(t, shadow), Const(s),
                         Const(lod));
                d.synchronize();
            });
            EXPECT_NE(log.find("runs by footprint_gather"), std::string::npos) << log;
            autodiff(Reverse, given, ndrange(rows, columns), DuplicatedNoNeed(y, more), Duplicated(t, want),
                     Const(d.upload(at).reshape({rows, columns})), Const(lod));
            expect_near(floats_of(shadow), floats_of(want));
        }
}

// ---- random kernels ----

/// A kernel with some samples of a random texture of four channels, at positions that are affine, or nearly so, under conditions
/// and inside of other terms. Reverse mode is the transpose of forward mode: <seeds, J t> = <J' seeds, t>.
template <int N> class RandomSamples {
public:
    explicit RandomSamples(uint64_t from) : random(from * 0x9e3779b97f4a7c15u + 3), seed(from) {
        for (size_t a = 0; a < N; ++a) {
            texels[a] = 1 + roll(a + 1 < N ? 6 : 9), first[a] = roll(3) ? 0 : roll(5);
            end[a] = first[a] + 1 + roll(N == 1 ? 120 : N == 2 ? 30 : 12);
            if (roll(2)) end[a] = first[a] + texels[a] * (N == 3 ? 3 : 4) + roll(3);
        }
        sampler = {.filter = N == 3 ? Filter::linear : Filter(roll(3)), .wrap = Wrap(roll(4)), .border = {1, 0.5f, 0, 1}};
        how = random();
        kernel.emplace(pumice::kernel(text("random_samples_", seed),
                                      [this](Out<float4, N> to, In<Texture<float4, N>> t, Val<float> c) { record(to, t, c); }));
    }

    /// True if texels gathered.
    bool check() {
        const Device d = suite::device();
        int64_t all = 1, outs = 1;
        for (size_t a = 0; a < N; ++a) all *= texels[a], outs *= end[a];
        const std::vector<float4> tangents = colours(all, 11), seeds = colours(outs, 12);
        const auto image = d.image<float4, N>(Format::rgba32_float, texels);
        image.upload(colours(all, 13));
        const auto t = texture(image, sampler);
        const auto y = shaped<N>(d.zeros<float4>(outs), end), moved = shaped<N>(d.zeros<float4>(outs), end),
                   dy = shaped<N>(d.upload(seeds), end), along = shaped<N>(d.upload(tangents), texels),
                   shadow = shaped<N>(d.zeros<float4>(all), texels);
        const Range range = ndrange(first, end);
        autodiff(Forward, *kernel, range, Duplicated(y, moved), Duplicated(t, along), Const(0.3f));
        const std::string log = log_of([&] {
            autodiff(Reverse, *kernel, range, Duplicated(y, dy), Duplicated(t, shadow), Const(0.3f));
            d.synchronize();
        });
        double forwards = 0, backwards = 0, scale = 1e-6;
        const auto add = [&](const std::vector<float>& a, const std::vector<float>& b, double& sum) {
            for (size_t i = 0; i < a.size(); ++i)
                sum += double(a[i]) * double(b[i]), scale += std::abs(double(a[i]) * double(b[i]));
        };
        add(floats_of(moved), floats_of(d.upload(seeds)), forwards);
        add(floats_of(shadow), floats_of(d.upload(tangents)), backwards);
        EXPECT_NEAR(forwards, backwards, 5e-6 * scale)
            << "PUMICE_FUZZ_SEED=" << seed << ", " << filter_names[size_t(sampler.filter)] << ", "
            << wrap_names[size_t(sampler.wrap)] << "\n"
            << log << kernel->ir();
        return log.find("runs by footprint_gather") != std::string::npos;
    }

private:
    int64_t roll(int64_t n) { return int64_t(random() % uint64_t(n)); }
    float real(double low, double high) { return float(low + (high - low) * double(random() >> 11) * 0x1p-53); }

    /// A position along dimension a; most are affine in the index of the dimension.
    Val<float> position(const std::array<Val<int>, N>& i, size_t a, Val<float> c) {
        const float span = float(end[a] - first[a]);
        const Val<int> whole = roll(6) ? i[a] : roll(2) ? Val<int>(2 * i[a]) : Val<int>(7 - i[a]);
        const Val<float> x = cast<float>(whole);
        const float scale = roll(8) == 0 ? 3 : roll(30) == 0 ? real(100, 1e7) : real(0.2, 1.2);
        switch (roll(7)) {
            case 0: return (x + 0.5f) / span;
            case 1: return 1.0f - (x + 0.5f) / span * scale;
            case 2: return x * (scale / span) + c - 0.25f;
            case 3: return fma(x, scale / span, real(-1, 1));
            case 4: return x * scale / span - x * (0.2f / span);
            case 5: return -x * (c * scale * 2.0f / span) + real(-0.5, 1.5);
            default: return roll(4) ? x * (scale / span) : x * x * (scale / span / span);
        }
    }

    void record(const Out<float4, N>& to, const In<Texture<float4, N>>& t, Val<float> c) {
        random.seed(how);
        const auto own = [&] {
            if constexpr (N == 1) return std::array<Val<int>, 1>{global_index()};
            if constexpr (N == 2) {
                auto [y, x] = global_index<2>();
                return std::array<Val<int>, 2>{y, x};
            }
            if constexpr (N == 3) {
                auto [z, y, x] = global_index<3>();
                return std::array<Val<int>, 3>{z, y, x};
            }
        }();
        const auto sample = [&]() -> Val<float4> {
            if constexpr (N == 1) return t.sample(position(own, 0, c));
            if constexpr (N == 2) {
                const Val<float> v = position(own, 0, c), u = position(own, 1, c);
                return t.sample(Val<float2>(u, v));
            }
            if constexpr (N == 3) {
                const Val<float> w = position(own, 0, c), v = position(own, 1, c), u = position(own, 2, c);
                return t.sample(Val<float3>(u, v, w));
            }
        };
        const Val<float4> a = sample();
        Var<float> x = a.x, y = a.y, z = a.z, w = a.w;
        // SwiftShader takes half a minute to compile more taps than that.
        const bool many_taps = N == 3 || (N == 2 && sampler.filter == Filter::cubic);
        for (int64_t n = many_taps ? 0 : roll(N == 1 ? 3 : 2); n > 0; --n) {
            const bool guarded = roll(3) == 0;
            const auto more = [&] {
                const Val<float4> b = sample();
                x += b.x * 0.5f, y *= b.y + 1.0f, z = max(z, b.z), w += sin(b.w) * c;
            };
            if (guarded) {
                $if(own[0] % 3 != 1) { more(); }
            } else {
                more();
            }
        }
        const Val<float4> out(x, y * z, z + w * w, select(x > 0.4f, w, x));
        if constexpr (N == 1) to[own[0]] = out;
        if constexpr (N == 2) to(own[0], own[1]) = out;
        if constexpr (N == 3) to(own[0], own[1], own[2]) = out;
    }

    std::mt19937_64 random;
    const uint64_t seed;
    uint64_t how = 0;
    int64_t texels[N], first[N], end[N];  // the width last
    Sampler sampler;
    std::optional<Kernel<Out<float4, N>, In<Texture<float4, N>>, Val<float>>> kernel;
};

TEST_F(TexelGather, of_random_kernels_is_the_transpose_of_forward_mode) {
    if (suite::device().name().find("SwiftShader") != std::string::npos)
        GTEST_SKIP() << "SwiftShader takes half a minute to compile some of the kernels";
    int kernels = 0, gathered = 0;
    fuzz::each_seed(60, [&](uint64_t seed) {
        ++kernels;
        switch (seed % 4) {
            case 0: gathered += RandomSamples<1>(seed).check(); break;
            case 1: gathered += RandomSamples<3>(seed).check(); break;
            default: gathered += RandomSamples<2>(seed).check(); break;
        }
    });
    if (kernels >= 15) { EXPECT_GE(gathered, kernels / 4); }
}

}  // namespace
