// An application with command buffers of its own, for the tests of its frames.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <pumice/pumice.h>
#include <pumice/vulkan.h>

#include "tests/frames/counted_calls.h"
#include "tests/vulkan_application.h"

namespace tests {

/// A command buffer that may execute any number of times.
class CommandBuffer {
public:
    explicit CommandBuffer(VulkanApplication& app, VkCommandBufferLevel level = VK_COMMAND_BUFFER_LEVEL_PRIMARY) : app(app) {
        VkCommandPoolCreateInfo pool_info{};
        pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        pool_info.queueFamilyIndex = app.application().queue_family;
        app.vk.CreateCommandPool(app.device, &pool_info, nullptr, &pool);
        VkCommandBufferAllocateInfo allocation{};
        allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        allocation.commandPool = pool;
        allocation.level = level;
        allocation.commandBufferCount = 1;
        app.vk.AllocateCommandBuffers(app.device, &allocation, &handle);
        this->level = level;
    }
    ~CommandBuffer() {
        app.wait();
        app.vk.DestroyCommandPool(app.device, pool, nullptr);
    }
    CommandBuffer(const CommandBuffer&) = delete;
    void begin() {
        VkCommandBufferInheritanceInfo inheritance{};
        inheritance.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO;
        VkCommandBufferBeginInfo info{};
        info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        if (level == VK_COMMAND_BUFFER_LEVEL_SECONDARY) info.pInheritanceInfo = &inheritance;
        app.vk.BeginCommandBuffer(handle, &info);
    }
    void end() { app.vk.EndCommandBuffer(handle); }
    void reset() { app.vk.ResetCommandPool(app.device, pool, 0); }
    /// Submits, and waits.
    void execute() {
        VkSubmitInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        info.commandBufferCount = 1;
        info.pCommandBuffers = &handle;
        {
            const std::lock_guard lock(app.mutex);
            ASSERT_EQ(app.vk.QueueSubmit(app.queue, 1, &info, VK_NULL_HANDLE), VK_SUCCESS);
        }
        app.wait();
    }

    VulkanApplication& app;
    VkCommandBuffer handle = nullptr;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBufferLevel level;
};

/// Skips where Vulkan is not the device of the test.
class FrameTest : public testing::Test {
protected:
    void SetUp() override {
        if (pumice::Device::open().name().rfind("vulkan:", 0) != 0) GTEST_SKIP() << "SKIPPED: needs a Vulkan device";
        app = std::make_unique<VulkanApplication>(0);
        vulkan_application = app->application();
        vulkan_application.get_instance_proc_addr = counting();
    }
    void TearDown() override {
        if (!app) return;
        EXPECT_EQ(app->messages, std::vector<std::string>());
    }
    pumice::Device wrap() { return pumice::vulkan::wrap(vulkan_application); }

    std::unique_ptr<VulkanApplication> app;
    pumice::vulkan::Application vulkan_application;
};

template <class Act> std::string error_of(Act&& act) {
    try {
        act();
    } catch (const pumice::Error& error) { return error.what(); }
    return "no error";
}

}  // namespace tests
