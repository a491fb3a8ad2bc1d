// Pumice inside an application's device, on every Vulkan device found. The application's validation layer finds nothing.
#include "vulkan/wrap.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <utility>

#include "core/kernel/kernel.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
#include "tests/vulkan_application.h"
#include "vulkan/loader_devices.h"
#include "vulkan/vulkan_device.h"

namespace {

using namespace pumice;
using tests::VulkanApplication;
using vulkan::Place;
using vulkan::Point;

const auto saxpy = kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
});

/// A buffer of the application that its host can map.
struct HostBuffer {
    HostBuffer(VulkanApplication& app, int64_t bytes, VkBufferUsageFlags more = 0) : app(app), bytes(bytes) {
        VkBufferCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        info.size = VkDeviceSize(bytes);
        info.usage =
            VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | more;
        app.vk.CreateBuffer(app.device, &info, nullptr, &buffer);
        VkMemoryRequirements needs{};
        app.vk.GetBufferMemoryRequirements(app.device, buffer, &needs);
        VkPhysicalDeviceMemoryProperties memories{};
        app.functions.GetPhysicalDeviceMemoryProperties(app.physical, &memories);
        constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        uint32_t type = 0;
        while (!(needs.memoryTypeBits >> type & 1) || (memories.memoryTypes[type].propertyFlags & host) != host) ++type;
        VkMemoryAllocateFlagsInfo flags{};
        flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
        flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
        VkMemoryAllocateInfo allocation{};
        allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        allocation.pNext = more & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT ? &flags : nullptr;
        allocation.allocationSize = needs.size;
        allocation.memoryTypeIndex = type;
        app.vk.AllocateMemory(app.device, &allocation, nullptr, &memory);
        app.vk.BindBufferMemory(app.device, buffer, memory, 0);
        void* at = nullptr;
        app.vk.MapMemory(app.device, memory, 0, VK_WHOLE_SIZE, 0, &at);
        floats = {static_cast<float*>(at), size_t(bytes) / 4};
        std::ranges::fill(floats, 0.0f);
    }
    ~HostBuffer() {
        app.wait();
        app.vk.DestroyBuffer(app.device, buffer, nullptr);
        app.vk.FreeMemory(app.device, memory, nullptr);
    }
    Place place() const { return {buffer, 0, bytes}; }

    VulkanApplication& app;
    const int64_t bytes;
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::span<float> floats;
};

std::vector<int> devices() {
    std::vector<int> usable;
    for (const vulkan::PhysicalDevice& found : vulkan::list())
        if (found.usable) usable.push_back(found.index);
    return usable;
}

class Wrap : public testing::TestWithParam<int> {
protected:
    void TearDown() override { EXPECT_EQ(app.messages, std::vector<std::string>()); }
    void copy(const Place& from, const Place& to, const Point& before = {}, const Point& after = {}) {
        app.submit(
            [&](VkCommandBuffer commands) {
                const VkBufferCopy region{VkDeviceSize(from.offset), VkDeviceSize(to.offset), VkDeviceSize(from.bytes)};
                app.vk.CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
                VkMemoryBarrier barrier{};  // for reads by the host
                barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
                barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
                barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
                app.vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                                          nullptr, 0, nullptr);
            },
            before, after);
    }
    VulkanApplication app{GetParam()};
};

template <class Act> std::string error_of(Act&& act) {
    try {
        act();
    } catch (const Error& error) { return error.what(); }
    return "no error";
}

