// Images that two processes have.
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "tests/frames/frame_test.h"
#include "tests/frames/other_process.h"

namespace {

using namespace pumice;
using tests::error_of;
using tests::give_turn;
using tests::has_passed;
using tests::take_turn;
using vulkan::SharedMemory;

constexpr int64_t height = 13, width = 21;
constexpr int frames = 100;

const auto paint = kernel("paint", [](Out<Image<float4>> out, Val<float> frame) {
    auto [y, x] = global_index<2>();
    out(y, x) = Val<float4>(cast<float>(x), cast<float>(y), frame, 1.0f);
});

/// The layout of an image that is sampled differs from that of one to which kernels store.
const auto sum_up = kernel("sum_up", [](Out<float4> sums, In<Texture<float4>> in) {
    auto [y, x] = global_index<2>();
    sums[y * int(width) + x] = in.fetch(0, y, x) + in.fetch(0, y, x);
});

std::vector<float4> twice(int frame) {
    std::vector<float4> all;
    for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x) all.push_back({2 * float(x), 2 * float(y), 2 * float(frame), 2});
    return all;
}

bool equal(const std::vector<float4>& a, const std::vector<float4>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float4)) == 0;
}

class SharedImages : public tests::FrameTest {};

/// The other process of the test below; alone, it does nothing.
TEST_F(SharedImages, OtherProcess) {
    const char* const given = std::getenv("PUMICE_TEST_IMAGE");
    if (!given) GTEST_SKIP() << "SKIPPED: runs as the other process of TwoProcessesShareAnImage";
    SharedMemory memory;
    int in, out;
    long long bytes, allocated;
    ASSERT_EQ(std::sscanf(given, "%d %lld %lld %u %d %d", &memory.fd, &bytes, &allocated, &memory.memory_type, &in, &out), 6);
    memory.bytes = bytes, memory.allocated = allocated;
    const Device device = wrap();
    const Image<float4> picture = vulkan::shared_image<float4>(device, memory, Format::rgba32_float, {height, width});
    const Array<float4> sums = device.zeros<float4>(height * width);
    for (int frame = 1; frame <= frames; frame += 2) {
        ASSERT_TRUE(take_turn(in));
        vulkan::acquire(picture);
        sum_up(ndrange(height, width), sums, texture(picture, {.filter = Filter::nearest}));
        ASSERT_TRUE(equal(sums.download(), twice(frame))) << frame;
        paint(ndrange(height, width), picture, float(frame + 1));
        vulkan::release(picture);
        device.synchronize();
        ASSERT_TRUE(give_turn(out));
    }
}

TEST_F(SharedImages, TwoProcessesShareAnImage) {
    const Device device = wrap();
    if (const vulkan::Interop can = vulkan::interop(device); !can.opaque_out || !can.opaque_in)
        GTEST_SKIP() << "SKIPPED: the driver shares no memory by opaque descriptors";
    const Image<float4> picture = vulkan::shareable_image<float4>(device, Format::rgba32_float, {height, width});
    EXPECT_TRUE(equal(picture.download(), std::vector<float4>(size_t(height * width), float4{0, 0, 0, 0})));
    const SharedMemory memory = vulkan::share(picture);
    int there[2], back[2];
    ASSERT_EQ(pipe(there), 0);
    ASSERT_EQ(pipe(back), 0);
    const int fd = dup(memory.fd);  // the driver's one is closed by exec
    ASSERT_GE(fd, 0);
    close(memory.fd);
    setenv("PUMICE_TEST_IMAGE",
           text(fd, " ", memory.bytes, " ", memory.allocated, " ", memory.memory_type, " ", there[0], " ", back[1]).c_str(), 1);
    const pid_t child = tests::start_again("SharedImages.OtherProcess");
    unsetenv("PUMICE_TEST_IMAGE");
    ASSERT_GT(child, 0);
    close(fd), close(there[0]), close(back[1]);
    const Array<float4> sums = device.zeros<float4>(height * width);
    bool whole = true;
    for (int frame = 1; frame <= frames && whole; frame += 2) {
        if (frame > 1) vulkan::acquire(picture);
        paint(ndrange(height, width), picture, float(frame));
        vulkan::release(picture);
        device.synchronize();
        whole = give_turn(there[1]) && take_turn(back[0]);
    }
    EXPECT_TRUE(whole);
    close(there[1]), close(back[0]);
    EXPECT_TRUE(has_passed(child));
    vulkan::acquire(picture);
    sum_up(ndrange(height, width), sums, texture(picture, {.filter = Filter::nearest}));
    EXPECT_TRUE(equal(sums.download(), twice(frames)));
}

