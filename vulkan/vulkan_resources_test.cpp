// The state that the backend keeps, and its limits: pipelines on disk, staging memory, batches in flight, times of launches.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "core/kernel/kernel.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
#include "core/support/debug.h"
#include "vulkan/vulkan_device_test.h"

namespace pumice::vulkan::test {
namespace {

namespace fs = std::filesystem;

// ---- the driver's pipeline cache ----

// Software drivers give only the header of their cache's data: 8 bytes for each pipeline are added here.
constexpr size_t header_bytes = 64, pipeline_bytes = 8;
size_t pipelines_made = 0;
PFN_vkCreateComputePipelines counted_pipelines = nullptr;
VKAPI_ATTR VkResult VKAPI_CALL count_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                               const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* callbacks,
                                               VkPipeline* pipelines) {
    pipelines_made += count;
    return counted_pipelines(device, cache, count, infos, callbacks, pipelines);
}
VKAPI_ATTR VkResult VKAPI_CALL cache_data(VkDevice, VkPipelineCache, size_t* bytes, void* data) {
    *bytes = header_bytes + pipeline_bytes * pipelines_made;
    if (data) std::memset(data, 1, *bytes);
    return VK_SUCCESS;
}

/// The number of pipelines in the cache on disk; 0 if there is none.
size_t pipelines_on_disk(const fs::path& folder, const std::string& device_key) {
    const auto data = DiskCache(folder).read("pipelines-" + device_key);
    return data ? (data->size() - header_bytes) / pipeline_bytes : 0;
}

void count_pipelines_of(VulkanDevice& device) {
    pipelines_made = 0;
    counted_pipelines = std::exchange(device.context.vk.CreateComputePipelines, count_pipelines);
    device.context.vk.GetPipelineCacheData = cache_data;
}
/// y = x + y in groups of so many items: each size is a pipeline.
Launch in_groups(Launch launch, int64_t items) {
    launch.group = {items, 1, 1};
    return launch;
}

/// A process that is killed loses at most half of its pipelines: nothing is left to do when it ends.
TEST_P(DeviceTest, PipelinesAreSavedWheneverTheirNumberDoubles) {
    const fs::path folder = fs::temp_directory_path() / text("pumice-pipelines-", getpid());
    const debug::Override cache("PUMICE_CACHE_DIR", folder);
    device = open_again();
    count_pipelines_of(*device);
    const std::string key = device->cache_key;
    auto x = upload(ramp(100)), y = upload(ramp(100));
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    size_t last = 0;
    for (int64_t n = 1; n <= 9; ++n) {
        device->launch(program, in_groups(saxpy_launch(y, x, 1.0f), n));
        ASSERT_EQ(pipelines_made, size_t(n));
        if ((n & (n - 1)) == 0) last = size_t(n);
        EXPECT_EQ(pipelines_on_disk(folder, key), last) << "after " << n;
    }
    program.reset(), x.reset(), y.reset();
    device.reset();
    EXPECT_EQ(pipelines_on_disk(folder, key), 9u) << "at the end";
    fs::remove_all(folder);
}

TEST_P(DeviceTest, PipelinesAreOnDiskAfterAnExitWithoutDestructors) {
    if (GetParam().mode != "plain") GTEST_SKIP() << "SKIPPED: the mode plain tests it";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // The same name in both processes.
    const fs::path folder = fs::temp_directory_path() / text("pumice-exit-", GetParam().index);
    const auto make_and_exit = [&] {
        fs::remove_all(folder);
        const debug::Override cache("PUMICE_CACHE_DIR", folder);
        device = open_again();
        count_pipelines_of(*device);
        auto x = upload(ramp(100)), y = upload(ramp(100));
        auto program = device->compile(saxpy_kernel(), saxpy_shader);
        for (int64_t n = 1; n <= 5; ++n) device->launch(program, in_groups(saxpy_launch(y, x, 1.0f), n));
        std::_Exit(0);
    };
    EXPECT_EXIT(make_and_exit(), testing::ExitedWithCode(0), "");
    EXPECT_EQ(pipelines_on_disk(folder, device->cache_key), 4u);
    fs::remove_all(folder);
}

/// Static objects are destroyed after those of the driver.
TEST_P(DeviceTest, AfterTheExitNoFunctionOfTheDriverIsCalled) {
    if (GetParam().mode != "plain") GTEST_SKIP() << "SKIPPED: the mode plain tests it";
    device = open_again();
    auto x = upload(ramp(100)), y = upload(ramp(100));
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    device->launch(program, in_groups(saxpy_launch(y, x, 1.0f), 2));
    device->queue.finish();
    device->queue.at_exit();
    const DeviceFunctions& vk = device->context.vk;
    EXPECT_EQ(vk.ResetCommandPool(nullptr, VK_NULL_HANDLE, 0), VK_ERROR_DEVICE_LOST);
    EXPECT_EQ(vk.WaitSemaphores(nullptr, nullptr, 0), VK_ERROR_DEVICE_LOST);
    vk.DestroyBuffer(nullptr, VK_NULL_HANDLE, nullptr);
    EXPECT_THROW(device->launch(program, in_groups(saxpy_launch(y, x, 1.0f), 2)), Error);
    x.reset(), y.reset(), program.reset(), device.reset();
}

// ---- memory ----

/// Pieces of random sizes, which the host drops in random order.
TEST_P(DeviceTest, StagingGivesNoBytesThatAreInUse) {
    std::atomic<uint64_t> ids = uint64_t(1) << 40;
    Staging staging(device->context, device->queue, device->context.plan.upload_memory, ids);
    for (const unsigned seed : {1u, 2u, 3u}) {
        std::mt19937 random(seed);
        std::vector<std::unique_ptr<Staging::Piece>> held;
        for (int n = 0; n < 2000; ++n) {
            const int64_t most = seed == 1 ? Staging::first_capacity / 4
                                 : n % 7   ? Staging::largest_piece / 8
                                           : Staging::largest_piece;
            auto piece = std::make_unique<Staging::Piece>(staging.take(1 + int64_t(random()) % most));
            for (const auto& other : held)
                ASSERT_TRUE(other->block != piece->block || other->offset + other->bytes <= piece->offset ||
                            piece->offset + piece->bytes <= other->offset)
                    << "seed " << seed << ", piece " << n;
            ASSERT_LE(piece->offset + piece->bytes, piece->block->bytes);
            held.push_back(std::move(piece));
            while (held.size() > 1 + random() % 12) held.erase(held.begin() + std::ptrdiff_t(random() % held.size()));
        }
        held.clear();
        staging.release();
    }
}

PFN_vkAllocateMemory counted_allocate = nullptr;
int allocations = 0;
VKAPI_ATTR VkResult VKAPI_CALL count_allocations(VkDevice device, const VkMemoryAllocateInfo* info,
                                                 const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
    ++allocations;
    return counted_allocate(device, info, callbacks, memory);
}

TEST_P(DeviceTest, RepeatedCopiesAllocateNothing) {
    const std::vector<float> values = ramp(10'000);
    const int64_t bytes = int64_t(values.size()) * 4;
    auto memory = upload(values);
    std::vector<float> now(values.size()), later(values.size());
    const auto copies = [&] {
        device->write(*memory, 0, values.data(), bytes);
        device->read(*memory, 0, now.data(), bytes);
        device->read_async(*memory, 0, later.data(), bytes, 0);
        device->synchronize();
    };
    copies();
    counted_allocate = std::exchange(device->context.vk.AllocateMemory, count_allocations);
    allocations = 0;
    for (int i = 0; i < 20; ++i) copies();
    EXPECT_EQ(allocations, 0);
    EXPECT_EQ(now, values);
    EXPECT_EQ(later, values);
}

// ---- batches ----

// While the device stands still, its timeline does, and waits time out.
std::atomic<bool> stands_still = false;
std::atomic<uint64_t> still_at = 0;
std::atomic<size_t> batches_given = 0;
std::atomic<int> waits = 0;
PFN_vkQueueSubmit counted_submit = nullptr;
PFN_vkWaitSemaphores real_wait = nullptr;
PFN_vkGetSemaphoreCounterValue real_counter = nullptr;
VKAPI_ATTR VkResult VKAPI_CALL count_submits(VkQueue queue, uint32_t count, const VkSubmitInfo* info, VkFence fence) {
    ++batches_given;
    return counted_submit(queue, count, info, fence);
}
VKAPI_ATTR VkResult VKAPI_CALL still_wait(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t time) {
    if (!stands_still) return real_wait(device, info, time);
    ++waits;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return VK_TIMEOUT;
}
VKAPI_ATTR VkResult VKAPI_CALL still_counter(VkDevice device, VkSemaphore semaphore, uint64_t* value) {
    const VkResult result = real_counter(device, semaphore, value);
    if (stands_still) *value = still_at;
    return result;
}

/// Threads record for the application while others launch: the bindings of a recording are not those of the batch that is open.
TEST_P(DeviceTest, TheNumberOfARecordingIsNotThatOfTheBatchBeingRecorded) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto x = upload(std::vector<float>(100, 1.0f)), y = upload(std::vector<float>(100, 0.0f));
    device->launch(program, saxpy_launch(y, x, 1.0f));
    const std::lock_guard lock(device->queue.mutex);
    const uint64_t open = device->queue.batch(), recording = device->queue.next_batch();
    EXPECT_NE(recording, open);
    EXPECT_EQ(device->queue.batch(), open);
}

/// The host stops at the most batches in flight, and goes on when the device does.
TEST_P(DeviceTest, AHostThatRunsAheadWaitsAtTheMostBatchesInFlight) {
    auto& vk = device->context.vk;
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto x = upload(std::vector<float>(100, 1.0f)), y = upload(std::vector<float>(100, 0.0f));
    device->launch(program, saxpy_launch(y, x, 0.0f));
    device->synchronize();

    const size_t most = device->context.plan.batching.most_in_flight, launches = most + 20;
    counted_submit = std::exchange(vk.QueueSubmit, count_submits);
    real_wait = std::exchange(vk.WaitSemaphores, still_wait);
    real_counter = std::exchange(vk.GetSemaphoreCounterValue, still_counter);
    {
        const std::lock_guard lock(device->queue.mutex);
        device->queue.collect();
        still_at = device->queue.last_submitted();
    }
    batches_given = 0, waits = 0, stands_still = true;
    std::thread host([&] {
        for (size_t i = 0; i < launches; ++i) {
            device->launch(program, saxpy_launch(y, x, 1.0f));
            const std::lock_guard lock(device->queue.mutex);
            device->queue.submit();
        }
    });
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (waits < 5 && std::chrono::steady_clock::now() < give_up) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_GE(waits, 5);
    EXPECT_EQ(batches_given, most);
    stands_still = false;
    host.join();
    EXPECT_GE(batches_given, launches);
    EXPECT_EQ(download(y), std::vector<float>(100, float(launches)));
}

// ---- times and locks ----

const auto add_one = pumice::kernel("add_one", [](InOut<float> y) { y[global_index()] += 1.0f; });
const auto count_up = pumice::kernel("count_up", [](InOut<int64_t> y) { atomic_add(y[0], Val<int64_t>(1)); });

TEST_P(DeviceTest, TimesOfLaunchesArePrintedWhenTheDeviceCloses) {
    const debug::Override times("PUMICE_TIME", "1");
    testing::internal::CaptureStderr();
    {
        const pumice::Device d{std::static_pointer_cast<Backend>(std::exchange(device, nullptr))};
        const Array<float> y = d.zeros<float>(100);
        for (int i = 0; i < 3; ++i) add_one(ndrange(100), y);
        EXPECT_EQ(y.get(5), 3.0f);
    }
    const std::string printed = testing::internal::GetCapturedStderr();
    const size_t line = printed.find("pumice: add_one: 3 launches, ");
    ASSERT_NE(line, std::string::npos) << printed;
    double all = 0, each = 0;
    ASSERT_EQ(std::sscanf(printed.c_str() + line, "pumice: add_one: 3 launches, %lf ms on the device, %lf ms each", &all, &each),
              2)
        << printed;
    EXPECT_GT(all, 0) << printed;
    EXPECT_NEAR(each * 3, all, 0.003) << printed;
}

/// As on MoltenVK, which hangs in a lock.
TEST_P(DeviceTest, AtomicsThatNeedLocksWhereLocksAreForbiddenAreAnError) {
    device->context.plan.locks = device->context.plan.options.int64_atomics = false;
    const pumice::Device d{std::static_pointer_cast<Backend>(device)};
    const Array<int64_t> x = d.zeros<int64_t>(1);
    const Array<float> y = d.zeros<float>(4);
    try {
        count_up(ndrange(100), x);
        ADD_FAILURE() << "no error";
    } catch (const Error& error) {
        const std::string what = error.what();
        for (const std::string& word :
             {std::string("\"count_up\""), device->name(), std::string("updates 64-bit values atomically")})
            EXPECT_NE(what.find(word), std::string::npos) << what;
    }
    add_one(ndrange(4), y);
    EXPECT_EQ(y.get(3), 1.0f);
}

}  // namespace
}  // namespace pumice::vulkan::test
