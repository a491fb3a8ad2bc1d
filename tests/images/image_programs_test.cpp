// Derivatives of programs that use images: against the same programs on arrays, closed forms, and derivatives of kernels.
#include "tests/images/images.h"

using namespace pumice;
using suite::device;
using suite::message_of;

namespace {

constexpr int64_t height = 5, width = 7, texels = height * width;

// One step of a program, on images and on arrays. Products make each step's adjoint read what the step has read.
const auto step_images = kernel("step_images", [](Out<Image<float>> to, In<Image<float>> from, Val<float> c) {
    auto [y, x] = global_index<2>();
    to(y, x) = from(y, x) * from(y, (x + 1) % from.size(1)) * c + 0.25f * sin(from((y + 1) % from.size(0), x));
});
const auto step_arrays = kernel("step_arrays", [](Out<float, 2> to, In<float, 2> from, Val<float> c) {
    auto [y, x] = global_index<2>();
    to(y, x) = from(y, x) * from(y, (x + 1) % from.size(1)) * c + 0.25f * sin(from((y + 1) % from.size(0), x));
});
const auto square_image = kernel("square_image", [](InOut<Image<float>> image) {
    auto [y, x] = global_index<2>();
    image(y, x) = image(y, x) * image(y, x);
});
const auto add_image = kernel("add_image", [](InOut<float, 2> to, In<Image<float>> from) {
    auto [y, x] = global_index<2>();
    to(y, x) += from(y, x);
});

/// Steps between two images, or two arrays, that the program allocates.
const auto on_images = [](const Array<float, 2>& out, const Array<float, 2>& in, auto c) {
    const Device d = in.device();
    Image<float> now = d.image<float>(Format::r32_float, {height, width}),
                 next = d.image<float>(Format::r32_float, {height, width});
    now.copy_from(in);
    for (int step = 0; step < 6; ++step) {
        step_images(ndrange(height, width), next, now, c);
        std::swap(now, next);
    }
    now.copy_to(out);
};
const auto on_arrays = [](const Array<float, 2>& out, const Array<float, 2>& in, auto c) {
    const Device d = in.device();
    Array<float, 2> now = d.empty<float>({height, width}), next = d.empty<float>({height, width});
    now.copy_from(in);
    for (int step = 0; step < 6; ++step) {
        step_arrays(ndrange(height, width), next, now, c);
        std::swap(now, next);
    }
    out.copy_from(now);
};

struct Gradient {
    std::vector<float> out, by_in;
    float by_c = 0;
};
template <class Mode, class Program> Gradient gradient_of(Mode mode, const Program& program) {
    const Device d = device();
    const auto in = d.upload(suite::numbers(texels, 3), {height, width});
    const auto out = d.zeros<float>({height, width}), d_in = d.zeros<float>({height, width});
    const auto d_out = d.upload(suite::numbers(texels, 9), {height, width});
    const auto [by_c] = autodiff(mode, program, Duplicated(out, d_out), Duplicated(in, d_in), Active(0.9f));
    return {out.download(), d_in.download(), by_c};
}

TEST(ImagePrograms, a_program_on_images_has_the_gradient_of_the_one_on_arrays) {
    const Gradient wanted = gradient_of(Reverse, on_arrays);
    for (const int states : {0, 1, 2, 4}) {
        const Gradient got = gradient_of(states ? Reverse.checkpoints(states) : Reverse, on_images);
        EXPECT_EQ(got.out, wanted.out) << states << " states";
        for (size_t i = 0; i < wanted.by_in.size(); ++i)
            EXPECT_NEAR(got.by_in[i], wanted.by_in[i], 1e-5f * std::max(1.0f, std::abs(wanted.by_in[i])))
                << i << ", " << states << " states";
        EXPECT_NEAR(got.by_c, wanted.by_c, 1e-5f * std::abs(wanted.by_c)) << states << " states";
    }
}

TEST(ImagePrograms, tangents_run_along_with_images) {
    const Device d = device();
    const auto tangent_of = [&](const auto& program) {
        const auto in = d.upload(suite::numbers(texels, 3), {height, width}),
                   d_in = d.upload(suite::numbers(texels, 5), {height, width});
        const auto out = d.zeros<float>({height, width}), d_out = d.zeros<float>({height, width});
        autodiff(Forward, program, Duplicated(out, d_out), Duplicated(in, d_in), Duplicated(0.9f, 0.3f));
        return d_out.download();
    };
    const std::vector<float> got = tangent_of(on_images), wanted = tangent_of(on_arrays);
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5f * std::max(1.0f, std::abs(wanted[i]))) << i;
}

