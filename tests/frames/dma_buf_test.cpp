// Images and arrays in dma-bufs: other drivers, devices and the host itself read the same texels.
//
// Most drivers of the tests have none; lavapipe_dma_buf has a layer below it, for which a memfd is a dma-buf. A driver of its own
// takes memory of the host by /dev/udmabuf, where the kernel has it.
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/frames/frame_test.h"
#include "tests/frames/other_process.h"

namespace {

using namespace pumice;
using tests::error_of;
using tests::give_turn;
using tests::has_passed;
using tests::take_turn;
using vulkan::FdKind;
using vulkan::ImageModifier;
using vulkan::SharedMemory;

constexpr int64_t height = 13, width = 21;
constexpr int frames = 50;
constexpr uint64_t plain_rows = 0;

/// Every texel differs from the others.
const auto paint = kernel("paint", [](Out<Image<uint4>> out, Val<int> frame) {
    auto [y, x] = global_index<2>();
    out(y, x) = Val<uint4>(cast<uint32_t>(x), cast<uint32_t>(y), cast<uint32_t>(frame), 7u);
});

/// The layout of an image that is sampled differs from that of one to which kernels store.
const auto read_all = kernel("read_all", [](Out<uint4> texels, In<Texture<uint4>> in) {
    auto [y, x] = global_index<2>();
    texels[y * int(width) + x] = in.fetch(0, y, x);
});

const auto add_one = kernel("add_one", [](InOut<int> y) { y[global_index()] += 1; });

std::vector<uint4> painted(int frame) {
    std::vector<uint4> all;
    for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x) all.push_back({uint32_t(x), uint32_t(y), uint32_t(frame), 7});
    return all;
}

bool equal(const std::vector<uint4>& a, const std::vector<uint4>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(uint4)) == 0;
}

std::vector<uint4> fetched(const Device& device, const Image<uint4>& picture) {
    const Array<uint4> texels = device.zeros<uint4>(height * width);
    read_all(ndrange(height, width), texels, texture(picture, {.filter = Filter::nearest}));
    return texels.download();
}

/// Memory of the host as a dma-buf.
int host_dma_buf(int64_t bytes) {
    const int memory = memfd_create("texels", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ftruncate(memory, bytes) != 0) return -1;
    const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    if (device < 0) return memory;
    fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK);
    udmabuf_create create{};
    create.memfd = uint32_t(memory);
    create.size = uint64_t(bytes);
    const int made = ioctl(device, UDMABUF_CREATE, &create);
    close(device), close(memory);
    return made;
}

/// The bytes of a dma-buf, as the host sees them.
struct Mapped {
    Mapped(int fd, int64_t bytes)
        : size(size_t(bytes)), data(static_cast<uint8_t*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0))) {}
    ~Mapped() {
        if (data != MAP_FAILED) munmap(data, size);
    }
    Mapped(const Mapped&) = delete;
    explicit operator bool() const { return data != MAP_FAILED; }

    const size_t size;
    uint8_t* const data;
};

/// True on lavapipe_dma_buf, whose modifiers and refusals are known (tests/layers/dma_buf_layer.cpp).
bool has_layer() {
    const char* const layers = std::getenv("VK_INSTANCE_LAYERS");
    return layers && std::string(layers).find("VK_LAYER_PUMICE_dma_buf") != std::string::npos;
}

class DmaBufs : public tests::FrameTest {
protected:
    /// The device, if it shares images by dma-buf in both directions; else a reason to skip the test.
    Device open(std::string& missing) {
        const Device device = wrap();
        if (const vulkan::Interop can = vulkan::interop(device); !can.dma_buf_image_out || !can.dma_buf_image_in)
            missing = "SKIPPED: the driver shares no images by dma-buf";
        return device;
    }
};

#define OPEN_OR_SKIP()                   \
    std::string missing;                 \
    const Device device = open(missing); \
    if (!missing.empty()) GTEST_SKIP() << missing