TEST_P(Wrap, TheSharedQueueKeepsTheOrder) {
    HostBuffer in(app, 4096), lent(app, 4096), out(app, 4096);
    std::iota(in.floats.begin(), in.floats.end(), 0.0f);
    const Device device = vulkan::wrap(app.application());
    EXPECT_NE(device.name().find("vulkan:application"), std::string::npos) << device.name();
    const Array<float> y = device.full<float>(1024, 1.0f), x = vulkan::array<float>(device, lent.place(), {1024});
    for (int step = 0; step < 50; ++step) {
        copy(in.place(), lent.place());  // a copy of the application, a launch of Pumice, a copy of the application
        saxpy(ndrange(1024), y, x, 1.0f);
        vulkan::submit(device);
        copy(vulkan::place(y), out.place());
    }
    app.wait();
    for (size_t i = 0; i < out.floats.size(); ++i) ASSERT_EQ(out.floats[i], 1 + 50.0f * float(i));
    EXPECT_EQ(y.download(), std::vector<float>(out.floats.begin(), out.floats.end()));
}

PFN_vkQueueSubmit real_submit = nullptr;
int submissions = 0;
VKAPI_ATTR VkResult VKAPI_CALL counted_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* info, VkFence fence) {
    ++submissions;
    return real_submit(queue, count, info, fence);
}

TEST_P(Wrap, AFrameIsOneSubmission) {
    const Device device = vulkan::wrap(app.application());
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    device.synchronize();
    auto& vk = static_cast<vulkan::VulkanDevice&>(*device.state->backend).context.vk;
    real_submit = std::exchange(vk.QueueSubmit, counted_submit);
    for (int frame = 1; frame <= 5; ++frame) {
        submissions = 0;
        for (int i = 0; i < 10; ++i) saxpy(ndrange(64), y, x, 1.0f);
        // No thread may submit a part of the frame.
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(submissions, 0);
        vulkan::submit(device);
        EXPECT_EQ(submissions, 1);
    }
    vk.QueueSubmit = real_submit;
    EXPECT_EQ(y.download(), std::vector<float>(64, 50.0f));
}

PFN_vkCmdPipelineBarrier real_barrier = nullptr;
std::vector<std::pair<VkPipelineStageFlags, VkPipelineStageFlags>> barriers;  // from, to
VKAPI_ATTR void VKAPI_CALL noted_barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
                                         VkDependencyFlags flags, uint32_t count, const VkMemoryBarrier* memory, uint32_t,
                                         const VkBufferMemoryBarrier*, uint32_t, const VkImageMemoryBarrier*) {
    barriers.push_back({from, to});
    real_barrier(commands, from, to, flags, count, memory, 0, nullptr, 0, nullptr);
}

/// The drivers here run everything in order, and the layer checks single command buffers; so the test reads recorded commands.
TEST_P(Wrap, BatchesBeginAndEndWithABarrierTowardsTheApplication) {
    const Device device = vulkan::wrap(app.application());
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    device.synchronize();
    auto& vk = static_cast<vulkan::VulkanDevice&>(*device.state->backend).context.vk;
    barriers.clear();
    real_barrier = std::exchange(vk.CmdPipelineBarrier, noted_barrier);
    saxpy(ndrange(64), y, x, 1.0f);
    device.synchronize();
    vk.CmdPipelineBarrier = real_barrier;
    const VkPipelineStageFlags ours = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    ASSERT_EQ(barriers.size(), 2u);
    EXPECT_EQ(barriers[0].first, VkPipelineStageFlags(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT));
    EXPECT_EQ(barriers[0].second, ours | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT);
    EXPECT_EQ(barriers[1].first, ours);
    EXPECT_EQ(barriers[1].second & (VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT),
              VkPipelineStageFlags(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT));
}

TEST_P(Wrap, TimelinePointsOrderBothDirections) {
    HostBuffer in(app, 4096), out(app, 4096);
    const VkSemaphore semaphore = app.timeline();
    const Device device = vulkan::wrap(app.application());
    const Array<float> y = device.zeros<float>(1024), x = device.zeros<float>(1024);
    for (uint64_t step = 1; step <= 20; ++step) {
        std::ranges::fill(in.floats, float(step));
        copy(in.place(), vulkan::place(x), {}, {semaphore, step});
        vulkan::wait_for(device, {semaphore, step});
        EXPECT_EQ(x.get(7), float(step));  // copies to the host wait, too
        saxpy(ndrange(1024), y, x, 1.0f);
        copy(vulkan::place(y), out.place(), vulkan::submit(device));
        app.wait();
        ASSERT_EQ(out.floats[1023], float(step * (step + 1) / 2));
    }
    device.synchronize();
    app.vk.DestroySemaphore(app.device, semaphore, nullptr);
}

