// Images of an application in kernels, and images of Pumice's in an application. The validation layer finds nothing.
#include <gtest/gtest.h>

#include <cstring>

#include "core/kernel/image_parameter.h"
#include "core/kernel/kernel.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "core/language/vector.h"
#include "tests/vulkan_application.h"
#include "vulkan/loader_devices.h"
#include "vulkan/vulkan_device.h"
#include "vulkan/wrap.h"

namespace {

using namespace pumice;
using tests::VulkanApplication;
using vulkan::ImagePlace;

constexpr int64_t height = 5, width = 8;
constexpr VkImageUsageFlags transfers = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;

/// An image of the application, of 5 x 8 texels of 4 bytes, and a buffer that its host maps.
struct Picture {
    Picture(VulkanApplication& app, VkImageUsageFlags usage, VkFormat format = VK_FORMAT_R8G8B8A8_UNORM)
        : app(app), usage(usage) {
        VkImageCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
        info.imageType = VK_IMAGE_TYPE_2D;
        info.format = format;
        info.extent = {uint32_t(width), uint32_t(height), 1};
        info.mipLevels = info.arrayLayers = 1;
        info.samples = VK_SAMPLE_COUNT_1_BIT;
        info.usage = usage;
        app.vk.CreateImage(app.device, &info, nullptr, &image);
        VkMemoryRequirements needs{};
        app.vk.GetImageMemoryRequirements(app.device, image, &needs);
        image_memory = allocate(needs, 0);
        app.vk.BindImageMemory(app.device, image, image_memory, 0);
        VkBufferCreateInfo buffer_info{};
        buffer_info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        buffer_info.size = VkDeviceSize(height * width * 4);
        buffer_info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        app.vk.CreateBuffer(app.device, &buffer_info, nullptr, &buffer);
        app.vk.GetBufferMemoryRequirements(app.device, buffer, &needs);
        buffer_memory = allocate(needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
        app.vk.BindBufferMemory(app.device, buffer, buffer_memory, 0);
        void* at = nullptr;
        app.vk.MapMemory(app.device, buffer_memory, 0, VK_WHOLE_SIZE, 0, &at);
        bytes = static_cast<unsigned char*>(at);
    }
    ~Picture() {
        app.wait();
        app.vk.DestroyImage(app.device, image, nullptr);
        app.vk.DestroyBuffer(app.device, buffer, nullptr);
        app.vk.FreeMemory(app.device, image_memory, nullptr);
        app.vk.FreeMemory(app.device, buffer_memory, nullptr);
    }
    VkDeviceMemory allocate(const VkMemoryRequirements& needs, VkMemoryPropertyFlags wanted) {
        VkPhysicalDeviceMemoryProperties memories{};
        app.functions.GetPhysicalDeviceMemoryProperties(app.physical, &memories);
        VkMemoryAllocateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        info.allocationSize = needs.size;
        while (!(needs.memoryTypeBits >> info.memoryTypeIndex & 1) ||
               (memories.memoryTypes[info.memoryTypeIndex].propertyFlags & wanted) != wanted)
            ++info.memoryTypeIndex;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        app.vk.AllocateMemory(app.device, &info, nullptr, &memory);
        return memory;
    }
    ImagePlace place(VkImageLayout before, VkImageLayout after) const {
        return {image, VK_FORMAT_R8G8B8A8_UNORM, usage, before, after};
    }

    VulkanApplication& app;
    const VkImageUsageFlags usage;
    VkImage image = VK_NULL_HANDLE;
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory image_memory = VK_NULL_HANDLE, buffer_memory = VK_NULL_HANDLE;
    unsigned char* bytes = nullptr;
};

std::vector<int> devices() {
    std::vector<int> usable;
    for (const vulkan::PhysicalDevice& found : vulkan::list())
        if (found.usable) usable.push_back(found.index);
    return usable;
}

class WrapImages : public testing::TestWithParam<int> {
protected:
    void TearDown() override { EXPECT_EQ(app.messages, std::vector<std::string>()); }
    /// The application copies the image into the picture's buffer (`out`), or the buffer into the image. Before that, a barrier
    /// brings the image from layout `from` into layout `to`, in which it stays. The copy is submitted, not waited for.
    void copy(Picture& picture, VkImage image, VkImageLayout from, VkImageLayout to, bool out) {
        app.submit([&](VkCommandBuffer commands) {
            VkImageMemoryBarrier barrier{};
            barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
            barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
            barrier.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
            barrier.oldLayout = from;
            barrier.newLayout = to;
            barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
            barrier.image = image;
            barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
            app.vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, nullptr,
                                      0, nullptr, 1, &barrier);
            VkBufferImageCopy region{};
            region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
            region.imageExtent = {uint32_t(width), uint32_t(height), 1};
            if (out)
                app.vk.CmdCopyImageToBuffer(commands, image, to, picture.buffer, 1, &region);
            else
                app.vk.CmdCopyBufferToImage(commands, picture.buffer, image, to, 1, &region);
            VkMemoryBarrier visible{};
            visible.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
            visible.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
            visible.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
            app.vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &visible, 0,
                                      nullptr, 0, nullptr);
        });
    }
    VulkanApplication app{GetParam()};
};

