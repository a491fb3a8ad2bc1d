// The runtime's Vulkan back end when something fails: the pipeline cache's file, and the faults of the cards in tests/layers.
#include <fenv.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/runtime_vulkan/rt_vulkan_test.h"

using namespace rt_test;
using pumice::global_index;
using pumice::InOut;

namespace {

// ---- the pipeline cache ----

std::string given_to_the_driver, kept_by_the_driver;

/// A context whose driver keeps a text as its pipeline cache.
struct FakeDriver {
    FakeDriver() : context(hooks, "fake"), cache(context) {
        context.facts.basic.vendorID = 0x1234;
        context.facts.basic.deviceID = 0x42;
        context.facts.basic.pipelineCacheUUID[0] = 0xab;
        context.vk.CreatePipelineCache = [](VkDevice, const VkPipelineCacheCreateInfo* info, const VkAllocationCallbacks*,
                                            VkPipelineCache* to) {
            given_to_the_driver.assign(static_cast<const char*>(info->pInitialData), info->initialDataSize);
            *to = VkPipelineCache(uintptr_t(1));
            return VK_SUCCESS;
        };
        context.vk.DestroyPipelineCache = [](VkDevice, VkPipelineCache, const VkAllocationCallbacks*) {};
        context.vk.CreateComputePipelines = [](VkDevice, VkPipelineCache, uint32_t, const VkComputePipelineCreateInfo*,
                                               const VkAllocationCallbacks*, VkPipeline*) { return VK_SUCCESS; };
        context.vk.GetPipelineCacheData = [](VkDevice, VkPipelineCache, size_t* bytes, void* data) {
            if (data) memcpy(data, kept_by_the_driver.data(), *bytes);
            *bytes = kept_by_the_driver.size();
            return VK_SUCCESS;
        };
        EXPECT_EQ(cache.start(), PUMICE_OK);
    }
    void use() {
        VkPipeline pipeline;
        EXPECT_EQ(cache.make({}, pipeline), PUMICE_OK);
        cache.save();
    }
    std::string data(const std::string& payload) const {
        VkPipelineCacheHeaderVersionOne header{};
        header.headerSize = sizeof header, header.headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE;
        header.vendorID = context.facts.basic.vendorID, header.deviceID = context.facts.basic.deviceID;
        memcpy(header.pipelineCacheUUID, context.facts.basic.pipelineCacheUUID, VK_UUID_SIZE);
        return std::string(reinterpret_cast<const char*>(&header), sizeof header) + payload;
    }
    pumice_hooks hooks{};
    vulkan::Context context;
    vulkan::PipelineCache cache;
};

std::string bytes_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}

TEST(RuntimePipelineCache, FileIsWrittenReadAndCheckedForDamage) {
    const char* const before = getenv("PUMICE_CACHE_DIR");
    const std::string kept = before ? before : "";
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("pumice_rt_" + std::to_string(getpid())) / "deeper";
    setenv("PUMICE_CACHE_DIR", folder.c_str(), 1);
    const std::filesystem::path file = folder / "rt-1234-0042-ab000000000000000000000000000000.pipelines";
    {
        FakeDriver driver;
        EXPECT_EQ(given_to_the_driver, "");
        driver.cache.save();
        EXPECT_FALSE(std::filesystem::exists(file)) << "nothing was made";
        kept_by_the_driver = driver.data("pipelines of 3 kernels");
        driver.use();
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "no temporary file is left";
    }
    const std::string whole = bytes_of(file);
    FakeDriver again;
    EXPECT_EQ(given_to_the_driver, kept_by_the_driver);
    for (size_t cut = 0; cut < whole.size(); cut += 5) {
        write_bytes(file, whole.substr(0, cut));
        FakeDriver driver;
        EXPECT_EQ(given_to_the_driver, "") << cut;
    }
    for (size_t at = 0; at < whole.size(); at += 3) {
        std::string damaged = whole;
        damaged[at] = char(damaged[at] ^ 0x10);
        write_bytes(file, damaged);
        FakeDriver driver;
        EXPECT_EQ(given_to_the_driver, "") << at;
    }
    setenv("PUMICE_CACHE_DIR", "off", 1);
    FakeDriver off;
    off.use();
    std::filesystem::remove_all(folder.parent_path());
    before ? setenv("PUMICE_CACHE_DIR", kept.c_str(), 1) : unsetenv("PUMICE_CACHE_DIR");
}