// Each step overwrites the image that its adjoint reads.
TEST(ImagePrograms, an_overwritten_image_comes_back_for_its_adjoint_and_keeps_its_final_texels) {
    const Device d = device();
    const std::vector<float> start = suite::numbers(texels, 4);
    for (const int states : {0, 1, 3}) {
        const auto image = d.image<float>(Format::r32_float, {height, width});
        image.upload(start);
        const auto d_image = d.full<float>({height, width}, 1.0f);
        autodiff(
            states ? Reverse.checkpoints(states) : Reverse,
            [](const Image<float>& i) {
                for (int n = 0; n < 3; ++n) square_image(ndrange(height, width), i);
            },
            Duplicated(image, d_image));
        const std::vector<float> now = image.download(), got = d_image.download();
        for (size_t i = 0; i < start.size(); ++i) {
            const double x = double(start[i]);
            EXPECT_NEAR(now[i], std::pow(x, 8), 1e-6) << states << " states";
            EXPECT_NEAR(got[i], 8 * std::pow(x, 7), 1e-5) << states << " states";
        }
    }
}

// Inner: the sum of x^4 by two squarings in place, whose gradient is 4 x^3. Outer: its derivative, 12 x^2.
TEST(ImagePrograms, a_derivative_within_a_program_keeps_its_images_as_the_program_does) {
    const Device d = device();
    const auto gradient = [&](int states) {
        return [&, states](const Array<float, 2>& g, const Array<float, 2>& x) {
            const auto own = d.zeros<float>({height, width}), out = d.zeros<float>({height, width}),
                       seed = d.full<float>({height, width}, 1.0f);
            const auto fourth = [&](const Array<float, 2>& to, const Array<float, 2>& from) {
                const auto image = d.image<float>(Format::r32_float, {height, width});
                image.copy_from(from);
                square_image(ndrange(height, width), image);
                square_image(ndrange(height, width), image);
                image.copy_to(to);
            };
            autodiff(states ? Reverse.checkpoints(states) : Reverse, fourth, Duplicated(out, seed), Duplicated(x, own));
            g.copy_from(own);
        };
    };
    for (const int inner : {0, 1, 2}) {
        const auto x = d.full<float>({height, width}, 0.5f), dx = d.full<float>({height, width}, 1.0f);
        const auto g = d.zeros<float>({height, width}), dg = d.zeros<float>({height, width});
        autodiff(Forward, gradient(inner), Duplicated(g, dg), Duplicated(x, dx));
        EXPECT_EQ(g.download(), std::vector<float>(texels, 0.5f)) << inner;
        EXPECT_EQ(dg.download(), std::vector<float>(texels, 3.0f)) << inner;
        for (const int outer : {0, 1, 2}) {
            const auto back = d.zeros<float>({height, width});
            autodiff(outer ? Reverse.checkpoints(outer) : Reverse, gradient(inner), Duplicated(g, dg), Duplicated(x, back));
            EXPECT_EQ(back.download(), std::vector<float>(texels, 9.0f)) << inner << ", " << outer;
            dg.fill(3.0f);
        }
    }
}