TEST_P(Wrap, APointAfterAHostFunction) {
    const Device device = vulkan::wrap(app.application());
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    HostBuffer out(app, 256);
    const Stream stream = device.stream();
    std::atomic<int> called = 0;
    saxpy(ndrange(64).on(stream), y, x, 1.0f);
    stream.call([&] { ++called; });
    copy(vulkan::place(y), out.place(), vulkan::submit(device));
    app.wait();
    EXPECT_EQ(called, 1);
    EXPECT_EQ(out.floats[63], 1.0f);
}

TEST_P(Wrap, TheQueueIsLockedOnAllThreads) {
    const Device device = vulkan::wrap(app.application());
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    std::atomic<bool> stop = false;
    std::thread other([&] {
        while (!stop) {
            app.submit([](VkCommandBuffer) {});
            std::this_thread::yield();
        }
    });
    for (int i = 0; i < 300; ++i) {
        saxpy(ndrange(64), y, x, 1.0f);
        if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));  // the thread of the queue submits
        if (i % 50 == 25) device.synchronize();
    }
    EXPECT_EQ(y.download(), std::vector<float>(64, 300.0f));
    stop = true;
    other.join();
}

TEST_P(Wrap, ArraysInOneBuffer) {
    HostBuffer lent(app, 4096);
    const Device device = vulkan::wrap(app.application());
    const Array<float> low = vulkan::array<float>(device, {lent.buffer, 0, 2048}, {512});
    const Array<float, 2> high = vulkan::array<float>(device, {lent.buffer, 2048, 2048}, {16, 32});
    low.fill(2.0f);
    high.fill(1.0f);
    saxpy(ndrange(512), high.flat(), low, 3.0f);
    saxpy(ndrange(512), low, high.flat(), 1.0f);  // each launch waits for the one before
    EXPECT_EQ(high.download(), std::vector<float>(512, 7.0f));
    EXPECT_EQ(low.download(), std::vector<float>(512, 9.0f));
    app.wait();
    EXPECT_EQ(lent.floats[511], 9.0f);
    EXPECT_EQ(lent.floats[512], 7.0f);
    const Array<float> overlaps = vulkan::array<float>(device, {lent.buffer, 1024, 2048}, {512});
    EXPECT_NE(error_of([&] { saxpy(ndrange(512), low, overlaps, 1.0f); }).find("overlap in memory"), std::string::npos);
}

/// No binding may begin there: the array is reached by the buffer's address, or else by a binding that begins below.
TEST_P(Wrap, ArraysAtUnalignedOffsets) {
    const Device device = vulkan::wrap(app.application());
    const bool has_addresses = vulkan::place(device.zeros<float>(1)).addressable;
    HostBuffer buffer(app, 4096, has_addresses ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0);
    for (const bool addressable : {false, has_addresses}) {
        buffer.floats[3] = 5.0f;
        const Array<float> x = vulkan::array<float>(device, {buffer.buffer, 0, 4096, addressable}, {1024}),
                           y = device.zeros<float>(3);
        saxpy(ndrange(3), y, x.slice(1, 4), 2.0f);
        EXPECT_EQ(y.download(), (std::vector<float>{0.0f, 0.0f, 10.0f}));
        saxpy(ndrange(3), x.slice(1, 4), y, 0.5f);
        device.synchronize();
        EXPECT_EQ(buffer.floats[3], 10.0f);
    }
}