// ---- the host's memory ----

/// Hooks that count what they give, and that fail from one call on.
struct CountingHooks {
    explicit CountingHooks(int fail_at) : fail_at(fail_at) {
        hooks.user = this;
        hooks.allocate = [](void* user, size_t bytes, size_t alignment) -> void* {
            CountingHooks& self = *static_cast<CountingHooks*>(user);
            if (++self.calls == self.fail_at) return nullptr;
            self.bytes += bytes;
            return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        };
        hooks.release = [](void* user, void* memory, size_t bytes) {
            static_cast<CountingHooks*>(user)->bytes -= bytes;
            free(memory);
        };
        hooks.print = [](void*, const char*) {};
    }
    const int fail_at;
    std::atomic<int> calls = 0;
    std::atomic<size_t> bytes = 0;
    pumice_hooks hooks{};
};

/// Memory, launches, copies, events and prints on one device; the first error.
pumice_status use_everything(const pumice_hooks& hooks, TestBundle& bundle) {
    const pumice_library* library = bundle.get();
    pumice_device device = nullptr;
    RT_TRY(pumice_open("vulkan", &hooks, &device));
    pumice_array a{}, b{};
    pumice_stream stream = nullptr;
    pumice_event event = nullptr;
    const int64_t n = 1000;
    std::vector<int> host(n, 1);
    const auto use = [&]() -> pumice_status {
        RT_TRY(pumice_array_create(device, PUMICE_I32, 4, 1, &n, &a));
        RT_TRY(pumice_array_create(device, PUMICE_I32, 4, 1, &n, &b));
        RT_TRY(pumice_array_write(&a, host.data(), 4 * n));
        RT_TRY(pumice_stream_create(device, 0, &stream));
        const pumice_argument arguments[] = {argument(a)};
        pumice_range range = pumice_range_1(n);
        RT_TRY(pumice_launch(device, library, 0, &range, arguments, 1));
        range.to[0] = 3;
        RT_TRY(pumice_launch(device, library, 1, &range, arguments, 1));
        RT_TRY(pumice_array_copy(&a, &b, stream));
        RT_TRY(pumice_record(device, stream, &event));
        RT_TRY(pumice_event_wait(event));
        RT_TRY(pumice_array_read(&b, host.data(), 4 * n));
        EXPECT_EQ(host, std::vector<int>(n, 2));
        return pumice_synchronize(device);
    };
    const pumice_status status = use();
    pumice_event_release(event);
    pumice_stream_release(stream);
    pumice_array_release(&a);
    pumice_array_release(&b);
    pumice_close(device);
    return status;
}

TEST(RuntimeFaults, EveryFailureOfTheHostsMemoryIsAnErrorAndNothingLeaks) {
    uint64_t properties = 0;
    {
        const TestDevice on;
        properties = on.properties();
    }
    TestBundle bundle(properties);
    bundle.add(pumice::kernel("raise", [](InOut<int> a) { a[global_index()] += 1; }));
    bundle.add(pumice::kernel("print", [](InOut<int> a) { pumice::print("{}", a[global_index()]); }));
    CountingHooks all(0);
    RT_OK(use_everything(all.hooks, bundle));
    EXPECT_EQ(all.bytes, 0u);
    EXPECT_GT(all.calls, 20);
    int errors = 0;
    for (int fail_at = 1; fail_at <= all.calls; fail_at += 1) {
        CountingHooks some(fail_at);
        const pumice_status status = use_everything(some.hooks, bundle);
        EXPECT_TRUE(status == PUMICE_OK || status == PUMICE_ERROR_MEMORY) << "call " << fail_at << ": " << pumice_error();
        errors += status == PUMICE_ERROR_MEMORY;
        EXPECT_EQ(some.bytes, 0u) << "call " << fail_at;
    }
    EXPECT_GT(errors, 10);
}