// The inner derivative keeps an image of two levels, of which it overwrites level 0.
TEST(ImagePrograms, a_derivative_within_a_program_keeps_all_levels) {
    const Device d = device();
    const auto weigh = kernel("weigh", [](InOut<float, 2> to, In<Texture<float>> t) {
        auto [y, x] = global_index<2>();
        to(y, x) += t.fetch(0, y, x) * t.fetch(0, y, x) * t.fetch(1, y / 2, x / 2);
    });
    const auto square = kernel("square", [](InOut<Image<float>> image) {
        auto [y, x] = global_index<2>();
        image(y, x) = image(y, x) * image(y, x);
    });
    const auto second = [&](int inner, int outer) {
        const auto gradient = [&](const Array<float, 2>& g, const Array<float, 2>& x) {
            const auto own = d.zeros<float>({4, 4}), out = d.zeros<float>({4, 4}), seed = d.full<float>({4, 4}, 1.0f);
            const auto f = [&](const Array<float, 2>& to, const Array<float, 2>& from) {
                const auto image = d.image<float>(Format::r32_float, {4, 4}, {.levels = 2});
                image.upload(std::vector<float>(4, 3.0f), 1);
                image.copy_from(from);
                weigh(ndrange(4, 4), to, texture(image));  // 3 x^2
                square(ndrange(4, 4), image);
                weigh(ndrange(4, 4), to, texture(image));  // 3 x^4
            };
            autodiff(inner ? Reverse.checkpoints(inner) : Reverse, f, Duplicated(out, seed), Duplicated(x, own));
            g.copy_from(own);
        };
        const auto x = d.full<float>({4, 4}, 0.5f), g = d.zeros<float>({4, 4}), dg = d.full<float>({4, 4}, 1.0f),
                   dx = d.zeros<float>({4, 4});
        autodiff(outer ? Reverse.checkpoints(outer) : Reverse, gradient, Duplicated(g, dg), Duplicated(x, dx));
        return dx.download();
    };
    for (const int inner : {0, 1, 2})
        for (const int outer : {0, 1, 2, 4})
            EXPECT_EQ(second(inner, outer), std::vector<float>(16, 15.0f)) << inner << ", " << outer;  // 6 + 36 x^2
}

TEST(ImagePrograms, samples_within_a_program_have_the_derivatives_of_the_kernel) {
    const Device d = device();
    constexpr int64_t samples = 30;
    const auto look = kernel("look", [](Out<float> out, In<Texture<float>> t, In<float2> at) {
        auto i = global_index();
        out[i] = t.sample(at[i]);
    });
    const std::vector<float> x = suite::numbers(2 * samples, 6), weights = suite::numbers(samples, 8);
    std::vector<float2> at;
    for (size_t i = 0; i < size_t(samples); ++i) at.push_back({x[2 * i] * 1.4f - 0.2f, x[2 * i + 1] * 1.4f - 0.2f});
    for (const Sampling sampling : {Sampling::exact, Sampling::fast}) {
        const auto image = d.image<float>(Format::r8_unorm, {height, width});
        image.upload(suite::numbers(texels, 2));
        const auto map = texture(image, {.wrap = Wrap::mirror, .sampling = sampling});
        const auto out = d.zeros<float>(samples);
        const auto positions = d.upload(at);
        const auto gradients = [&](const auto& differentiate) {
            const auto d_out = d.upload(weights);
            const auto d_map = d.zeros<float>({height, width});
            const auto d_at = d.zeros<float2>(samples);
            differentiate(Duplicated(out, d_out), Duplicated(map, d_map), Duplicated(positions, d_at));
            std::vector<float> all = d_map.download();
            for (const float2& g : d_at.download()) all.push_back(g.x), all.push_back(g.y);
            return all;
        };
        const std::vector<float> wanted = gradients([&](const auto&... a) { autodiff(Reverse, look, ndrange(samples), a...); });
        const auto program = [&](const Array<float>& o, const Texture<float>& t, const Array<float2>& p) {
            const Array<float> between = o.device().zeros<float>(samples);
            look(ndrange(samples), between, t, p);
            o.copy_from(between);
        };
        const std::vector<float> got = gradients([&](const auto&... a) { autodiff(Reverse, program, a...); });
        for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5f) << i;
    }
}

