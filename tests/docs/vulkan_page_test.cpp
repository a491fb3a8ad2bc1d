// docs/vulkan.md: the examples are compiled and run as they stand on the page.
#include <pumice/pumice.h>
#include <pumice/vulkan.h>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

#include "tests/vulkan_application.h"
#include "vulkan/loader_devices.h"

namespace {

using namespace pumice;

const auto square =
    kernel("square", [](Out<float> y, In<float> x) { y[global_index()] = x[global_index()] * x[global_index()]; });
const auto raise = kernel("raise", [](InOut<float> heights, Val<float> by) { heights[global_index()] += by; });
const auto paint = kernel("paint", [](Out<Image<float4>> frame) {
    auto [y, x] = global_index<2>();
    frame(y, x) = Val<float4>(1.0f, 0.0f, 0.0f, 1.0f);
});

TEST(VulkanPage, Examples) {
    if (Device::open().name().rfind("vulkan:", 0) != 0) GTEST_SKIP() << "SKIPPED: needs a Vulkan device";
    tests::VulkanApplication application(0);
    {
        const VkInstance instance = application.instance;
        const VkPhysicalDevice physical = application.physical;
        const VkDevice device = application.device;
        const VkQueue queue = application.queue;
        const uint32_t family = 0;
        const auto& features = *static_cast<const VkPhysicalDeviceFeatures2*>(application.created.pNext);
        const auto* const names = application.created.ppEnabledExtensionNames;
        const std::vector<const char*> extensions(names, names + application.created.enabledExtensionCount);
        std::mutex& queue_mutex = application.mutex;
#include "vulkan/wrap.inc"
        {  // derivatives work on wrapped devices, too
            Array<float> y = compute.zeros<float>(4), dy = compute.full<float>(4, 1.0f), x = compute.full<float>(4, 3.0f);
            Array<float> dx = compute.zeros<float>(4);
            autodiff(Reverse, square, ndrange(4), Duplicated(y, dy), Duplicated(x, dx));
            EXPECT_EQ(dx.download(), std::vector<float>(4, 6.0f));
        }
        const Array<float> heights = compute.zeros<float>(1024);
        std::vector<vulkan::Recording> kept;
#include "vulkan/order.inc"
        EXPECT_EQ(vertices.bytes, 4096);
        const VkSemaphore semaphore = application.timeline();
        application.submit([](VkCommandBuffer) {}, {}, {semaphore, 1});
        {
#include "vulkan/points.inc"
            application.submit([](VkCommandBuffer) {}, raised);
        }
        EXPECT_EQ(heights.download(), std::vector<float>(1024, 1.0f));
        const VkBuffer buffer = vertices.buffer;  // a buffer of Pumice's works like any other
        ASSERT_GE(vertices.offset, 0);
#include "vulkan/lend.inc"
        {
            const Image<float4> canvas = compute.image<float4>(Format::rgba8_unorm, {480, 640});  // any image works
            const VkImage colour = vulkan::place(canvas, VK_IMAGE_LAYOUT_GENERAL).image;
            vulkan::submit(compute);  // the image is the application's now
#include "vulkan/lend_image.inc"
            target.before = target.after;  // now the contents are needed
            EXPECT_EQ(vulkan::image<float4>(compute, target, {480, 640}).download()[0].x, 1.0f);
        }
        {
            const Array<float> velocities = compute.zeros<float>(1024);
            application.submit([&](VkCommandBuffer commands) {
#include "vulkan/record.inc"
                kept.push_back(frame);
#include "vulkan/scopes.inc"
                kept.push_back(drawn);
            });
            application.wait();
            EXPECT_EQ(velocities.get(0), heights.get(0) - 0.5f);
            kept.clear();
        }
        VkSemaphoreCreateInfo binary{};
        binary.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
        VkSemaphore acquired = VK_NULL_HANDLE, rendered = VK_NULL_HANDLE;
        for (VkSemaphore* one : {&acquired, &rendered}) application.vk.CreateSemaphore(device, &binary, nullptr, one);
        application.submit([](VkCommandBuffer) {}, {}, {acquired, 0});
#include "vulkan/present.inc"
        application.submit([](VkCommandBuffer) {}, {rendered, 0});
        const auto draw_progress = [](double part) { EXPECT_LE(part, 1); };
        {
#include "vulkan/prepare.inc"
        }
        const auto send = [](const vulkan::SharedMemory& memory) {
            EXPECT_GE(memory.fd, 0);
            close(memory.fd);
        };
#include "vulkan/share.inc"
#include "vulkan/share_dma_buf.inc"
#include "vulkan/share_image.inc"
        if (vulkan::interop(compute).dma_buf_image_in) {
            const int camera = memfd_create("camera", MFD_CLOEXEC | MFD_ALLOW_SEALING);
            ASSERT_EQ(ftruncate(camera, 4 * 640 * 480), 0);
            try {
#include "vulkan/take_dma_buf.inc"
                EXPECT_EQ(picture.extent(0), 480);
            } catch (const Error&) {  // of a driver that takes no memory of the host; it is a dma-buf to tests/layers
                close(camera);
            }
        }
#include "vulkan/share_semaphore.inc"
        compute.synchronize();
        application.wait();
        for (VkSemaphore one : {acquired, rendered}) application.vk.DestroySemaphore(device, one, nullptr);
        application.vk.DestroySemaphore(device, semaphore, nullptr);
    }
    EXPECT_EQ(application.messages, std::vector<std::string>());
}

}  // namespace
