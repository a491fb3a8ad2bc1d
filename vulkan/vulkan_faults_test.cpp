// Failures of Vulkan: memory, submissions, waits, features, a lost device.
#include <utility>

#include "core/kernel/kernel.h"
#include "core/language/console.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
#include "vulkan/vulkan_device_test.h"

namespace pumice::vulkan::test {
namespace {

TEST_P(DeviceTest, TooMuchMemoryIsAnErrorThatNamesTheBytes) {
    try {
        device->allocate(int64_t(1) << 46, true);
        FAIL() << "no error";
    } catch (const Error& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find("cannot allocate 70368744177664 bytes on vulkan:"), std::string::npos) << what;
    }
}

PFN_vkAllocateMemory real_allocate = nullptr;
int allocations_to_fail = 0;
VKAPI_ATTR VkResult VKAPI_CALL failing_allocate(VkDevice device, const VkMemoryAllocateInfo* info,
                                                const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
    if (allocations_to_fail > 0 && allocations_to_fail--) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return real_allocate(device, info, callbacks, memory);
}

TEST_P(DeviceTest, FailedAllocationsAreTriedAgainAndLeaveTheDeviceWorking) {
    real_allocate = device->context.vk.AllocateMemory;
    device->context.vk.AllocateMemory = failing_allocate;
    const int64_t bytes = int64_t(100) << 20;
    allocations_to_fail = 1;
    EXPECT_NO_THROW(device->allocate(bytes, false));
    allocations_to_fail = 1000;
    EXPECT_THROW(device->allocate(bytes * 2, false), Error);
    allocations_to_fail = 0;
    EXPECT_EQ(download(upload(ramp(100))), ramp(100));
}

PFN_vkAllocateMemory refusing_allocate = nullptr;
int refused = 0;
VKAPI_ATTR VkResult VKAPI_CALL refuse_large(VkDevice device, const VkMemoryAllocateInfo* info,
                                            const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
    if (info->allocationSize <= VkDeviceSize(200) << 20) return refusing_allocate(device, info, callbacks, memory);
    ++refused;
    return VK_ERROR_UNKNOWN;
}

/// As on a driver that allocates no more than maxMemoryAllocationSize, and fails with any error.
TEST_P(DeviceTest, AnAllocationAboveThePromisedOneThatTheDriverRefusesIsAnErrorWithTheBytes) {
    const int64_t promised = int64_t(200) << 20, bytes = promised + 4096;
    if (bytes > device->limits().max_array_bytes)
        GTEST_SKIP() << "SKIPPED: an array of " << device->name() << " has at most " << device->limits().max_array_bytes
                     << " bytes";
    device->context.snapshot.max_allocation_bytes = promised;
    refusing_allocate = std::exchange(device->context.vk.AllocateMemory, refuse_large);
    refused = 0;
    try {
        device->allocate(bytes, false);
        ADD_FAILURE() << "no error";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(text("cannot allocate ", bytes, " bytes on ")), std::string::npos)
            << error.what();
        EXPECT_NE(std::string(error.what()).find(text("its driver may refuse more than ", promised, " bytes at once")),
                  std::string::npos)
            << error.what();
    }
    EXPECT_GT(refused, 1) << "not tried again with the caches released";
    EXPECT_EQ(download(upload(ramp(100))), ramp(100));
}

TEST(Validation, ALargeAllocationIsNoFault) {
    EXPECT_FALSE(is_fault("UNASSIGNED-vkAllocateMemory-maxMemoryAllocationSize"));
    EXPECT_FALSE(is_fault("WARNING-CoreValidation-AllocateMemory-maxMemoryAllocationSize"));
    EXPECT_TRUE(is_fault("VUID-vkAllocateMemory-pAllocateInfo-01713"));
    EXPECT_TRUE(is_fault("UNASSIGNED-vkAllocateMemory-maxMemoryAllocationSize-more"));
    EXPECT_TRUE(is_fault(nullptr));
}

PFN_vkQueueSubmit real_submit = nullptr;
VkResult submit_result = VK_SUCCESS;
VKAPI_ATTR VkResult VKAPI_CALL failing_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* info, VkFence fence) {
    return submit_result == VK_SUCCESS ? real_submit(queue, count, info, fence) : submit_result;
}

