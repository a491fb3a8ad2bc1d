// The runtime on an application's own Vulkan device: order with its commands, semaphores, its buffers, and errors.
#include "tests/runtime_vulkan/rt_vulkan_test.h"
#include "tests/vulkan_application.h"

using namespace rt_test;
using pumice::global_index;
using pumice::InOut;
using pumice::Val;
using tests::VulkanApplication;

namespace {

/// An application with the runtime on its device.
struct Wrapped {
    explicit Wrapped(VulkanApplication::Features features = VulkanApplication::Features::all) : app(0, features) {
        pumice_vulkan_device about = describe();
        EXPECT_EQ(pumice_vulkan_wrap(&about, nullptr, &device), PUMICE_OK) << pumice_error();
    }
    ~Wrapped() {
        pumice_close(device);
        for (const std::string& message : app.messages) ADD_FAILURE() << message;
    }
    pumice_vulkan_device describe() {
        pumice_vulkan_device about{};
        about.instance = app.instance;
        about.physical_device = app.physical;
        about.device = app.device;
        about.queue = app.queue;
        about.queue_family = app.created.pQueueCreateInfos->queueFamilyIndex;
        about.api_version = VK_API_VERSION_1_2;
        about.features = app.created.pNext;
        about.extensions = app.created.ppEnabledExtensionNames;
        about.extension_count = app.created.enabledExtensionCount;
        about.user = &app;
        about.lock = [](void* user) { static_cast<VulkanApplication*>(user)->mutex.lock(); };
        about.unlock = [](void* user) { static_cast<VulkanApplication*>(user)->mutex.unlock(); };
        return about;
    }
    uint64_t properties() const { return static_cast<vulkan::VulkanDevice*>(device)->context.plan.properties; }

    VulkanApplication app;
    pumice_device device = nullptr;
};

auto raise_kernel() {
    return pumice::kernel("raise", [](InOut<int> a, Val<int> by) { a[global_index()] += by; });
}

/// A buffer of the application that its host maps.
struct HostBuffer {
    HostBuffer(VulkanApplication& app, VkDeviceSize bytes) : app(app) {
        VkBufferCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        info.size = bytes;
        info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        app.vk.CreateBuffer(app.device, &info, nullptr, &buffer);
        VkMemoryRequirements needs;
        app.vk.GetBufferMemoryRequirements(app.device, buffer, &needs);
        VkPhysicalDeviceMemoryProperties types;
        app.functions.GetPhysicalDeviceMemoryProperties(app.physical, &types);
        VkMemoryAllocateInfo allocation{};
        allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        allocation.allocationSize = needs.size;
        const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        for (uint32_t i = 0; i < types.memoryTypeCount; ++i)
            if ((types.memoryTypes[i].propertyFlags & wanted) == wanted && (needs.memoryTypeBits >> i & 1))
                allocation.memoryTypeIndex = i;
        app.vk.AllocateMemory(app.device, &allocation, nullptr, &memory);
        app.vk.BindBufferMemory(app.device, buffer, memory, 0);
        void* data = nullptr;
        app.vk.MapMemory(app.device, memory, 0, VK_WHOLE_SIZE, 0, &data);
        mapped = static_cast<int*>(data);
    }
    ~HostBuffer() {
        app.vk.DestroyBuffer(app.device, buffer, nullptr);
        app.vk.FreeMemory(app.device, memory, nullptr);
    }
    VulkanApplication& app;
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    int* mapped = nullptr;
};

uint64_t number(VkBuffer handle) { return uint64_t(handle); }

pumice_array ints_in(pumice_memory memory, int64_t n) {
    pumice_array array{};
    array.memory = memory, array.type = PUMICE_I32, array.element_bytes = 4, array.rank = 1, array.extents[0] = n;
    return array;
}

pumice_status raise(pumice_device device, const pumice_library* library, const pumice_array& array, int by) {
    const pumice_argument arguments[] = {argument(array), scalar(PUMICE_I32, by)};
    const pumice_range range = pumice_range_1(array.extents[0]);
    return pumice_launch(device, library, 0, &range, arguments, 2);
}

TEST(RuntimeWrap, TheApplicationsCommandsFollowTheSubmittedWork) {
    for (const auto features : {VulkanApplication::Features::all, VulkanApplication::Features::least}) {
        Wrapped on(features);
        TestBundle bundle(on.properties());
        bundle.add(raise_kernel());
        const pumice_library* library = bundle.get();
        HostBuffer copy(on.app, 4000);
        pumice_array a{};
        const int64_t extents[] = {1000};
        RT_OK(pumice_array_create(on.device, PUMICE_I32, 4, 1, extents, &a));
        for (int frame = 1; frame <= 5; ++frame) {
            RT_OK(raise(on.device, library, a, 2));
            RT_OK(raise(on.device, library, a, 1));
            uint64_t buffer = 0, semaphore = 0, value = 0;
            int64_t offset = 0;
            RT_OK(pumice_vulkan_place(a.memory, &buffer, &offset));
            RT_OK(pumice_vulkan_submit(on.device, &semaphore, &value));
            EXPECT_NE(semaphore, 0u);
            on.app.submit([&](VkCommandBuffer commands) {
                const VkBufferCopy region{VkDeviceSize(offset), 0, 4000};
                on.app.vk.CmdCopyBuffer(commands, VkBuffer(buffer), copy.buffer, 1, &region);
                VkMemoryBarrier host{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_TRANSFER_WRITE_BIT,
                                     VK_ACCESS_HOST_READ_BIT};
                on.app.vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &host, 0,
                                             nullptr, 0, nullptr);
            });
            on.app.wait();
            EXPECT_EQ(copy.mapped[999], 3 * frame);
        }
        pumice_array_release(&a);
    }
}