/// The other process of the test below; alone, it does nothing.
TEST_F(DmaBufs, OtherProcess) {
    const char* const given = std::getenv("PUMICE_TEST_DMA_BUF");
    if (!given) GTEST_SKIP() << "SKIPPED: runs as the other process of TwoProcessesShareAnImage";
    SharedMemory memory;
    memory.kind = FdKind::dma_buf;  // no more is told than a program without Vulkan would tell
    int in, out;
    unsigned long long modifier;
    long long offsets[2], pitches[2];
    ASSERT_EQ(std::sscanf(given, "%d %llx %d %lld %lld %lld %lld %d %d", &memory.fd, &modifier, &memory.plane_count, &offsets[0],
                          &pitches[0], &offsets[1], &pitches[1], &in, &out),
              9);
    memory.modifier = modifier;
    for (size_t i = 0; i < 2; ++i) memory.planes[i] = {offsets[i], pitches[i]};
    const Device device = wrap();
    const Image<uint4> picture = vulkan::shared_image<uint4>(device, memory, Format::rgba8_uint, {height, width});
    for (int frame = 1; frame <= frames; frame += 2) {
        ASSERT_TRUE(take_turn(in));
        vulkan::acquire(picture);
        ASSERT_TRUE(equal(fetched(device, picture), painted(frame))) << frame;
        paint(ndrange(height, width), picture, frame + 1);
        vulkan::release(picture);
        device.synchronize();
        ASSERT_TRUE(give_turn(out));
    }
}

TEST_F(DmaBufs, TwoProcessesShareAnImage) {
    OPEN_OR_SKIP();
    for (const ImageModifier& one : vulkan::image_modifiers(device, Format::rgba8_uint, {height, width})) {
        if (!one.out || !one.in || one.plane_count > 2) continue;
        SCOPED_TRACE(one.modifier);
        const Image<uint4> picture =
            vulkan::shareable_image<uint4>(device, Format::rgba8_uint, {height, width}, {}, FdKind::dma_buf, {one.modifier});
        EXPECT_TRUE(equal(picture.download(), std::vector<uint4>(size_t(height * width), uint4{0, 0, 0, 0})));
        const SharedMemory memory = vulkan::share(picture);
        EXPECT_EQ(memory.modifier, one.modifier);
        EXPECT_EQ(memory.plane_count, one.plane_count);
        int there[2], back[2];
        ASSERT_EQ(pipe(there), 0);
        ASSERT_EQ(pipe(back), 0);
        const int fd = dup(memory.fd);  // the driver's one is closed by exec
        ASSERT_GE(fd, 0);
        close(memory.fd);
        char modifier[20];
        std::snprintf(modifier, sizeof modifier, "%llx", static_cast<unsigned long long>(memory.modifier));
        setenv("PUMICE_TEST_DMA_BUF",
               text(fd, " ", modifier, " ", memory.plane_count, " ", memory.planes[0].offset, " ", memory.planes[0].row_pitch,
                    " ", memory.planes[1].offset, " ", memory.planes[1].row_pitch, " ", there[0], " ", back[1])
                   .c_str(),
               1);
        const pid_t child = tests::start_again("DmaBufs.OtherProcess");
        unsetenv("PUMICE_TEST_DMA_BUF");
        ASSERT_GT(child, 0);
        close(fd), close(there[0]), close(back[1]);
        bool whole = true;
        for (int frame = 1; frame <= frames && whole; frame += 2) {
            if (frame > 1) vulkan::acquire(picture);
            paint(ndrange(height, width), picture, frame);
            vulkan::release(picture);
            device.synchronize();
            whole = give_turn(there[1]) && take_turn(back[0]);
        }
        EXPECT_TRUE(whole);
        close(there[1]), close(back[0]);
        EXPECT_TRUE(has_passed(child));
        vulkan::acquire(picture);
        EXPECT_TRUE(equal(fetched(device, picture), painted(frames)));
    }
}