// ---- faults of a card: PUMICE_TEST_FAULT names the one that the layer has ----

bool has_fault(const char* name) {
    const char* const fault = getenv("PUMICE_TEST_FAULT");
    return fault && strcmp(fault, name) == 0;
}

auto raise_kernel() {
    return pumice::kernel("raise", [](InOut<int> a) { a[global_index()] += 1; });
}

TEST(RuntimeCards, FullMemoryIsAnErrorAndCanBeFreed) {
    if (!has_fault("full")) GTEST_SKIP() << "SKIPPED: the card has enough memory";
    TestDevice on;
    TestBundle bundle(on.properties());
    bundle.add(raise_kernel());
    const pumice_library* library = bundle.get();
    for (int round = 0; round < 3; ++round) {
        std::vector<pumice_array> arrays;
        const int64_t n = 4 << 20;  // 16 MiB
        for (;;) {
            pumice_array array{};
            const pumice_status status = pumice_array_create(on.device, PUMICE_I32, 4, 1, &n, &array);
            if (status != PUMICE_OK) {
                EXPECT_EQ(status, PUMICE_ERROR_MEMORY);
                EXPECT_NE(std::string(pumice_error()).find("cannot allocate 16777216 bytes on vulkan:0"), std::string::npos)
                    << pumice_error();
                break;
            }
            arrays.push_back(array);
            ASSERT_LT(arrays.size(), 100u);
        }
        EXPECT_GT(arrays.size(), 10u) << "the host's memory is used, too";
        pumice_array_release(&arrays.back());  // room for copies to the host
        arrays.pop_back();
        for (pumice_array& array : arrays) {
            RT_OK(launch(on, library, 0, pumice_range_1(1000), {argument(array)}));
            int value = 0;
            const pumice_array one = [&] {
                pumice_array part = array;
                part.extents[0] = 1;
                return part;
            }();
            RT_OK(pumice_array_read(&one, &value, 4));
            EXPECT_EQ(value, 1);
            pumice_array_release(&array);
        }
    }
}

TEST(RuntimeCards, LostDeviceIsAnErrorFromThenOn) {
    if (!has_fault("lost") && !has_fault("hangs")) GTEST_SKIP() << "SKIPPED: the card is not lost";
    pumice_device device = nullptr;
    RT_OK(pumice_open("vulkan", nullptr, &device));
    TestBundle bundle(static_cast<vulkan::VulkanDevice*>(device)->context.plan.properties);
    bundle.add(raise_kernel());
    const pumice_library* library = bundle.get();
    const int64_t n = 1000;
    pumice_array array{};
    RT_OK(pumice_array_create(device, PUMICE_I32, 4, 1, &n, &array));
    const pumice_range range = pumice_range_1(n);
    const pumice_argument arguments[] = {argument(array)};
    pumice_status status = PUMICE_OK;
    for (int i = 0; i < 100 && status == PUMICE_OK; ++i) {
        status = pumice_launch(device, library, 0, &range, arguments, 1);
        if (status == PUMICE_OK) status = pumice_synchronize(device);
    }
    EXPECT_EQ(status, PUMICE_ERROR_LOST) << pumice_error();
    EXPECT_NE(std::string(pumice_error()).find("is lost: the driver has given it up"), std::string::npos) << pumice_error();
    std::vector<int> host(n);
    EXPECT_EQ(pumice_launch(device, library, 0, &range, arguments, 1), PUMICE_ERROR_LOST);
    EXPECT_EQ(pumice_synchronize(device), PUMICE_ERROR_LOST);
    EXPECT_EQ(pumice_array_read(&array, host.data(), 4 * n), PUMICE_ERROR_LOST);
    EXPECT_EQ(pumice_array_write(&array, host.data(), 4 * n), PUMICE_ERROR_LOST);
    pumice_array other{};
    EXPECT_EQ(pumice_array_create(device, PUMICE_I32, 4, 1, &n, &other), PUMICE_ERROR_LOST);
    pumice_event event = nullptr;
    RT_OK(pumice_record(device, nullptr, &event));
    EXPECT_EQ(pumice_event_wait(event), PUMICE_ERROR_LOST);
    pumice_event_release(event);
    pumice_array_release(&array);
    pumice_close(device);
}