TEST_P(DeviceTest, ASubmissionThatFailsIsAnErrorAndTheDeviceGoesOn) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto x = upload(ramp(100)), y = upload(std::vector<float>(100, 0.0f));
    device->synchronize();
    real_submit = device->context.vk.QueueSubmit;
    device->context.vk.QueueSubmit = failing_submit;
    submit_result = VK_ERROR_OUT_OF_HOST_MEMORY;
    EXPECT_THROW(
        {
            device->launch(program, saxpy_launch(y, x, 1.0f));
            device->synchronize();
        },
        Error);
    submit_result = VK_SUCCESS;
    device->launch(program, saxpy_launch(y, x, 1.0f));
    EXPECT_EQ(download(y), ramp(100));
}

TEST_P(DeviceTest, ALostDeviceSaysSoAndCanBeOpenedAgain) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto x = upload(ramp(100)), y = upload(ramp(100));
    device->synchronize();
    real_submit = device->context.vk.QueueSubmit;
    device->context.vk.QueueSubmit = failing_submit;
    submit_result = VK_ERROR_DEVICE_LOST;
    const auto lost = [&](auto&& act) {
        try {
            act();
            ADD_FAILURE() << "no error";
        } catch (const Error& error) { EXPECT_NE(std::string(error.what()).find("is lost"), std::string::npos) << error.what(); }
    };
    lost([&] {
        device->launch(program, saxpy_launch(y, x, 1.0f));
        device->synchronize();
    });
    submit_result = VK_SUCCESS;
    lost([&] { device->synchronize(); });
    lost([&] { download(y); });
    lost([&] { device->allocate(16, true); });
    device.reset(), program.reset(), x.reset(), y.reset();
    device = open_again();
    EXPECT_EQ(download(upload(ramp(10))), ramp(10));
}

VKAPI_ATTR VkResult VKAPI_CALL lost_wait(VkDevice, const VkSemaphoreWaitInfo*, uint64_t) { return VK_ERROR_DEVICE_LOST; }
VKAPI_ATTR VkResult VKAPI_CALL lost_counter(VkDevice, VkSemaphore, uint64_t*) { return VK_ERROR_DEVICE_LOST; }

/// A device that hangs is reported where something waits for it. Nothing blocks behind a call that never runs.
TEST_P(DeviceTest, ADeviceLostDuringAWaitSaysSoAndCanBeOpenedAgain) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto x = upload(ramp(100)), y = upload(ramp(100));
    const auto stamp = device->stamp(0);
    device->synchronize();
    device->context.vk.WaitSemaphores = lost_wait;
    device->context.vk.GetSemaphoreCounterValue = lost_counter;
    const auto lost = [&](auto&& act) {
        try {
            act();
            ADD_FAILURE() << "no error";
        } catch (const Error& error) { EXPECT_NE(std::string(error.what()).find("is lost"), std::string::npos) << error.what(); }
    };
    bool called = false;
    lost([&] {
        device->launch(program, saxpy_launch(y, x, 1.0f));
        device->call(0, [&] { called = true; });
        device->launch(program, saxpy_launch(y, x, 1.0f));
        device->synchronize();
    });
    lost([&] { device->synchronize(); });
    lost([&] { download(y); });
    lost([&] { device->launch(program, saxpy_launch(y, x, 1.0f)); });
    lost([&] { stamp->since(*stamp); });
    EXPECT_FALSE(called);
    device.reset(), program.reset(), x.reset(), y.reset();
    device = open_again();
    EXPECT_EQ(download(upload(ramp(10))), ramp(10));
}

PFN_vkWaitSemaphores real_wait = nullptr;
int timeouts = 0;
VKAPI_ATTR VkResult VKAPI_CALL slow_wait(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t time) {
    return timeouts > 0 && timeouts-- ? VK_TIMEOUT : real_wait(device, info, time);
}

TEST_P(DeviceTest, AWaitContinuesAfterATimeout) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto x = upload(ramp(100)), y = upload(std::vector<float>(100, 0.0f));
    real_wait = device->context.vk.WaitSemaphores;
    device->context.vk.WaitSemaphores = slow_wait;
    timeouts = 3;
    device->launch(program, saxpy_launch(y, x, 1.0f));
    EXPECT_EQ(download(y), ramp(100));
    device->synchronize();
}

