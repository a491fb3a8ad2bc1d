// Pipelines that are made before the first launch.
#include <thread>

#include "tests/frames/frame_test.h"

namespace {

using namespace pumice;
using tests::calls;
using tests::error_of;

const auto scale = kernel("scale", [](Out<float> y, In<float> x) { y[global_index()] = 2.0f * x[global_index()]; });
const auto transpose = kernel("transpose", static_group<16, 16>, [](Out<float, 2> to, In<float, 2> from) {
    Local<float, 16, 17> tile;
    auto [i, j] = global_index<2>();
    auto [li, lj] = local_index<2>();
    tile(li, lj) = from(i, j);
    synchronize();
    auto [gi, gj] = group_index<2>();
    to(gj * 16 + li, gi * 16 + lj) = tile(lj, li);
});

class Prepare : public tests::FrameTest {};

TEST_F(Prepare, LaunchesMakeNoPipeline) {
    const Device device = wrap();
    std::vector<double> parts;
    for (auto& [name, count] : calls()) count = 0;
    prepare(scale, device, {.range = ndrange(4096).group(64), .progress = [&](double part) { parts.push_back(part); }});
    prepare(scale, device, {.range = ndrange(1000).group(64)});                      // a part of the last group
    prepare(scale, device, {.range = ndrange({1}, {1000})});                         // the device's own group, and a first item
    prepare(scale, device, {.range = ndrange(512).group(128), .offsets = {4, 12}});  // slices off the alignment of bindings
    prepare(transpose, device, {.range = ndrange(64, 64)});
    EXPECT_EQ(parts.front(), 0);
    EXPECT_EQ(parts.back(), 1);
    EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end()));
    EXPECT_GE(calls()["vkCreateComputePipelines"], 3);
    EXPECT_EQ(calls()["vkCmdDispatch"], 0);
    const Array<float> x = device.full<float>(4096, 1.5f), y = device.zeros<float>(4096);
    const Array<float, 2> square = device.full<float>({64, 64}, 2.0f), turned = device.zeros<float>({64, 64});
    for (auto& [name, count] : calls()) count = 0;
    scale(ndrange(4096).group(64), y, x);
    EXPECT_EQ(y.get(4095), 3.0f);
    scale(ndrange(1000).group(64), x, y);
    EXPECT_EQ(x.get(999), 6.0f);
    scale(ndrange({1}, {1000}), y, x);
    EXPECT_EQ(y.get(1), 12.0f);
    scale(ndrange(512).group(128), y.slice(1, 513), x.slice(3, 515));
    EXPECT_EQ(y.get(1), 12.0f);
    transpose(ndrange(64, 64), turned, square);
    EXPECT_EQ(turned.get(63, 0), 2.0f);
    EXPECT_EQ(calls()["vkCreateComputePipelines"], 0);
    EXPECT_EQ(calls()["vkCreateShaderModule"], 0);
}

/// Images in memory of the device and as words, and textures that it samples and that arithmetic samples.
TEST_F(Prepare, LaunchesWithImagesMakeNoPipeline) {
    const Device device = wrap();
    const auto blend = kernel("blend", [](Out<Image<float4>> to, In<Image<float4>> from, In<Texture<float>> mask) {
        auto [i, j] = global_index<2>();
        to(i, j) = from(i, j) * mask.sample(0.25f * cast<float>(i), 0.25f * cast<float>(j));
    });
    const Sampler fast{.filter = Filter::linear, .sampling = Sampling::fast};
    for (const Sampler& sampler : {Sampler{}, fast, Sampler{.filter = Filter::cubic, .wrap = Wrap::border, .border = {0.5f}}})
        for (const Format format : {Format::rgba8_unorm, Format::rgba32_float}) {
            const ImageOptions levels{.levels = 2, .read_only = true};
            prepare(blend, device,
                    {.range = ndrange(4, 4), .images = {{format}, {format}, {Format::r8_unorm, {8, 8}, 1, levels, sampler}}});
            const auto to = device.image<float4>(format, {4, 4}), from = device.image<float4>(format, {4, 4});
            const auto mask = device.image<float>(Format::r8_unorm, {8, 8}, levels);
            from.upload(std::vector<float4>(16, float4{1, 0.5f, 0, 1}));
            for (const int level : {0, 1}) mask.upload(std::vector<float>(size_t(64 >> 2 * level), 1.0f), level);
            for (auto& [name, count] : calls()) count = 0;
            blend(ndrange(4, 4), to, from, texture(mask, sampler));
            EXPECT_NEAR(to.download()[5].x, 1, 0.01f);
            EXPECT_EQ(calls()["vkCreateComputePipelines"], 0) << int(format) << " " << int(sampler.filter);
            EXPECT_EQ(calls()["vkCreateShaderModule"], 0);
        }
}

TEST_F(Prepare, OnAThread) {
    const Device device = wrap();
    const auto late = kernel("late", [](InOut<float> y) { y[global_index()] += 1.0f; });
    const Preparation preparation = prepare(late, device, {.range = ndrange(100), .on_thread = true});
    while (!preparation.ready()) std::this_thread::yield();
    preparation.wait();
    EXPECT_EQ(preparation.progress(), 1);
    const Array<float> y = device.zeros<float>(100);
    calls()["vkCreateComputePipelines"] = 0;
    late(ndrange(100), y);
    EXPECT_EQ(y.get(99), 1.0f);
    EXPECT_EQ(calls()["vkCreateComputePipelines"], 0);
}

/// The first recorded frame makes no object then.
TEST_F(Prepare, BeforeTheFirstRecording) {
    const Device device = wrap();
    prepare(scale, device, {.range = ndrange(64)});
    const Array<float> x = device.full<float>(64, 1.5f), y = device.zeros<float>(64);
    tests::CommandBuffer commands(*app);
    commands.begin();
    calls()["vkCreateComputePipelines"] = 0;
    const vulkan::Recording recording = vulkan::record(device, commands.handle, [&] { scale(ndrange(64), y, x); });
    EXPECT_EQ(calls()["vkCreateComputePipelines"], 0);
    commands.end();
    commands.execute();
    EXPECT_EQ(y.get(63), 3.0f);
}

TEST_F(Prepare, WhatALaunchWouldRefuseIsAnError) {
    const Device device = wrap();
    EXPECT_NE(error_of([&] { prepare(scale, device, {.range = ndrange(64).group(1 << 20)}); }).find("its group has extent"),
              std::string::npos);
    const Preparation later = prepare(scale, device, {.range = ndrange(64).group(1 << 20), .on_thread = true});
    EXPECT_NE(error_of([&] { later.wait(); }).find("its group has extent"), std::string::npos);
    EXPECT_EQ(error_of([&] { prepare(scale, device, {.range = ndrange(64), .extents = {{8, 8}}}); }),
              "kernel \"scale\" is prepared for 2 extents of argument 1, which has 1");
    EXPECT_EQ(error_of([&] { prepare(scale, device, {.range = ndrange(64), .offsets = {0, 0, 0}}); }),
              "kernel \"scale\" is prepared for 3 arrays, and takes 2");
    EXPECT_NE(error_of([&] { prepare(scale, device); }).find("it is launched over no range"), std::string::npos);
}

}  // namespace