template <class Act> std::string error_of(Act&& act) {
    try {
        act();
    } catch (const Error& error) { return error.what(); }
    return "no error";
}

const auto invert = kernel("invert", [](InOut<Image<float4>> image) {
    auto [y, x] = global_index<2>();
    image(y, x) = 1.0f - image(y, x);
});
const auto mirror = kernel("mirror", [](Out<Image<float4>> out, In<Image<float4>> in) {
    auto [y, x] = global_index<2>();
    out(y, x) = in(y, in.size(1) - 1 - x);
});

TEST_P(WrapImages, TheApplicationsImageIsFoundAndLeftInItsLayouts) {
    Picture picture(app, transfers | VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT);
    const Device device = vulkan::wrap(app.application());
    const auto image = vulkan::image<float4>(
        device, picture.place(VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL), {height, width});
    EXPECT_EQ(image.format(), Format::rgba8_unorm);
    for (int i = 0; i < int(height * width * 4); ++i) picture.bytes[i] = (unsigned char)(i);
    VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;
    for (int frame = 0; frame < 3; ++frame) {
        copy(picture, picture.image, layout, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, false);
        invert(ndrange(height, width), image);
        vulkan::submit(device);
        layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
        copy(picture, picture.image, layout, layout, true);
        app.wait();
        for (int i = 0; i < int(height * width * 4); ++i)
            ASSERT_EQ(picture.bytes[i], (unsigned char)(frame % 2 ? i : 255 - i)) << "frame " << frame;
    }
    device.synchronize();
}

TEST_P(WrapImages, ADownloadBetweenCommandsDoesNotGiveTheImageBack) {
    Picture picture(app, transfers | VK_IMAGE_USAGE_STORAGE_BIT);
    const Device device = vulkan::wrap(app.application());
    const auto image = vulkan::image<float4>(
        device, picture.place(VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL), {height, width});
    image.upload(std::vector<float4>(size_t(height * width), float4{0, 1, 0.2f, 1}));
    EXPECT_EQ(image.download()[3].y, 1.0f);
    invert(ndrange(height, width), image);
    vulkan::submit(device);
    copy(picture, picture.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, true);
    app.wait();
    EXPECT_EQ(picture.bytes[0], 255);
    EXPECT_EQ(picture.bytes[1], 0);
    EXPECT_EQ(picture.bytes[2], 204);
    EXPECT_EQ(picture.bytes[3], 0);
}

TEST_P(WrapImages, TheLastHandleGivesTheImageBack) {
    Picture picture(app, transfers | VK_IMAGE_USAGE_STORAGE_BIT);
    const Device device = vulkan::wrap(app.application());
    {
        const auto image = vulkan::image<float4>(
            device, picture.place(VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL), {height, width});
        image.upload(std::vector<float4>(size_t(height * width), float4{1, 1, 1, 1}));
    }
    vulkan::submit(device);
    copy(picture, picture.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, true);
    app.wait();
    EXPECT_EQ(picture.bytes[0], 255);
}