PFN_vkCreateComputePipelines real_pipeline = nullptr;
VKAPI_ATTR VkResult VKAPI_CALL failing_pipeline(VkDevice, VkPipelineCache, uint32_t, const VkComputePipelineCreateInfo*,
                                                const VkAllocationCallbacks*, VkPipeline*) {
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

PFN_vkAllocateDescriptorSets real_sets = nullptr;
int sets_to_fail = 0;
VKAPI_ATTR VkResult VKAPI_CALL failing_sets(VkDevice device, const VkDescriptorSetAllocateInfo* info, VkDescriptorSet* sets) {
    return sets_to_fail > 0 && sets_to_fail-- ? VK_ERROR_OUT_OF_HOST_MEMORY : real_sets(device, info, sets);
}

/// A failed launch binds nothing: the next launch with the same arrays binds them.
TEST_P(DeviceTest, ALaunchAfterOneWithoutADescriptorSet) {
    if (device->context.plan.push_descriptors || device->context.plan.all_by_address)
        GTEST_SKIP() << "SKIPPED: " << GetParam().mode << " needs no descriptor sets";
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto x = upload(ramp(100)), y = upload(std::vector<float>(100, 0.0f)), z = upload(std::vector<float>(100, 0.0f));
    real_sets = device->context.vk.AllocateDescriptorSets;
    device->context.vk.AllocateDescriptorSets = failing_sets;
    device->launch(program, saxpy_launch(z, x, 1.0f));
    sets_to_fail = 1;
    EXPECT_THROW(device->launch(program, saxpy_launch(y, x, 1.0f)), Error);
    device->launch(program, saxpy_launch(y, x, 1.0f));
    EXPECT_EQ(download(y), ramp(100));
    EXPECT_EQ(download(z), ramp(100));
}

const auto says = pumice::kernel("says", [](pumice::Out<int> y) {
    y[pumice::global_index()] = 1;
    pumice::print("said {}", pumice::global_index());
});

/// The lines of a failed launch take no room in the ring, and no wait expects them.
TEST_P(DeviceTest, PrintsAfterALaunchThatFailed) {
    const pumice::Device d{std::static_pointer_cast<Backend>(device)};
    int lines = 0;
    d.on_print([&](const std::string&) { ++lines; });
    const Array<int> y = d.zeros<int>(200'000), z = d.zeros<int>(4);
    says(ndrange(4), z);
    d.synchronize();
    EXPECT_EQ(lines, 4);
    real_pipeline = device->context.vk.CreateComputePipelines;
    device->context.vk.CreateComputePipelines = failing_pipeline;
    for (int k = 0; k < 5; ++k) EXPECT_THROW(says(ndrange(200'000).group(37), y), Error);
    device->context.vk.CreateComputePipelines = real_pipeline;
    says(ndrange(4), z);
    says(ndrange(100).group(37), y);
    d.synchronize();
    EXPECT_EQ(lines, 108);
    d.on_print(nullptr);
}

TEST_P(DeviceTest, MissingFeaturesAreNamed) {
    if (device->supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: " << device->name() << " has doubles";
    try {
        device->compile(saxpy_kernel(), [](const codegen::Options& options) {
            Shader s = saxpy_shader(options);
            s.features = {Feature::float64};
            return s;
        });
        FAIL() << "no error";
    } catch (const Error& error) {
        const std::string what = error.what();
        for (const std::string& word : {std::string("saxpy"), std::string("float64"), device->name()})
            EXPECT_NE(what.find(word), std::string::npos) << what;
    }
}

TEST_P(DeviceTest, AnErrorOfTheValidationLayerIsThrown) {
    if (GetParam().mode == "wrapped") GTEST_SKIP() << "SKIPPED: what the layer says, it says to the application";
    VkBuffer none = VK_NULL_HANDLE;
    VkBufferCreateInfo wrong{};  // has no usage
    wrong.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    wrong.size = 16;
    EXPECT_NO_THROW(device->synchronize());
    device->context.vk.CreateBuffer(device->context.device, &wrong, nullptr, &none);
    EXPECT_THROW(device->synchronize(), Error);
    EXPECT_NO_THROW(device->synchronize());
    if (none) device->context.vk.DestroyBuffer(device->context.device, none, nullptr);
}

}  // namespace
}  // namespace pumice::vulkan::test
