// Submissions with the application's semaphores, and its pipeline cache and memory.
#include <mutex>

#include "tests/frames/frame_test.h"
#include "vulkan/vulkan_device.h"

namespace {

using namespace pumice;
using tests::calls;
using tests::error_of;
using vulkan::MemoryPart;
using vulkan::MemoryRequest;

const auto saxpy = kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
});

class Submit : public tests::FrameTest {
protected:
    VkSemaphore binary() {
        VkSemaphoreCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
        VkSemaphore semaphore = VK_NULL_HANDLE;
        app->vk.CreateSemaphore(app->device, &info, nullptr, &semaphore);
        return semaphore;
    }
};

/// As acquire and present do. The layer reports a binary semaphore that nobody signals, or that nobody waits for.
TEST_F(Submit, BinarySemaphoresAroundAFrameAreOneSubmission) {
    const VkSemaphore acquired = binary(), rendered = binary();
    {
        const Device device = wrap();
        const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
        device.synchronize();
        calls()["vkQueueSubmit"] = 0;
        for (int frame = 1; frame <= 20; ++frame) {
            app->submit([](VkCommandBuffer) {}, {}, {acquired, 0});
            for (int i = 0; i < 10; ++i) saxpy(ndrange(64), y, x, 1.0f);
            vulkan::submit(device, {{{acquired}}, {{rendered}}});
            app->submit([](VkCommandBuffer) {}, {rendered, 0}, {});
            EXPECT_EQ(calls()["vkQueueSubmit"], frame);
        }
        app->submit([](VkCommandBuffer) {}, {}, {acquired, 0});
        vulkan::submit(device, {{{acquired}}, {{rendered}}});  // no work
        EXPECT_EQ(calls()["vkQueueSubmit"], 21);
        app->submit([](VkCommandBuffer) {}, {rendered, 0}, {});
        EXPECT_EQ(y.download(), std::vector<float>(64, 200.0f));
        EXPECT_EQ(error_of([&] { vulkan::submit(device, {{}, {{}}}); }),
                  "vulkan::submit is called for a point without a semaphore");
    }
    app->wait();
    app->vk.DestroySemaphore(app->device, acquired, nullptr);
    app->vk.DestroySemaphore(app->device, rendered, nullptr);
}

TEST_F(Submit, ASemaphoreIsFreeOnceTheDeviceHasSynchronized) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    for (int frame = 0; frame < 200; ++frame) {
        const VkSemaphore rendered = binary();
        saxpy(ndrange(64), y, x, 1.0f);
        vulkan::submit(device, {.wait = {}, .signal = {{rendered}}});
        device.synchronize();
        app->vk.DestroySemaphore(app->device, rendered, nullptr);
    }
    EXPECT_EQ(y.download(), std::vector<float>(64, 200.0f));
}

TEST_F(Submit, TheApplicationsPipelineCacheIsUsed) {
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    VkPipelineCache cache = VK_NULL_HANDLE;
    app->vk.CreatePipelineCache(app->device, &info, nullptr, &cache);
    vulkan_application.pipeline_cache = cache;
    calls()["vkCreatePipelineCache"] = 0;
    {
        const Device device = wrap();
        const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
        saxpy(ndrange(64), y, x, 1.0f);
        EXPECT_EQ(y.get(3), 1.0f);
    }
    EXPECT_EQ(calls()["vkCreatePipelineCache"], 0);
    size_t bytes = 0;
    EXPECT_EQ(app->vk.GetPipelineCacheData(app->device, cache, &bytes, nullptr), VK_SUCCESS);  // it still exists
    app->vk.DestroyPipelineCache(app->device, cache, nullptr);
}

TEST_F(Submit, TheApplicationsAllocatorGivesAllMemory) {
    struct Pool {  // one allocation a memory type, of which parts are taken one after the other
        VkDeviceMemory memory = VK_NULL_HANDLE;
        std::byte* mapped = nullptr;
        int64_t used = 0;
    };
    constexpr int64_t capacity = int64_t(256) << 20;
    std::mutex mutex;
    std::map<uint32_t, Pool> pools;
    int allocated = 0, freed = 0;
    bool is_empty = false;
    vulkan_application.allocate = [&](const MemoryRequest& request) -> MemoryPart {
        const std::lock_guard lock(mutex);
        if (is_empty) return {};
        Pool& pool = pools[request.memory_type];
        if (!pool.memory) {
            VkMemoryAllocateFlagsInfo flags{};
            flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
            flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
            VkMemoryAllocateInfo info{};
            info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
            info.pNext = request.addressable ? &flags : nullptr;
            info.allocationSize = VkDeviceSize(capacity);
            info.memoryTypeIndex = request.memory_type;
            if (app->vk.AllocateMemory(app->device, &info, nullptr, &pool.memory) != VK_SUCCESS) return {};
            void* at = nullptr;
            if (request.mapped) app->vk.MapMemory(app->device, pool.memory, 0, VK_WHOLE_SIZE, 0, &at);
            pool.mapped = static_cast<std::byte*>(at);
            pool.used = 64;  // so that no part begins at 0
        }
        const int64_t offset = (pool.used + request.alignment - 1) / request.alignment * request.alignment;
        if (offset + request.bytes > capacity) return {};
        pool.used = offset + request.bytes;
        ++allocated;
        return {pool.memory, offset, pool.mapped ? pool.mapped + offset : nullptr};
    };
    vulkan_application.free = [&](const MemoryPart& part) {
        EXPECT_TRUE(part.memory);
        ++freed;
    };
    calls()["vkAllocateMemory"] = 0;
    {
        const Device device = wrap();
        const Array<float> y = device.zeros<float>(100000), x = device.full<float>(100000, 1.0f);
        saxpy(ndrange(100000), y, x, 2.0f);
        EXPECT_EQ(y.download(), std::vector<float>(100000, 2.0f));
        is_empty = true;
        EXPECT_NE(error_of([&] { (void)device.empty<float>(40 << 20); }).find("cannot allocate 167772160 bytes"),
                  std::string::npos);
        // A card copies through memory that the attempt has released.
        const auto& snapshot = static_cast<vulkan::VulkanDevice&>(*device.state->backend).context.snapshot;
        is_empty = snapshot.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
        saxpy(ndrange(100000), y, x, 2.0f);
        EXPECT_EQ(y.get(99999), 4.0f);
    }
    EXPECT_GT(allocated, 0);
    EXPECT_EQ(allocated, freed);
    EXPECT_EQ(calls()["vkAllocateMemory"], 0);
    for (auto& [type, pool] : pools) app->vk.FreeMemory(app->device, pool.memory, nullptr);
}

TEST_F(Submit, AWrongAllocatorIsAnError) {
    vulkan_application.allocate = [](const MemoryRequest&) -> MemoryPart { return {}; };
    EXPECT_EQ(error_of([&] { wrap(); }),
              "an application's Vulkan device cannot be wrapped: of Application::allocate and free only one is set");
}

}  // namespace