TEST_P(WrapImages, TheApplicationUsesAnImageOfPumices) {
    Picture picture(app, transfers | VK_IMAGE_USAGE_SAMPLED_BIT);
    const Device device = vulkan::wrap(app.application());
    const auto in = vulkan::image<float4>(device, picture.place(VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_GENERAL),
                                          {height, width});
    const auto out = device.image<float4>(Format::rgba8_unorm, {height, width}, {});
    for (int i = 0; i < int(height * width * 4); ++i) picture.bytes[i] = (unsigned char)(i);
    const ImagePlace place = vulkan::place(out, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    EXPECT_EQ(place.format, VK_FORMAT_R8G8B8A8_UNORM);
    copy(picture, picture.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, false);
    mirror(ndrange(height, width), out, in);
    vulkan::submit(device);
    copy(picture, place.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, true);
    app.wait();
    EXPECT_EQ(picture.bytes[0], 28);
    EXPECT_EQ(picture.bytes[28], 0);
    EXPECT_EQ(picture.bytes[33], 61);
    // Kernels go on with it after the next submission.
    invert(ndrange(height, width), out);
    vulkan::submit(device);
    copy(picture, place.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, true);
    app.wait();
    EXPECT_EQ(picture.bytes[0], 227);
}

TEST_P(WrapImages, ACubeOfTheApplicationHasItsFaces) {
    constexpr int64_t side = 4;
    VkImageCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    info.flags = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = VK_FORMAT_R8G8B8A8_UNORM;
    info.extent = {uint32_t(side), uint32_t(side), 1};
    info.mipLevels = 1, info.arrayLayers = 6;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = transfers | VK_IMAGE_USAGE_SAMPLED_BIT;
    VkImage image = VK_NULL_HANDLE;
    ASSERT_EQ(app.vk.CreateImage(app.device, &info, nullptr, &image), VK_SUCCESS);
    VkMemoryRequirements needs{};
    app.vk.GetImageMemoryRequirements(app.device, image, &needs);
    Picture picture(app, transfers);
    const VkDeviceMemory memory = picture.allocate(needs, 0);
    app.vk.BindImageMemory(app.device, image, memory, 0);
    {
        const Device device = vulkan::wrap(app.application());
        ImagePlace place{image, VK_FORMAT_R8G8B8A8_UNORM, info.usage, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL};
        EXPECT_EQ(error_of([&] { vulkan::image_cube<float4>(device, place, 0); }),
                  "an image of extent 0 along dimension 0 is lent: extents are positive");
        const auto cube = vulkan::image_cube<float4>(device, place, side);
        EXPECT_EQ(cube.layers(), 6);
        const auto face_of = [](int64_t face) {
            return std::vector<float4>(size_t(side * side), float4{float(face) / 255, 0.0f, 1.0f, 1.0f});
        };
        for (int64_t face = 0; face < 6; ++face) cube.upload(face_of(face), 0, face);
        vulkan::submit(device);
        place.before = VK_IMAGE_LAYOUT_GENERAL;  // the contents stay
        const auto again = vulkan::image_cube<float4>(device, place, side);
        for (int64_t face = 0; face < 6; ++face) {
            const std::vector<std::byte> pixels = again.download_pixels(0, face);
            EXPECT_EQ(pixels[0], std::byte(face));
            EXPECT_EQ(pixels[2], std::byte(255));
        }
    }
    app.wait();
    app.vk.DestroyImage(app.device, image, nullptr);
    app.vk.FreeMemory(app.device, memory, nullptr);
}

TEST_P(WrapImages, WrongImagesAreSentences) {
    Picture picture(app, transfers | VK_IMAGE_USAGE_SAMPLED_BIT);
    const Device device = vulkan::wrap(app.application());
    const auto lend = [&](auto change, int64_t rows = height) {
        ImagePlace place = picture.place(VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
        change(place);
        return error_of([&] { vulkan::image<float4>(device, place, {rows, width}); });
    };
    EXPECT_EQ(lend([](ImagePlace& p) { p.image = {}; }), "an image is lent that is not there: ImagePlace::image is not set");
    EXPECT_EQ(lend([](ImagePlace& p) { p.format = VK_FORMAT_D32_SFLOAT; }),
              "an image of the VkFormat 126 is lent, which kernels cannot use");
    EXPECT_EQ(lend([](ImagePlace& p) { p.format = VK_FORMAT_R32_SFLOAT; }),
              "an image of format r32_float is lent, whose texels are 1 of f32, and its type in C++ has 4 of f32");
    EXPECT_EQ(lend([](ImagePlace&) {}, 0), "an image of extent 0 along dimension 0 is lent: extents are positive");
    EXPECT_NE(lend([](ImagePlace&) {}, 1 << 20).find("texels along a dimension, and 1048576 are asked for"), std::string::npos);
    EXPECT_EQ(lend([](ImagePlace& p) { p.levels = 9; }), "an rgba8_unorm image of 5 x 8 with 9 levels is lent: it has 1 to 4");
    EXPECT_EQ(
        lend([](ImagePlace& p) { p.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT; }),
        "an rgba8_unorm image of 5 x 8 is lent with the usage 16, which allows no kernel and no copy: it has to contain storage, "
        "sampled or a transfer");
    EXPECT_EQ(lend([](ImagePlace& p) { p.before = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL; }),
              "an image is lent with the VkImageLayout 2 before the commands, which its usage 7 does not allow");
    EXPECT_EQ(lend([](ImagePlace& p) { p.before = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL; }),
              "an image is lent with the VkImageLayout 3 before the commands, which is none of an image that kernels use");
    EXPECT_EQ(lend([](ImagePlace& p) { p.after = VK_IMAGE_LAYOUT_UNDEFINED; }),
              "an image is lent with the VkImageLayout 0 after them, into which no image can be brought");
    // The usage says what kernels and copies may do.
    const auto image =
        vulkan::image<float4>(device, picture.place(VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL), {height, width});
    EXPECT_NE(error_of([&] { invert(ndrange(height, width), image); }).find("that kernels only read"), std::string::npos);
    ImagePlace stores = picture.place(VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    stores.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
    const auto read_only = vulkan::image<float4>(device, stores, {height, width});
    EXPECT_EQ(error_of([&] { (void)read_only.download(); }),
              "an image of the application is read, and it was made without the usage VK_IMAGE_USAGE_TRANSFER_SRC_BIT");
    ImagePlace copies = picture.place(VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    copies.usage = transfers;
    const auto copied = vulkan::image<float4>(device, copies, {height, width});
    const auto read = kernel("read", [](Out<float4, 2> to, In<Texture<float4>> from) {
        auto [i, j] = global_index<2>();
        to(i, j) = from.fetch(0, i, j);
    });
    const Array<float4, 2> texels = device.zeros<float4>({height, width});
    const std::string refused = error_of([&] { read(ndrange(height, width), texels, texture(copied)); });
    EXPECT_NE(refused.find("kernel \"read\" (image_lending_test.cpp:"), std::string::npos) << refused;
    EXPECT_NE(refused.find(") reads argument 2, an image of the application that was made without the usage "
                           "VK_IMAGE_USAGE_SAMPLED_BIT"),
              std::string::npos)
        << refused;
    read(ndrange(height, width), texels, texture(read_only));  // the device still works
    const Device other = vulkan::wrap(app.application());
    const auto foreign = other.image<float4>(Format::rgba8_unorm, {height, width}, {});
    EXPECT_NE(error_of([&] { mirror(ndrange(height, width), foreign, image); }), "no error") << "an image on another device";
}

INSTANTIATE_TEST_SUITE_P(Vulkan, WrapImages, testing::ValuesIn(devices()));

}  // namespace
