// Derivatives by texels and by positions, backwards and forwards, against central differences and closed forms.
#include "tests/images/images.h"

using namespace pumice;
using namespace pumice::internal;
using suite::device;

namespace {

constexpr int64_t height = 6, width = 9, samples = 40;

const auto look = kernel("look", [](Out<float> out, In<Texture<float>> t, In<float2> at) {
    auto i = global_index();
    out[i] = t.sample(at[i]);
});

struct Case {
    Filter filter;
    Wrap wrap;
};

double value(const Sampler& sampler, const std::vector<float>& texels, const std::vector<float2>& at,
             const std::vector<float>& weights) {
    const Device d = device();
    const auto image = d.image<float>(Format::r32_float, {height, width});
    image.upload(texels);
    const auto out = d.zeros<float>(samples);
    look(ndrange(samples), out, texture(image, sampler), d.upload(at));
    double sum = 0;
    const std::vector<float> host = out.download();
    for (size_t i = 0; i < host.size(); ++i) sum += double(host[i]) * double(weights[i]);
    return sum;
}

TEST(ImageDerivatives, texels_and_positions_agree_with_central_differences) {
    const Device d = device();
    const std::vector<float> texels = suite::numbers(size_t(height * width), 4), weights = suite::numbers(samples, 8),
                             x = suite::numbers(2 * samples, 6);
    std::vector<float2> at;
    for (size_t i = 0; i < size_t(samples); ++i) at.push_back({x[2 * i] * 1.6f - 0.3f, x[2 * i + 1] * 1.6f - 0.3f});
    for (const Filter filter : {Filter::linear, Filter::cubic})
        for (const Wrap wrap : {Wrap::repeat, Wrap::clamp, Wrap::mirror, Wrap::border}) {
            SCOPED_TRACE(text(filter_names[size_t(filter)], " ", wrap_names[size_t(wrap)]));
            const Sampler sampler{.filter = filter, .wrap = wrap, .border = {0.5f}};
            const auto image = d.image<float>(Format::r32_float, {height, width});
            image.upload(texels);
            const auto out = d.zeros<float>(samples), d_out = d.upload(weights);
            const auto positions = d.upload(at), d_positions = d.zeros<float2>(samples);
            const auto d_texels = d.zeros<float>({height, width});
            autodiff(Reverse, look, ndrange(samples), Duplicated(out, d_out), Duplicated(texture(image, sampler), d_texels),
                     Duplicated(positions, d_positions));
            const std::vector<float> by_texel = d_texels.download();
            const std::vector<float2> by_position = d_positions.download();
            for (size_t i = 0; i < texels.size(); i += 5) {
                std::vector<float> more = texels, less = texels;
                more[i] += 0.25f, less[i] -= 0.25f;  // the sample is linear in the texels
                const double difference = (value(sampler, more, at, weights) - value(sampler, less, at, weights)) / 0.5;
                EXPECT_NEAR(by_texel[i], difference, 2e-4) << "texel " << i;
            }
            for (size_t i = 0; i < at.size(); i += 7) {
                const float step = 1e-3f;
                std::vector<float2> more = at, less = at;
                more[i].x += step, less[i].x -= step;
                // Steps across a texel's centre, where a linear filter has a kink, are left out.
                const auto place = [&](float u) { return std::floor(u * float(width) - 0.5f); };
                if (place(more[i].x) != place(less[i].x)) continue;
                const double difference =
                    (value(sampler, texels, more, weights) - value(sampler, texels, less, weights)) / (2 * double(step));
                EXPECT_NEAR(by_position[i].x, difference, 2e-2 * std::max(1.0, std::abs(difference))) << "position " << i;
            }
            // Forwards along the gradient itself: its square.
            const auto tangent = d.zeros<float>(samples);
            autodiff(Forward, look, ndrange(samples), Duplicated(out, tangent), Duplicated(texture(image, sampler), d_texels),
                     Duplicated(positions, d_positions));
            double forwards = 0, squares = 0;
            const std::vector<float> moved = tangent.download();
            for (size_t i = 0; i < moved.size(); ++i) forwards += double(moved[i]) * double(weights[i]);
            for (const float g : by_texel) squares += double(g) * double(g);
            for (const float2 g : by_position) squares += double(g.x) * double(g.x) + double(g.y) * double(g.y);
            EXPECT_NEAR(forwards, squares, 1e-4 * squares);
        }
}

TEST(ImageDerivatives, the_gradient_of_a_blur_is_the_transposed_blur) {
    const Device d = device();
    const auto blur = kernel("blur", [](Out<float, 2> out, In<Image<float>> image) {
        auto [y, x] = global_index<2>();
        Var sum = 0.0f;
        for (int i = -1; i <= 1; ++i) sum += image(y, clamp(x + i, 0, image.size(1) - 1)) * (i == 0 ? 0.5f : 0.25f);
        out(y, x) = sum;
    });
    const auto image = d.image<float>(Format::r8_unorm, {height, width});
    image.upload(suite::numbers(size_t(height * width)));
    const auto out = d.zeros<float>({height, width}), d_image = d.zeros<float>({height, width});
    const std::vector<float> weights = suite::numbers(size_t(height * width), 3);
    const auto d_out = d.upload(weights, {height, width});
    autodiff(Reverse, blur, ndrange(height, width), Duplicated(out, d_out), Duplicated(image, d_image));
    const std::vector<float> got = d_image.download();
    for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x) {
            double wanted = 0;
            for (int64_t from = 0; from < width; ++from)
                for (int i = -1; i <= 1; ++i)
                    if (std::clamp<int64_t>(from + i, 0, width - 1) == x)
                        wanted += (i == 0 ? 0.5 : 0.25) * double(weights[size_t(y * width + from)]);
            EXPECT_NEAR(got[size_t(y * width + x)], wanted, 1e-5);
        }
}