TEST(ImagePrograms, a_program_may_return_an_image) {
    const Device d = device();
    const auto program = [](const Array<float, 2>& in) {
        const auto image = in.device().image<float>(Format::r32_float, {height, width});
        image.copy_from(in);
        square_image(ndrange(height, width), image);
        return image;
    };
    const std::vector<float> start = suite::numbers(texels, 4);
    const auto in = d.upload(start, {height, width}), d_in = d.zeros<float>({height, width});
    const auto [image] = autodiff(ReverseWithPrimal, program, Duplicated(in, d_in));
    const std::vector<float> got = d_in.download(), squares = image.download();
    for (size_t i = 0; i < start.size(); ++i) {
        EXPECT_NEAR(got[i], 2 * start[i], 1e-6f);
        EXPECT_NEAR(squares[i], start[i] * start[i], 1e-6f);
    }
    const auto [tangent] = autodiff(Forward, program, Duplicated(in, d_in));
    const std::vector<float> moved = tangent.download();
    for (size_t i = 0; i < start.size(); ++i) EXPECT_NEAR(moved[i], 4 * start[i] * start[i], 1e-5f);
}

TEST(ImagePrograms, an_upload_ends_the_derivative_of_its_level_and_layer) {
    const Device d = device();
    const std::vector<float> start = suite::numbers(texels, 4), other = suite::numbers(texels, 7);
    for (const int states : {0, 2}) {
        const auto in = d.upload(start, {height, width}), d_in = d.zeros<float>({height, width});
        const auto out = d.zeros<float>({height, width}), d_out = d.full<float>({height, width}, 1.0f);
        autodiff(
            states ? Reverse.checkpoints(states) : Reverse,
            [&](const Array<float, 2>& to, const Array<float, 2>& from) {
                const auto image = d.image<float>(Format::r32_float, {height, width});
                image.copy_from(from);
                square_image(ndrange(height, width), image);
                add_image(ndrange(height, width), to, image);
                image.upload(other);
                square_image(ndrange(height, width), image);
                add_image(ndrange(height, width), to, image);
            },
            Duplicated(out, d_out), Duplicated(in, d_in));
        const std::vector<float> got = d_in.download(), sums = out.download();
        for (size_t i = 0; i < start.size(); ++i) {
            EXPECT_NEAR(got[i], 2 * start[i], 1e-6f) << states << " states";
            EXPECT_NEAR(sums[i], start[i] * start[i] + other[i] * other[i], 1e-6f);
        }
    }
}

// The shadow of a texture with layers and levels has a dimension for both.
TEST(ImagePrograms, layers_and_levels_have_their_parts_of_the_shadow) {
    const Device d = device();
    const auto fetch = kernel("fetch", [](InOut<float, 2> out, In<TextureArray<float>> t) {
        auto [layer, x] = global_index<2>();
        out(layer, x) += 3.0f * t.fetch(0, layer, 0, x) * t.fetch(0, layer, 0, x) + 5.0f * t.fetch(1, layer, 0, x / 2);
    });
    const auto image = d.image_array<float>(Format::r32_float, 2, {2, 4}, {.levels = 2});
    for (int level = 0; level < 2; ++level)
        for (int layer = 0; layer < 2; ++layer)
            image.upload(suite::numbers(level ? 2 : 8, uint32_t(10 * level + layer)), level, layer);
    const auto map = texture(image, {.mip_filter = Filter::linear});
    const auto out = d.zeros<float>({2, 4}), d_out = d.full<float>({2, 4}, 1.0f);
    const auto d_map = d.zeros<float>({2, 2, 2, 4});
    const std::vector<float> first = suite::numbers(8, 0);
    autodiff(
        Reverse,
        [&](const Array<float, 2>& to, const TextureArray<float>& t) {
            fetch(ndrange(2, 4), to, t);
            t.image().upload(std::vector<float>(8, 0.5f), 0, 1);  // ends the derivative of this layer of level 0
            fetch(ndrange(2, 4), to, t);
        },
        Duplicated(out, d_out), Duplicated(map, d_map));
    const std::vector<float> got = d_map.download();
    for (size_t x = 0; x < 4; ++x) {
        EXPECT_NEAR(got[x], 2 * 6 * first[x], 1e-5f);                  // level 0, layer 0, read by both launches
        EXPECT_NEAR(got[8 + x], 6 * suite::numbers(8, 1)[x], 1e-5f);   // level 0, layer 1, read by the first
        EXPECT_NEAR(got[16 + x], x < 2 ? 2 * 2 * 5.0f : 0.0f, 1e-5f);  // level 1, layer 0
        EXPECT_NEAR(got[24 + x], x < 2 ? 2 * 2 * 5.0f : 0.0f, 1e-5f);  // level 1, layer 1
    }
}