/// Plain rows are where the plane says: the host reads and writes them.
TEST_F(DmaBufs, TheHostSeesPlainRowsAtTheirOffsetAndPitch) {
    OPEN_OR_SKIP();
    const Image<uint4> picture =
        vulkan::shareable_image<uint4>(device, Format::rgba8_uint, {height, width}, {}, FdKind::dma_buf, {plain_rows});
    paint(ndrange(height, width), picture, 3);
    vulkan::release(picture);
    device.synchronize();
    const SharedMemory memory = vulkan::share(picture);
    const int64_t offset = memory.planes[0].offset, pitch = memory.planes[0].row_pitch;
    EXPECT_GE(pitch, width * 4);
    {
        const Mapped bytes(memory.fd, memory.allocated);
        if (!bytes) GTEST_SKIP() << "SKIPPED: the driver's dma-bufs cannot be mapped";
        for (int64_t y = 0; y < height; ++y)
            for (int64_t x = 0; x < width; ++x) {
                uint8_t* const texel = bytes.data + offset + y * pitch + x * 4;
                const uint8_t wanted[4] = {uint8_t(x), uint8_t(y), 3, 7};
                ASSERT_EQ(std::memcmp(texel, wanted, 4), 0) << y << ", " << x;
                texel[2] = 5;
            }
    }
    close(memory.fd);
    vulkan::acquire(picture);
    EXPECT_TRUE(equal(picture.download(), painted(5)));
}

/// As a camera gives its pictures: rows with a gap, behind a header.
TEST_F(DmaBufs, RowsOfTheHostAreAnImage) {
    OPEN_OR_SKIP();
    constexpr int64_t offset = 4096, pitch = 256, bytes = offset + 4 * 4096;
    SharedMemory memory;
    memory.kind = FdKind::dma_buf;
    memory.fd = host_dma_buf(bytes);
    ASSERT_GE(memory.fd, 0);
    memory.modifier = plain_rows;
    memory.plane_count = 1;
    memory.planes[0] = {offset, pitch};
    const Mapped host(memory.fd, bytes);
    ASSERT_TRUE(bool(host));
    for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x) {
            const uint8_t texel[4] = {uint8_t(x), uint8_t(y), 9, 7};
            std::memcpy(host.data + offset + y * pitch + x * 4, texel, 4);
        }
    Image<uint4> picture;
    try {
        picture = vulkan::shared_image<uint4>(device, memory, Format::rgba8_uint, {height, width});
    } catch (const Error& error) {
        close(memory.fd);
        if (has_layer()) throw;
        GTEST_SKIP() << "SKIPPED: the driver takes no rows of the host: " << error.what();
    }
    vulkan::acquire(picture);
    EXPECT_TRUE(equal(fetched(device, picture), painted(9)));
    paint(ndrange(height, width), picture, 11);
    vulkan::release(picture);
    device.synchronize();
    for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < pitch / 4; ++x) {
            const uint8_t painted[4] = {uint8_t(x), uint8_t(y), 11, 7}, gap[4] = {};
            ASSERT_EQ(std::memcmp(host.data + offset + y * pitch + x * 4, x < width ? painted : gap, 4), 0) << y << ", " << x;
        }
}

TEST_F(DmaBufs, ModifiersHaveEveryFeatureThatKernelsUse) {
    OPEN_OR_SKIP();
    const auto of = [&](const ImageOptions& options) {
        return vulkan::image_modifiers(device, Format::rgba8_unorm, {height, width}, options);
    };
    const std::vector<ImageModifier> stored = of({}), read = of({.read_only = true});
    ASSERT_FALSE(stored.empty());
    EXPECT_GE(read.size(), stored.size());
    for (const ImageModifier& one : stored) EXPECT_TRUE((one.out || one.in) && one.plane_count >= 1 && one.plane_count <= 4);
    EXPECT_TRUE(vulkan::image_modifiers(device, Format::rgba8_unorm, {2, height, width}).empty());
    EXPECT_TRUE(vulkan::image_modifiers(device, Format::rgba8_unorm, {height, width}, {.levels = 2, .read_only = true}).empty());
    if (!has_layer()) return;
    const auto text_of = [](const std::vector<ImageModifier>& all) {
        std::string numbers;
        for (const ImageModifier& one : all)
            numbers += text(one.modifier & 0xff, one.out ? " out" : "", one.in ? " in" : "", " ", one.plane_count, "; ");
        return numbers;
    };
    EXPECT_EQ(text_of(stored), "0 out in 1; 3 out in 2; 4 in 1; ");
    EXPECT_EQ(text_of(read), "0 out in 1; 1 out in 1; 3 out in 2; 4 in 1; ");
    const Image<float4> any = vulkan::shareable_image<float4>(device, Format::rgba8_unorm, {height, width}, {}, FdKind::dma_buf);
    const SharedMemory memory = vulkan::share(any);
    close(memory.fd);
    EXPECT_EQ(memory.modifier & 0xff, 3u);  // the layer takes the last of the list
    EXPECT_EQ(memory.plane_count, 2);
    EXPECT_GT(memory.planes[1].offset, memory.planes[0].offset);
}