TEST_P(Wrap, OnlyWhatIsEnabledIsUsed) {
    VulkanApplication least(GetParam(), VulkanApplication::Features::least);
    {
        const Device device = vulkan::wrap(least.application());
        for (const Feature feature : {Feature::int8, Feature::int16, Feature::float16, Feature::float64})
            EXPECT_FALSE(device.supports(feature));
        const Array<float> y = device.full<float>(100, 1.0f), x = device.full<float>(100, 2.0f);
        saxpy(ndrange(100), y, x, 3.0f);
        EXPECT_EQ(y.download(), std::vector<float>(100, 7.0f));
    }
    EXPECT_EQ(least.messages, std::vector<std::string>());
}

/// The card "discrete" has a family without time stamps besides the one that Pumice would choose. The validation layer reports a
/// time stamp that is written there.
TEST_P(Wrap, AQueueOfAnyComputingFamily) {
    VulkanApplication other(GetParam(), VulkanApplication::Features::all, VK_API_VERSION_1_2, true);
    {
        const Device device = vulkan::wrap(other.application());
        const vulkan::Context& context = static_cast<vulkan::VulkanDevice&>(*device.state->backend).context;
        const uint32_t family = other.application().queue_family;
        EXPECT_EQ(context.plan.queue_family, family);
        EXPECT_EQ(context.plan.time_stamp_bits, context.snapshot.queue_families[family].timestampValidBits);
        constexpr int64_t n = 64 * 1000;  // groups enough to be timed
        const Array<float> y = device.zeros<float>(n), x = device.full<float>(n, 1.0f);
        for (int i = 0; i < 3; ++i) {
            const Event launch = saxpy(ndrange(n).group(64).timed(), y, x, 1.0f);
            vulkan::submit(device);
            EXPECT_GT(launch.elapsed().count(), 0);
        }
        EXPECT_EQ(y.download(), std::vector<float>(n, 3.0f));
    }
    EXPECT_EQ(other.messages, std::vector<std::string>());
}

TEST_P(Wrap, DestroyedWithWorkPending) {
    std::vector<float> result;
    {
        const Device device = vulkan::wrap(app.application());
        const Array<float> y = device.zeros<float>(1 << 16), x = device.full<float>(1 << 16, 1.0f);
        for (int i = 0; i < 100; ++i) saxpy(ndrange(1 << 16), y, x, 1.0f);
    }
    // The application continues to use its device, and wraps it again.
    const Device again = vulkan::wrap(app.application());
    const Array<float> y = again.zeros<float>(64), x = again.full<float>(64, 1.0f);
    saxpy(ndrange(64), y, x, 1.0f);
    EXPECT_EQ(y.get(63), 1.0f);
}

TEST_P(Wrap, EnabledFeaturesGivenAsLists) {
    vulkan::Application lists = app.application();
    const auto* const names = lists.created_with->ppEnabledExtensionNames;
    lists.created_with = nullptr;
    lists.features = app.created.pNext;
    lists.extensions = {names, names + app.created.enabledExtensionCount};
    const Device device = vulkan::wrap(lists), same = vulkan::wrap(app.application());
    for (const Feature feature : features) EXPECT_EQ(device.supports(feature), same.supports(feature));
    const auto plan_of = [](const Device& d) -> const vulkan::DevicePlan& {
        return static_cast<vulkan::VulkanDevice&>(*d.state->backend).context.plan;
    };
    EXPECT_EQ(plan_of(device).push_descriptors, plan_of(same).push_descriptors);
    EXPECT_EQ(plan_of(device).device_addresses, plan_of(same).device_addresses);
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    saxpy(ndrange(64), y, x, 2.0f);
    EXPECT_EQ(y.get(63), 2.0f);
}

/// Any combination of versions that the application states.
TEST_P(Wrap, AnInstanceOfAnOlderVulkanIsAnError) {
    for (const uint32_t version : {VK_API_VERSION_1_0, VK_API_VERSION_1_1}) {
        VulkanApplication old(GetParam(), VulkanApplication::Features::none, version);
        vulkan::Application application = old.application();
        application.created_with = nullptr;
        application.features = app.created.pNext;
        const std::string message = error_of([&] { vulkan::wrap(application); });
        EXPECT_NE(message.find("Vulkan 1.2 or above"), std::string::npos) << message;
    }
}