TEST(ImagePrograms, host_steps_and_rules_of_kernels_take_images) {
    const Device d = device();
    using Shadow = Duplicated<detail::Shadowed<Image<float>, Array<float, 2>>>;
    const auto doubled = host_step("doubled", [](Image<float>& to, const Image<float>& from) {
                             std::vector<float> all = from.download();
                             for (float& v : all) v *= 2;
                             to.upload(all);
                         }).reverse([](const Shadow& to, const Shadow& from) {
        std::vector<float> sum = from.shadow.download(), more = to.shadow.download();
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += 2 * more[i];
        from.shadow.copy_from(sum);
        to.shadow.fill(0.0f);
    });
    const auto halved = kernel("halved", [](InOut<Image<float>> image) {
                            auto [y, x] = global_index<2>();
                            image(y, x) = image(y, x) * 0.5f;
                        }).reverse([](const Range&, const Shadow& image) {
        std::vector<float> all = image.shadow.download();
        for (float& v : all) v *= 7;  // not the derivative, so that the rule shows
        image.shadow.copy_from(all);
    });
    const auto image = d.image<float>(Format::r32_float, {height, width});
    image.upload(suite::numbers(texels, 4));
    const auto d_image = d.zeros<float>({height, width});
    const auto out = d.zeros<float>({height, width}), d_out = d.full<float>({height, width}, 1.0f);
    autodiff(
        Reverse,
        [&](const Array<float, 2>& to, const Image<float>& from) {
            Image<float> between = d.image<float>(Format::r32_float, {height, width});
            doubled(between, from);
            halved(ndrange(height, width), between);
            between.copy_to(to);
        },
        Duplicated(out, d_out), Duplicated(image, d_image));
    EXPECT_EQ(d_image.download(), std::vector<float>(texels, 14.0f));
    EXPECT_EQ(out.download(), image.download());
}