TEST_F(SharedImages, HaveLevelsFormatsAndDimensionsOfOtherImages) {
    const Device device = wrap();
    if (const vulkan::Interop can = vulkan::interop(device); !can.opaque_out || !can.opaque_in)
        GTEST_SKIP() << "SKIPPED: the driver shares no memory by opaque descriptors";
    const ImageOptions options{.levels = 3, .read_only = true};
    const Image<uint4, 3> made = vulkan::shareable_image<uint4>(device, Format::rgba8_uint, {4, 6, 10}, options);
    const SharedMemory memory = vulkan::share(made);
    const Image<uint4, 3> same = vulkan::shared_image<uint4>(device, memory, Format::rgba8_uint, {4, 6, 10}, options);
    std::vector<uint4> texels(2 * 3 * 5);
    for (size_t i = 0; i < texels.size(); ++i) texels[i] = {uint32_t(i), 1, 2, 255};
    made.upload(texels, 1);
    vulkan::release(made);
    vulkan::acquire(same);
    const std::vector<uint4> found = same.download(1);
    EXPECT_EQ(std::memcmp(found.data(), texels.data(), texels.size() * sizeof(uint4)), 0);
    EXPECT_EQ(same.extent(2, 2), 2);
}

TEST_F(SharedImages, MisuseIsAnError) {
    const Device device = wrap();
    const Image<float4> plain = device.image<float4>(Format::rgba32_float, {4, 4});
    EXPECT_EQ(error_of([&] { vulkan::share(plain); }),
              "vulkan::share is called for an image that is not one of vulkan::shareable_image");
    EXPECT_EQ(error_of([&] { vulkan::acquire(plain); }),
              "vulkan::acquire is called for an image that is not one of vulkan::shareable_image");
    EXPECT_EQ(error_of([&] { vulkan::shareable_image<float>(device, Format::rgba32_float, {4, 4}); }),
              "an image of format rgba32_float is shared, whose texels are 4 of f32, and its type in C++ has 1 of f32");
    EXPECT_EQ(error_of([&] { vulkan::shareable_image<float4>(device, Format::rgba32_float, {4, 0}); }),
              "an image of extent 0 along dimension 1 is shared: extents are positive");
    tests::VulkanApplication least(0, tests::VulkanApplication::Features::least);
    const Device bare = vulkan::wrap(least.application());
    EXPECT_NE(error_of([&] {
                  vulkan::shareable_image<float4>(bare, Format::rgba32_float, {4, 4});
              }).find(" cannot give an rgba32_float image of 4 x 4 away as an opaque descriptor"),
              std::string::npos);
    if (!vulkan::interop(device).opaque_in) GTEST_SKIP() << "SKIPPED: the driver shares no memory by opaque descriptors";
    SharedMemory memory;
    EXPECT_EQ(error_of([&] { vulkan::shared_image<float4>(device, memory, Format::rgba32_float, {4, 4}); }),
              "a shared image is taken from the descriptor -1, which is none");
    memory.fd = 0, memory.bytes = memory.allocated = 16;
    EXPECT_NE(error_of([&] {
                  vulkan::shared_image<float4>(device, memory, Format::rgba32_float, {4, 4});
              }).find("shared memory of 16 bytes is taken for an rgba32_float image of 4 x 4 that needs "),
              std::string::npos);
}

}  // namespace