TEST_F(DmaBufs, AnArrayIsSharedByDmaBuf) {
    const Device device = wrap();
    if (const vulkan::Interop can = vulkan::interop(device); !can.dma_buf_out || !can.dma_buf_in)
        GTEST_SKIP() << "SKIPPED: the driver shares no memory by dma-buf";
    const Array<int> y = vulkan::shareable<int>(device, {1000}, FdKind::dma_buf);
    y.copy_from(device.full<int>(1000, 5));
    vulkan::release(y);
    const SharedMemory memory = vulkan::share(y);
    EXPECT_EQ(memory.kind, FdKind::dma_buf);
    const Array<int> same = vulkan::shared<int>(device, memory, {1000});
    vulkan::acquire(same);
    EXPECT_EQ(same.download(), std::vector<int>(1000, 5));
}

TEST_F(DmaBufs, AnArrayOfTheHostIsTakenFromADmaBuf) {
    const Device device = wrap();
    if (!vulkan::interop(device).dma_buf_in) GTEST_SKIP() << "SKIPPED: the driver takes no memory from a dma-buf";
    constexpr int64_t bytes = 8192;
    SharedMemory memory;
    memory.kind = FdKind::dma_buf;
    memory.fd = host_dma_buf(bytes);
    ASSERT_GE(memory.fd, 0);
    memory.bytes = memory.allocated = bytes;
    const Mapped host(memory.fd, bytes);
    ASSERT_TRUE(bool(host));
    for (int i = 0; i < 2000; ++i) std::memcpy(host.data + 4 * i, &i, 4);
    const Array<int> y = vulkan::shared<int>(device, memory, {2000});
    vulkan::acquire(y);
    add_one(ndrange(2000), y);
    vulkan::release(y);
    device.synchronize();
    for (int i = 0; i < 2000; ++i) {
        int there;
        std::memcpy(&there, host.data + 4 * i, 4);
        ASSERT_EQ(there, i + 1);
    }
}

TEST_F(DmaBufs, WithoutTheExtensionsImagesAreAnError) {
    const Device device = wrap();
    const bool can = vulkan::interop(device).dma_buf_image_out;
    tests::VulkanApplication least(0, tests::VulkanApplication::Features::least);
    const Device bare = can ? vulkan::wrap(least.application()) : device;
    EXPECT_FALSE(vulkan::interop(bare).dma_buf_image_out);
    EXPECT_FALSE(vulkan::interop(bare).dma_buf_image_in);
    EXPECT_TRUE(vulkan::image_modifiers(bare, Format::rgba8_unorm, {4, 4}).empty());
    const std::string extensions =
        " a dma-buf: the application has not enabled VK_KHR_external_memory_fd, VK_EXT_external_memory_dma_buf and "
        "VK_EXT_image_drm_format_modifier (vulkan::interop)";
    EXPECT_EQ(error_of([&] { vulkan::shareable_image<float4>(bare, Format::rgba8_unorm, {4, 4}, {}, FdKind::dma_buf); }),
              bare.name() + " cannot give an rgba8_unorm image of 4 x 4 away as" + extensions);
    SharedMemory memory;
    memory.kind = FdKind::dma_buf;
    EXPECT_EQ(error_of([&] { vulkan::shared_image<float4>(bare, memory, Format::rgba8_unorm, {4, 4}); }),
              bare.name() + " cannot take an rgba8_unorm image of 4 x 4 from" + extensions);
}