TEST(ImageDerivatives, a_written_image_gives_its_shadow_back_and_is_stored_whole) {
    const Device d = device();
    const auto tint = kernel("tint", [](Out<Image<float4>> out, In<Image<float4>> in, Val<float> gain) {
        auto [y, x] = global_index<2>();
        auto c = in(y, x);
        out(y, x) = Val<float4>(c.x * gain, c.y * c.y, c.z, 1.0f);
    });
    const auto in = d.image<float4>(Format::rgba8_unorm, {2, 3}), out = d.image<float4>(Format::rgba16_float, {2, 3});
    const std::vector<float> x = suite::numbers(24);
    std::vector<float4> texels;
    for (size_t i = 0; i < 24; i += 4) texels.push_back({x[i], x[i + 1], x[i + 2], x[i + 3]});
    in.upload(texels);
    texels = in.download();
    const auto d_in = d.zeros<float4>({2, 3}), d_out = d.full<float4>({2, 3}, float4{1, 1, 1, 1});
    const auto [d_gain] = autodiff(Reverse, tint, ndrange(2, 3), Duplicated(out, d_out), Duplicated(in, d_in), Active(0.5f));
    double gain = 0;
    for (size_t i = 0; i < 6; ++i) {
        const float4 g = d_in.download()[i];
        EXPECT_NEAR(g.x, 0.5, 1e-6);
        EXPECT_NEAR(g.y, 2 * texels[i].y, 1e-5);
        EXPECT_EQ(g.z, 1.0f);
        EXPECT_EQ(g.w, 0.0f);
        EXPECT_EQ(d_out.download()[i], (float4{0, 0, 0, 0}));
        EXPECT_NEAR(out.download()[i].x, 0.5f * texels[i].x, 1e-3);
        EXPECT_EQ(out.download()[i].w, 1.0f);
        gain += double(texels[i].x);
    }
    EXPECT_NEAR(d_gain, gain, 1e-4);
}

TEST(ImageDerivatives, levels_have_a_dimension_of_the_shadow) {
    const Device d = device();
    const auto far = kernel("far", [](Out<float> out, In<Texture<float>> t, In<float> lod) {
        auto i = global_index();
        out[i] = t.sample(Val<float2>(0.5f, 0.5f), lod[i]);
    });
    const auto image = d.image<float>(Format::r32_float, {2, 2}, {.levels = 2});
    image.upload({1, 2, 3, 4});
    image.upload({7}, 1);
    const auto out = d.zeros<float>(1), d_out = d.full<float>(1, 1.0f), lod = d.full<float>(1, 0.25f), d_lod = d.zeros<float>(1);
    const auto d_texels = d.zeros<float>({2, 2, 2});
    autodiff(Reverse, far, ndrange(1), Duplicated(out, d_out),
             Duplicated(texture(image, {.mip_filter = Filter::linear}), d_texels), Duplicated(lod, d_lod));
    EXPECT_NEAR(out.download()[0], 2.5 + 0.25 * (7 - 2.5), 1e-5);
    EXPECT_NEAR(d_lod.download()[0], 7 - 2.5, 1e-5);
    const std::vector<float> g = d_texels.download();
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(g[i], 0.75 / 4, 1e-6);
    EXPECT_NEAR(g[4], 0.25, 1e-6);
    for (size_t i = 5; i < 8; ++i) EXPECT_EQ(g[i], 0.0f);
}

TEST(ImageDerivatives, a_shadow_of_other_extents_is_refused) {
    const Device d = device();
    const auto image = d.image<float>(Format::r32_float, {height, width});
    const auto out = d.zeros<float>(samples), positions_of = d.zeros<float>(samples);
    const auto at = d.zeros<float2>(samples);
    const auto wrong = d.zeros<float>({width, height});
    const std::string message = suite::message_of([&] {
        autodiff(Reverse, look, ndrange(samples), Duplicated(out, positions_of), Duplicated(texture(image), wrong), Const(at));
    });
    EXPECT_NE(message.find("the shadow of argument 2 has extents [9, 6], and the image has [6, 9]"), std::string::npos)
        << message;
}

}  // namespace