TEST_P(Wrap, MisuseIsAnError) {
    const auto wrong = [&](auto&& change) {
        vulkan::Application application = app.application();
        change(application);
        return error_of([&] { vulkan::wrap(application); });
    };
    EXPECT_EQ(wrong([](auto& a) { a.device = nullptr; }),
              "an application's Vulkan device cannot be wrapped: Application::device is not set");
    EXPECT_EQ(wrong([](auto& a) { a.created_with = nullptr; }),
              "an application's Vulkan device cannot be wrapped: neither Application::features nor created_with is set");
    EXPECT_EQ(
        wrong([](auto& a) { a.extensions = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME}; }),
        "an application's Vulkan device cannot be wrapped: Application::created_with is set, and features or extensions, too");
    const VkPhysicalDeviceFeatures2 no_features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};
    EXPECT_NE(wrong([&](auto& a) {
                  a.created_with = nullptr, a.features = &no_features;
              }).find("the feature timelineSemaphore is not enabled in its features"),
              std::string::npos);
    EXPECT_EQ(wrong([](auto& a) { a.unlock = nullptr; }),
              "an application's Vulkan device cannot be wrapped: of Application::lock and unlock only one is set");
    EXPECT_EQ(wrong([](auto& a) { a.queue_family = 7; }),
              "an application's Vulkan device cannot be wrapped: it was made with no queue of family 7");
    const std::string no_family = wrong([&](auto& a) {
        a.created_with = nullptr, a.features = app.created.pNext;
        a.queue_family = 4096;
    });
    EXPECT_NE(no_family.find("it has no queue family 4096; it has "), std::string::npos) << no_family;
    VkDeviceCreateInfo bare = app.created;
    bare.pNext = nullptr;
    EXPECT_NE(wrong([&](auto& a) {
                  a.created_with = &bare;
              }).find("the feature timelineSemaphore is not enabled in its VkDeviceCreateInfo"),
              std::string::npos);
    EXPECT_NE(wrong([](auto& a) { a.api_version = VK_API_VERSION_1_1; }).find("it has Vulkan 1.1, and 1.2 is needed"),
              std::string::npos);

    const Device device = vulkan::wrap(app.application()), interp = Device::open("interp");
    const Array<float> elsewhere = interp.zeros<float>(4);
    EXPECT_EQ(error_of([&] { vulkan::place(elsewhere); }),
              "vulkan::place is called for interp, which is no device of an application's (vulkan::wrap)");
    EXPECT_EQ(error_of([&] { vulkan::submit(interp); }),
              "vulkan::submit is called for interp, which is no device of an application's (vulkan::wrap)");
    EXPECT_EQ(error_of([&] { vulkan::wait_for(device, {}); }), "vulkan::wait_for is called for a point without a semaphore");
    HostBuffer lent(app, 64);
    EXPECT_EQ(error_of([&] { vulkan::array<float>(device, lent.place(), {17}); }),
              "an array of 68 bytes is put into a place of 64 bytes");
    EXPECT_EQ(error_of([&] { vulkan::array<float>(device, {lent.buffer, 2, 8}, {1}); }),
              "an array is put at byte 2 of a buffer, into 8 bytes: both have to be multiples of 4");
    EXPECT_EQ(error_of([&] { vulkan::array<float>(device, {lent.buffer, INT64_MAX - 3, 8}, {1}); }),
              "an array is put at byte 9223372036854775804 of a buffer, into 8 bytes: no buffer reaches that far");
    EXPECT_EQ(error_of([&] { vulkan::array<float>(device, {}, {1}); }),
              "an array is put into a buffer that is not there: Place::buffer is not set");
    EXPECT_EQ(error_of([&] { vulkan::array<float>(device, lent.place(), {0}); }),
              "an array of extent 0 along dimension 0 is put into a buffer: extents are positive there");
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Wrap);
INSTANTIATE_TEST_SUITE_P(Every, Wrap, testing::ValuesIn(devices()));

}  // namespace