TEST(ImagePrograms, misuse_is_an_error_and_nothing_is_lost) {
    const Device d = device();
    const auto image = d.image<float>(Format::r32_float, {height, width});
    image.upload(suite::numbers(texels, 4));
    const auto d_image = d.full<float>({height, width}, 1.0f);
    const auto expect_error = [&](const auto& program, const char* part) {
        const std::string message = message_of([&] { autodiff(Reverse, program, Duplicated(image, d_image)); });
        EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    expect_error(
        [](const Image<float>& i) {
            std::vector<float> all = i.download();
            for (float& v : all) v *= 2;
            i.upload(all);
        },
        "it writes 35 elements from the host that the result depends on, after it has read back");
    const auto narrow = d.full<float>({height, width - 1}, 1.0f);
    EXPECT_NE(message_of([&] {
                  autodiff(Reverse, [](const Image<float>&) {}, Duplicated(image, narrow));
              }).find("the shadow of argument 1 has extents"),
              std::string::npos);
    // Under no_derivative the upload is meant to end the derivative.
    autodiff(
        Reverse,
        [](const Image<float>& i) {
            no_derivative([&] { i.upload(i.download()); });
            square_image(ndrange(height, width), i);
        },
        Duplicated(image, d_image));
    EXPECT_EQ(d_image.download(), std::vector<float>(texels, 0.0f));
}

TEST(ImagePrograms, what_the_host_made_of_active_texels_is_an_error_in_forward_mode_too) {
    const Device d = device();
    const auto image = d.image<float>(Format::r32_float, {height, width});
    image.upload(suite::numbers(texels, 4));
    const auto d_image = d.full<float>({height, width}, 1.0f);
    const auto out = d.zeros<float>({height, width}), d_out = d.zeros<float>({height, width});
    const auto through_host = [](const Array<float, 2>& to, const Image<float>& from) {
        const auto other = to.device().image<float>(Format::r32_float, {height, width});
        other.upload(from.download());
        other.copy_to(to);
    };
    EXPECT_NE(message_of([&] {
                  autodiff(Forward, through_host, Duplicated(out, d_out), Duplicated(image, d_image));
              }).find("it writes 35 elements from the host that the result depends on, after it has read back"),
              std::string::npos);
    // An upload that reaches no result, or is overwritten before, is no error.
    const auto aside = [](const Array<float, 2>& to, const Image<float>& from) {
        const auto other = to.device().image<float>(Format::r32_float, {height, width});
        other.upload(from.download());
        other.copy_from(to);
        from.copy_to(to);
    };
    autodiff(Forward, aside, Duplicated(out, d_out), Duplicated(image, d_image));
    EXPECT_EQ(d_out.download(), std::vector<float>(texels, 1.0f));
}

TEST(ImagePrograms, a_step_without_rules_takes_a_texture_of_several_levels) {
    const Device d = device();
    const auto image = d.image<float>(Format::r32_float, {4, 4}, {.levels = 3});
    const auto x = d.full<float>(2, 3.0f), dx = d.zeros<float>(2), y = d.zeros<float>(2), dy = d.full<float>(2, 1.0f);
    int levels = 0;
    const auto look = host_step("look", [&](const Texture<float>& t) { levels = t.image().levels(); }).inactive();
    autodiff(
        Reverse,
        [&](const Array<float>& to, const Array<float>& from) {
            look(texture(image));
            to.copy_from(from);
        },
        Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(levels, 3);
    EXPECT_EQ(dx.download(), std::vector<float>(2, 1.0f));
}

TEST(ImagePrograms, copies_between_arrays_and_images_are_those_of_the_host) {
    const Device d = device();
    const std::vector<float> x = suite::numbers(4 * texels, 3);
    std::vector<float4> colours;
    for (size_t i = 0; i < size_t(texels); ++i) colours.push_back({x[4 * i], x[4 * i + 1], x[4 * i + 2], 1.5f * x[4 * i + 3]});
    for (const Format format : {Format::rgba8_unorm, Format::rgba16_float, Format::rgba32_float, Format::rgba8_srgb}) {
        const auto by_host = d.image<float4>(format, {height, width}), by_copy = d.image<float4>(format, {height, width});
        by_host.upload(colours);
        const auto from = d.upload(colours, {height, width}), to = d.zeros<float4>({height, width});
        by_copy.copy_from(from);
        EXPECT_EQ(by_copy.download_pixels(), by_host.download_pixels());
        by_copy.copy_to(to);
        const std::vector<float4> got = to.download(), wanted = by_host.download();
        for (size_t i = 0; i < wanted.size(); ++i)
            EXPECT_TRUE(got[i].x == wanted[i].x && got[i].y == wanted[i].y && got[i].z == wanted[i].z && got[i].w == wanted[i].w);
    }
    const auto line = d.image<int, 1>(Format::r32_sint, {9});
    line.copy_from(d.upload(std::vector<int>{1, -2, 3, -4, 5, -6, 7, -8, 9}));
    EXPECT_EQ(line.download(), (std::vector<int>{1, -2, 3, -4, 5, -6, 7, -8, 9}));
    const auto volume = d.image<float>(Format::r32_float, {2, 3, 4});
    volume.copy_from(d.upload(suite::numbers(24), {2, 3, 4}));
    EXPECT_EQ(volume.download(), suite::numbers(24));
}

}  // namespace