TEST(RuntimeWrap, WorkWaitsForTheApplicationsSemaphore) {
    Wrapped on;
    TestBundle bundle(on.properties());
    bundle.add(raise_kernel());
    const pumice_library* library = bundle.get();
    HostBuffer buffer(on.app, 4096);
    std::fill(buffer.mapped, buffer.mapped + 1024, 0);
    pumice_memory memory = nullptr;
    RT_OK(pumice_vulkan_lend(on.device, number(buffer.buffer), 64, 4000, &memory));
    const pumice_array array = ints_in(memory, 1000);
    const VkSemaphore semaphore = on.app.timeline();
    on.app.submit([&](VkCommandBuffer commands) { on.app.vk.CmdFillBuffer(commands, buffer.buffer, 0, 4096, 7); }, {},
                  {semaphore, 1});
    RT_OK(pumice_vulkan_wait_for(on.device, uint64_t(semaphore), 1));
    RT_OK(raise(on.device, library, array, 4));
    std::vector<int> got(1000);
    RT_OK(pumice_array_read(&array, got.data(), 4000));
    EXPECT_EQ(got, std::vector<int>(1000, 11));
    EXPECT_EQ(buffer.mapped[15], 7);
    EXPECT_EQ(buffer.mapped[16], 11);
    EXPECT_EQ(buffer.mapped[1016], 7);
    const std::vector<int> ones(1000, 1);
    RT_OK(pumice_array_write(&array, ones.data(), 4000));
    RT_OK(raise(on.device, library, array, 1));
    RT_OK(pumice_synchronize(on.device));
    EXPECT_EQ(buffer.mapped[16], 2);
    pumice_array of_memory = array;
    pumice_array_release(&of_memory);
    on.app.vk.DestroySemaphore(on.app.device, semaphore, nullptr);
}

TEST(RuntimeWrap, OverlappingPlacesOfOneBufferAreOrdered) {
    Wrapped on;
    TestBundle bundle(on.properties());
    bundle.add(raise_kernel());
    const pumice_library* library = bundle.get();
    HostBuffer buffer(on.app, 8192);
    std::fill(buffer.mapped, buffer.mapped + 2048, 0);
    pumice_memory low = nullptr, high = nullptr;
    RT_OK(pumice_vulkan_lend(on.device, number(buffer.buffer), 0, 6000, &low));
    RT_OK(pumice_vulkan_lend(on.device, number(buffer.buffer), 4000, 4000, &high));
    for (int i = 0; i < 50; ++i) {
        RT_OK(raise(on.device, library, ints_in(low, 1500), 1));
        RT_OK(raise(on.device, library, ints_in(high, 1000), 1));
    }
    RT_OK(pumice_synchronize(on.device));
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(buffer.mapped[i], i >= 1000 && i < 1500 ? 100 : 50) << i;
    for (pumice_memory memory : {low, high}) {
        pumice_array array = ints_in(memory, 1);
        pumice_array_release(&array);
    }
}

TEST(RuntimeWrap, MisuseIsAnError) {
    Wrapped on;
    pumice_device device = nullptr;
    pumice_vulkan_device about = on.describe();
    about.queue = nullptr;
    EXPECT_EQ(pumice_vulkan_wrap(&about, nullptr, &device), PUMICE_ERROR_ARGUMENT);
    EXPECT_NE(std::string(pumice_error()).find("its queue is not set"), std::string::npos) << pumice_error();
    about = on.describe();
    about.queue_family = 77;
    EXPECT_EQ(pumice_vulkan_wrap(&about, nullptr, &device), PUMICE_ERROR_DEVICE);
    EXPECT_NE(std::string(pumice_error()).find("no queue family 77"), std::string::npos) << pumice_error();
    VkPhysicalDeviceFeatures2 none{};
    none.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    about = on.describe();
    about.features = &none;
    EXPECT_EQ(pumice_vulkan_wrap(&about, nullptr, &device), PUMICE_ERROR_DEVICE);
    EXPECT_NE(std::string(pumice_error()).find("timelineSemaphore is not enabled"), std::string::npos) << pumice_error();
    uint64_t semaphore = 0, value = 0;
    pumice_memory memory = nullptr;
    EXPECT_EQ(pumice_vulkan_lend(on.device, 0, 0, 4, &memory), PUMICE_ERROR_ARGUMENT);
    EXPECT_EQ(pumice_vulkan_lend(on.device, 1, 2, 4, &memory), PUMICE_ERROR_ARGUMENT);
    EXPECT_EQ(pumice_vulkan_wait_for(on.device, 0, 1), PUMICE_ERROR_ARGUMENT);
    TestDevice own;
    EXPECT_EQ(pumice_vulkan_submit(own.device, &semaphore, &value), PUMICE_ERROR_ARGUMENT);
    EXPECT_NE(std::string(pumice_error()).find("which is no device of an application's"), std::string::npos) << pumice_error();
}

}  // namespace