// ---- floating-point traps ----

/// A driver on the processor divides by zero in its own code, and its threads inherit the mode of the thread that starts them.
TEST(RuntimeTraps, DeviceOpensAndRunsWithTrapsOfTheApplication) {
#if defined(__GLIBC__) && defined(__x86_64__)
    const auto runs = [] {
        constexpr int traps = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW;
        feenableexcept(traps);
        TestDevice on;
        TestBundle bundle(on.properties());
        bundle.add(pumice::kernel("invert", [](InOut<float> a) { a[global_index()] = 1.0f / a[global_index()]; }));
        TestArray<float> a(on, std::vector<float>(1000, 0.0f), PUMICE_F32);
        const bool good = launch(on, bundle.get(), 0, pumice_range_1(1000), {argument(a.array)}) == PUMICE_OK;
        _exit(good && a.read()[999] > 1e30f && fegetexcept() == traps ? 0 : 1);
    };
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own: this one may have opened a device
    EXPECT_EXIT(runs(), testing::ExitedWithCode(0), "");
#else
    GTEST_SKIP() << "SKIPPED: the C library sets no traps here";
#endif
}

// ---- forks ----

/// The driver's threads do not exist in a forked process, which would wait for them.
TEST(RuntimeForks, ForkedProcessUsesNoDeviceFromBefore) {
    TestDevice on;
    TestBundle bundle(on.properties());
    bundle.add(raise_kernel());
    bundle.add(pumice::kernel("lower", [](InOut<int> a) { a[global_index()] -= 1; }));
    const pumice_library* library = bundle.get();
    TestArray<int> a(on, std::vector<int>(1000, 0), PUMICE_I32);
    const auto raise = [&] { return launch(on, library, 0, pumice_range_1(1000), {argument(a.array)}); };
    for (int i = 0; i < 20; ++i) RT_OK(raise());  // work is pending, and the queue's thread is awake
    pumice_event event = nullptr;
    RT_OK(pumice_record(on.device, nullptr, &event));
    const auto child = [&] {
        std::vector<int> host(1000);
        pumice_array other = a.array;
        const auto refuses = [&](pumice_status status, pumice_status wanted, const char* words) {
            if (status == wanted && strstr(pumice_error(), words) &&
                strstr(pumice_error(), "must open its Vulkan devices after the fork"))
                return true;
            fprintf(stderr, "status %d: %s\n", int(status), pumice_error());
            return false;
        };
        const auto is_parents = [&](pumice_status status) {
            return refuses(status, PUMICE_ERROR_LOST, "was opened before this process was forked");
        };
        bool good = is_parents(raise());
        good = is_parents(pumice_synchronize(on.device)) && good;
        good = is_parents(pumice_event_wait(event)) && good;
        good = is_parents(pumice_array_read(&a.array, host.data(), 4000)) && good;
        good = is_parents(pumice_array_write(&a.array, host.data(), 4000)) && good;
        good = is_parents(pumice_array_fill(&a.array, host.data(), nullptr)) && good;
        good = is_parents(pumice_prepare(on.device, library, 1)) && good;
        good = is_parents(pumice_array_create(on.device, PUMICE_I32, 4, 1, a.array.extents, &other)) && good;
        pumice_device again = nullptr;
        good = refuses(pumice_open("vulkan", nullptr, &again), PUMICE_ERROR_DEVICE,
                       "is opened in a process that was forked while a Vulkan device was open") &&
               good;
        other = a.array;
        pumice_array_release(&other);
        pumice_event_release(event);
        pumice_close(on.device);
        return good;
    };
    const pid_t forked = fork();
    if (forked == 0) {
        alarm(60);  // a wait that does not end
        _exit(child() ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(forked, &status, 0), forked);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    RT_OK(raise());
    pumice_event_release(event);
    EXPECT_EQ(a.read(), std::vector<int>(1000, 21));
}

}  // namespace