TEST_F(DmaBufs, MisuseIsAnError) {
    OPEN_OR_SKIP();
    const auto give = [&](const ImageOptions& options, FdKind kind, const std::vector<uint64_t>& modifiers) {
        return error_of([&] { vulkan::shareable_image<uint4>(device, Format::rgba8_uint, {8, 64}, options, kind, modifiers); });
    };
    EXPECT_EQ(
        give({}, FdKind::opaque, {0, 1}),
        "an rgba8_uint image of 8 x 64 is given away as an opaque descriptor with 2 DRM format modifiers: a dma-buf has one");
    EXPECT_EQ(
        give({.levels = 2, .read_only = true}, FdKind::dma_buf, {}),
        "an rgba8_uint image of 8 x 64 with 2 levels is shared as a dma-buf: that holds an image of 2 dimensions with 1 level");
    EXPECT_EQ(error_of([&] { vulkan::shareable_image<uint4>(device, Format::rgba8_uint, {2, 8, 64}, {}, FdKind::dma_buf); }),
              "an rgba8_uint image of 2 x 8 x 64 with 1 level is shared as a dma-buf: that holds an image of 2 dimensions with 1 "
              "level");
    const std::string unknown = give({}, FdKind::dma_buf, {0xabc, 0x0f000000000000ff});
    EXPECT_EQ(unknown.find("an rgba8_uint image of 8 x 64 is given away as a dma-buf with one of the DRM format modifiers 0xabc, "
                           "0xf000000000000ff: " +
                           device.name() + " has 0x0"),
              0u)
        << unknown;

    // A good picture of the host, each time with one number changed.
    SharedMemory good;
    good.kind = FdKind::dma_buf;
    good.fd = host_dma_buf(4096);
    ASSERT_GE(good.fd, 0);
    good.plane_count = 1;
    good.planes[0] = {0, 256};
    const auto take = [&](const SharedMemory& memory, Format format = Format::rgba8_uint, int64_t rows = 8) {
        const std::string message = error_of([&] {
            if (format == Format::rgba32_uint)
                vulkan::shared_image<uint4>(device, memory, Format::rgba32_uint, {8, 64});
            else
                vulkan::shared_image<uint4>(device, memory, format, {rows, 64});
        });
        // The descriptor is still the caller's.
        EXPECT_TRUE(memory.fd != good.fd || fcntl(good.fd, F_GETFD) >= 0) << message;
        return message;
    };
    const auto changed = [&](auto&& change) {
        SharedMemory memory = good;
        change(memory);
        return take(memory);
    };
    EXPECT_EQ(changed([](SharedMemory& m) { m.fd = -1; }), "a shared image is taken from the descriptor -1, which is none");
    const std::string other = changed([](SharedMemory& m) { m.modifier = 0xabc; });
    EXPECT_EQ(other.find("an rgba8_uint image of 8 x 64 is taken from a dma-buf with the DRM format modifier 0xabc: "), 0u)
        << other;
    EXPECT_NE(other.find(" takes 0x0"), std::string::npos) << other;
    EXPECT_EQ(changed([](SharedMemory& m) { m.plane_count = 2; })
                  .find("an rgba8_uint image of 8 x 64 is taken from a dma-buf with 2 "
                        "planes: the DRM format modifier 0x0 has 1 on "),
              0u);
    EXPECT_EQ(
        changed([](SharedMemory& m) { m.planes[0].offset = 4096; }),
        "an rgba8_uint image of 8 x 64 is taken from a dma-buf whose plane 0 begins at byte 4096: the dma-buf has 4096 bytes");
    EXPECT_EQ(
        changed([](SharedMemory& m) { m.planes[0].offset = -64; }),
        "an rgba8_uint image of 8 x 64 is taken from a dma-buf whose plane 0 begins at byte -64: the dma-buf has 4096 bytes");
    EXPECT_EQ(changed([](SharedMemory& m) { m.planes[0].row_pitch = 0; }),
              "an rgba8_uint image of 8 x 64 is taken from a dma-buf whose plane 0 has a row pitch of 0 bytes: it is positive");
    const std::string pitch = " bytes: a row has 256 bytes, and the pitch is a multiple of 4";
    EXPECT_EQ(changed([](SharedMemory& m) { m.planes[0].row_pitch = 252; }),
              "an rgba8_uint image of 8 x 64 is taken from a dma-buf with a row pitch of 252" + pitch);
    EXPECT_EQ(changed([](SharedMemory& m) { m.planes[0].row_pitch = 258; }),
              "an rgba8_uint image of 8 x 64 is taken from a dma-buf with a row pitch of 258" + pitch);
    EXPECT_EQ(
        changed([](SharedMemory& m) { m.planes[0] = {2304, 256}; }),
        "an rgba8_uint image of 8 x 64 is taken from a dma-buf of 4096 bytes: its 8 rows, 256 bytes apart from byte 2304 on, end "
        "behind that");
    EXPECT_EQ(
        changed([](SharedMemory& m) { m.planes[0].row_pitch = int64_t(1) << 62; }),
        "an rgba8_uint image of 8 x 64 is taken from a dma-buf of 4096 bytes: its 8 rows, 4611686018427387904 bytes apart from "
        "byte 0 on, end behind that");
    EXPECT_EQ(
        take(good, Format::rgba8_uint, 17),
        "an rgba8_uint image of 17 x 64 is taken from a dma-buf of 4096 bytes: its 17 rows, 256 bytes apart from byte 0 on, end "
        "behind that");
    EXPECT_EQ(
        take(good, Format::rgba32_uint),
        "an rgba32_uint image of 8 x 64 is taken from a dma-buf with a row pitch of 256 bytes: a row has 1024 bytes, and the "
        "pitch is a multiple of 16");
    EXPECT_EQ(take(good, Format::rgba8_unorm).find("an image of format rgba8_unorm is shared, whose texels are 4 of f32"), 0u);
    // Refused by the driver.
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    const std::string not_one = changed([&](SharedMemory& m) { m.fd = file; });
    EXPECT_EQ(not_one.find(text("the descriptor ", file, " is taken for a dma-buf")), 0u) << not_one;
    EXPECT_NE(not_one.find(" does not know it as one: vk"), std::string::npos) << not_one;
    close(file);
    int ends_of_pipe[2];
    ASSERT_EQ(pipe(ends_of_pipe), 0);
    EXPECT_EQ(
        changed([&](SharedMemory& m) { m.fd = ends_of_pipe[0]; }),
        text("the descriptor ", ends_of_pipe[0], " is taken for a dma-buf, and the system does not tell its size: Illegal seek"));
    close(ends_of_pipe[0]), close(ends_of_pipe[1]);
    if (has_layer()) {
        EXPECT_EQ(
            changed([](SharedMemory& m) { m.planes[0].offset = 4; }),
            text("the driver of ", device.name(),
                 " does not take an rgba8_uint image of 8 x 64 with the DRM format modifier 0x0 and a row pitch of 256 bytes, "
                 "from byte 4 of a dma-buf on: vkCreateImage gives VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT"));
        const std::string small = changed([](SharedMemory& m) {
            m.modifier = 0x0f00000000000003, m.plane_count = 2;
            m.planes[1] = {2048, 4096};
        });
        EXPECT_EQ(small.find("a dma-buf of 4096 bytes is taken for an rgba8_uint image of 8 x 64 that needs 6144 bytes on "), 0u)
            << small;
    }
    // And the application goes on.
    const Image<uint4> picture = vulkan::shared_image<uint4>(device, good, Format::rgba8_uint, {8, 64});
    vulkan::acquire(picture);
    EXPECT_EQ(picture.download().size(), 8u * 64);
}

}  // namespace
