// Images in the application's command buffers.
#include "tests/frames/frame_test.h"

namespace {

using namespace pumice;
using tests::CommandBuffer;
using tests::error_of;
using vulkan::Recording;

const auto add = kernel("add", [](InOut<Image<float, 2>> image, Val<float> more) {
    auto [i, j] = global_index<2>();
    image(i, j) = image(i, j) + more;
});
const auto read = kernel("read", [](Out<float, 2> y, In<Texture<float, 2>> texture) {
    auto [i, j] = global_index<2>();
    y(i, j) = texture(i, j);
});
const auto paint = kernel("paint", [](Out<Image<float4, 2>> image, Val<float> red) {
    auto [i, j] = global_index<2>();
    image(i, j) = Val<float4>(red, 0.0f, 0.0f, 1.0f);
});

class RecordImages : public tests::FrameTest {};

TEST_F(RecordImages, ImagesOfPumiceKeepTheirTexelsFromOneExecutionToTheNext) {
    const Device device = wrap();
    const Image<float> image = device.image<float>(Format::r32_float, {8, 16});
    const Array<float, 2> y = device.zeros<float>({8, 16}), z = device.zeros<float>({8, 16});
    read(ndrange(8, 16), y, texture(image, {}));  // the queue leaves the image in another layout
    CommandBuffer commands(*app);
    commands.begin();
    const Recording recording = vulkan::record(device, commands.handle, [&] {
        add(ndrange(8, 16), image, 1.0f);
        read(ndrange(8, 16), z, texture(image, {}));
        add(ndrange(8, 16), image, 2.0f);
    });
    commands.end();
    EXPECT_EQ(image.download(), std::vector<float>(128, 0.0f)) << "nothing has run";
    vulkan::submit(device);
    for (int time = 1; time <= 3; ++time) {
        commands.execute();
        ASSERT_EQ(z.download(), std::vector<float>(128, 4.0f * float(time) - 3));
        read(ndrange(8, 16), y, texture(image, {}));
        ASSERT_EQ(y.download(), std::vector<float>(128, 4.0f * float(time) - 1));
        add(ndrange(8, 16), image, 1.0f);
        vulkan::submit(device);  // gives the image back
    }
}

TEST_F(RecordImages, ImagesOfTheApplicationAreLeftInTheLayoutThatItWasPromised) {
    const Device device = wrap();
    const Image<float4> canvas = device.image<float4>(Format::rgba8_unorm, {4, 8});
    vulkan::ImagePlace target = vulkan::place(canvas, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    target.before = VK_IMAGE_LAYOUT_UNDEFINED;
    const Image<float4> frame = vulkan::image<float4>(device, target, {4, 8});
    const Array<uint32_t> pixels = device.zeros<uint32_t>(32);
    const vulkan::Place place = vulkan::place(pixels);
    vulkan::submit(device);
    CommandBuffer commands(*app);
    commands.begin();
    const Recording recording = vulkan::record(device, commands.handle, [&] {
        paint(ndrange(4, 8), frame, 1.0f);
        paint(ndrange(2, 8), frame, 0.0f);
    });
    VkBufferImageCopy region{};
    region.bufferOffset = VkDeviceSize(place.offset);
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {8, 4, 1};
    app->vk.CmdCopyImageToBuffer(commands.handle, target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, place.buffer, 1, &region);
    commands.end();
    for (int time = 0; time < 2; ++time) {
        commands.execute();
        std::vector<uint32_t> wanted(32, 0xff0000ffu);
        std::fill_n(wanted.begin(), 16, 0xff000000u);
        EXPECT_EQ(pixels.download(), wanted);
    }
}

TEST_F(RecordImages, ImagesThatAreMadeWhileRecordingAreZeroAtEachExecution) {
    const Device device = wrap();
    const auto square = kernel("square", [](InOut<Image<float>> image) {
        auto [y, x] = global_index<2>();
        image(y, x) = image(y, x) * image(y, x) + 2.0f;
    });
    const auto made = [&] { return device.image<float>(Format::r32_float, {30, 50}); };
    const Array<float, 2> out = device.zeros<float>({30, 50}), in = device.full<float>({30, 50}, 0.5f);
    const Array<float, 2> d_out = device.zeros<float>({30, 50}), d_in = device.zeros<float>({30, 50});
    const auto program = [&](const Array<float, 2>& to, const Array<float, 2>& from) {
        const Image<float> image = made();
        image.copy_from(from);
        for (int step = 0; step < 3; ++step) square(ndrange(30, 50), image);
        image.copy_to(to);
    };
    CommandBuffer commands(*app);
    commands.begin();
    Image<float> kept;
    Array<float, 2> squared = device.zeros<float>({30, 50});
    const vulkan::Recording recording = vulkan::record(device, commands.handle, [&] {
        for (int unused = 0; unused < 3; ++unused) made();
        kept = made();
        square(ndrange(30, 50), kept);
        square(ndrange(30, 50), kept);  // (0 * 0 + 2)^2 + 2
        kept.copy_to(squared);
        for (const int states : {0, 1}) {
            d_out.fill(1.0f);
            d_in.fill(0.0f);
            autodiff(states ? Reverse.checkpoints(states) : Reverse, program, Duplicated(out, d_out), Duplicated(in, d_in));
        }
    });
    commands.end();
    vulkan::submit(device);
    for (int time = 0; time < 2; ++time) {
        commands.execute();
        EXPECT_EQ(squared.download(), std::vector<float>(1500, 6.0f));
        float x = 0.5f, by_x = 1;
        for (int step = 0; step < 3; ++step) by_x *= 2 * x, x = x * x + 2;
        for (const float got : out.download()) ASSERT_FLOAT_EQ(got, x);
        for (const float got : d_in.download()) ASSERT_FLOAT_EQ(got, by_x);
    }
}

TEST_F(RecordImages, ADownloadOfAnImageIsRefusedAndTheBufferTakesMore) {
    const Device device = wrap();
    const Image<float> image = device.image<float>(Format::r32_float, {8, 16});
    CommandBuffer commands(*app);
    commands.begin();
    Recording recording(device);
    EXPECT_EQ(
        error_of([&] { recording.record(commands.handle, [&] { image.download(); }); }),
        "inside vulkan::record, an array is copied to the host: a command buffer cannot hold that; it belongs before or after "
        "the recording");
    recording.record(commands.handle, [&] { add(ndrange(8, 16), image, 5.0f); });
    commands.end();
    vulkan::submit(device);
    commands.execute();
    EXPECT_EQ(image.download(), std::vector<float>(128, 5.0f));
}

}  // namespace
