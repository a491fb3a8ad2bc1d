// The backend on every device of every driver found, with the validation layers on, in every mode of the backend.
#include "vulkan/vulkan_device_test.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <random>
#include <thread>
#include <utility>

#include "core/ir/builder.h"
#include "core/support/debug.h"

namespace pumice::vulkan::test {
namespace {

const char* const modes[] = {
    "plain", "PUMICE_VULKAN_STAGING", "PUMICE_VULKAN_SETS", "PUMICE_VULKAN_ADDRESSES", "PUMICE_VULKAN_SLICES", "wrapped"};

/// Before the first use of Vulkan: turns validation on, and adds SwiftShader if Debian's chromium-common is installed.
void set_up_environment() {
    setenv("PUMICE_VALIDATE", "1", 1);
    setenv("PUMICE_CACHE_DIR", "off", 1);
    debug::reload();
    const char* swiftshader = "/usr/lib/chromium/vk_swiftshader_icd.json";
    if (!getenv("VK_DRIVER_FILES") && std::filesystem::exists(swiftshader)) setenv("VK_ADD_DRIVER_FILES", swiftshader, 0);
}

std::vector<Case> cases() {
    set_up_environment();
    std::vector<Case> all;
    for (const PhysicalDevice& found : list())
        if (found.usable)
            for (const char* mode : modes) all.push_back({found.index, found.name, mode});
    if (all.empty()) std::fprintf(stderr, "pumice: NO VULKAN DEVICE IS TESTED: %s\n", unavailable_reason().c_str());
    return all;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
    std::string name = info.param.device + "_" + info.param.mode;
    std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_'; });
    return std::to_string(info.param.index) + name;
}

TEST_P(DeviceTest, Saxpy) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto x = upload(ramp(1000)), y = upload(std::vector<float>(1000, 1.0f));
    device->launch(program, saxpy_launch(y, x, 2.0f));
    const std::vector<float> got = download(y);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 2.0f * float(i) + 1.0f) << i;
}

TEST_P(DeviceTest, CopiesOfAnySizeAndPlace) {
    std::mt19937 random(7);
    const size_t n = (size_t(40) << 20) + 13;  // past the staging ring
    std::vector<unsigned char> host(n), back(n);
    for (auto& byte : host) byte = static_cast<unsigned char>(random());
    auto memory = device->allocate(int64_t(n), false);
    device->write(*memory, 0, host.data(), int64_t(n));
    device->read(*memory, 0, back.data(), int64_t(n));
    EXPECT_EQ(host, back);
    device->write(*memory, 5, "abc", 3);
    std::memcpy(host.data() + 5, "abc", 3);
    device->read(*memory, 3, back.data(), 9);
    EXPECT_EQ(std::memcmp(back.data(), host.data() + 3, 9), 0);
}

TEST_P(DeviceTest, FillsOfEveryPattern) {
    for (const int size : {1, 2, 3, 4, 8, 12, 16, 20})
        for (const int64_t offset : {0, 3, 4}) {
            const int64_t count = 5000 / size;
            auto memory = device->allocate(6000, true);
            std::vector<unsigned char> pattern(static_cast<size_t>(size)), expected(6000, 0), got(6000, 1);
            for (int i = 0; i < size; ++i) pattern[size_t(i)] = static_cast<unsigned char>(i + 1);
            for (int64_t i = 0; i < count * size; ++i) expected[size_t(offset + i)] = pattern[size_t(i % size)];
            device->fill(*memory, offset, count * size, pattern.data(), size, 0);
            device->read(*memory, 0, got.data(), 6000);
            EXPECT_EQ(got, expected) << size << " at " << offset;
        }
}

TEST_P(DeviceTest, CopiesWithinTheDeviceMayOverlap) {
    auto memory = upload(ramp(4096));
    auto other = device->allocate(4096 * 4, true);
    device->copy(*memory, 0, *other, 4 * 96, 4 * 4000, 0);
    device->copy(*memory, 0, *memory, 4, 4 * 4095, 0);
    const std::vector<float> a = download(memory), b = download(other);
    for (size_t i = 1; i < 4096; ++i) ASSERT_EQ(a[i], float(i - 1));
    for (size_t i = 0; i < 4096; ++i) ASSERT_EQ(b[i], i < 96 ? 0.0f : float(i - 96));
}

TEST_P(DeviceTest, DependentLaunchesRunInOrder) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto a = upload(std::vector<float>(256, 1.0f)), b = upload(std::vector<float>(256, 1.0f));
    double expected_a = 1, expected_b = 1;
    for (int i = 0; i < 500; ++i) {
        device->launch(program, saxpy_launch(i % 2 ? a : b, i % 2 ? b : a, 0.015625f));
        (i % 2 ? expected_a : expected_b) = (i % 2 ? expected_a : expected_b) + 0.015625 * (i % 2 ? expected_b : expected_a);
    }
    EXPECT_NEAR(download(a)[17] / expected_a, 1.0, 1e-4);
    EXPECT_NEAR(download(b)[200] / expected_b, 1.0, 1e-4);
}

TEST_P(DeviceTest, WritesBetweenLaunchesAreInOrder) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto y = upload(std::vector<float>(64, 0.0f)), x = upload(std::vector<float>(64, 0.0f));
    float sum = 0;
    for (int i = 0; i < 200; ++i) {
        const std::vector<float> values(64, float(i));
        device->write(*x, 0, values.data(), 256);
        device->launch(program, saxpy_launch(y, x, 1.0f));
        sum += float(i);
    }
    EXPECT_EQ(download(y), std::vector<float>(64, sum));
}

TEST_P(DeviceTest, TheRecordedStreamHasEveryBarrier) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    std::vector<std::shared_ptr<Allocation>> arrays;
    for (int i = 0; i < 6; ++i) arrays.push_back(upload(std::vector<float>(256, 1.0f)));
    device->synchronize();
    std::vector<Queue::AuditEntry> stream;
    device->queue.audit = &stream;
    std::mt19937 random(3);
    for (int i = 0; i < 400; ++i) {
        const size_t y = random() % 6, x = (y + 1 + random() % 5) % 6;
        if (random() % 8 == 0)
            device->copy(*arrays[y], 0, *arrays[x], 512, 256, 0);
        else
            device->launch(program, saxpy_launch(arrays[y], arrays[x], 0.0f));
    }
    device->synchronize();
    device->queue.audit = nullptr;
    // The oracle: between each command and the last barrier before it, no two commands conflict.
    int commands = 0, barriers = 0;
    for (size_t i = 0; i < stream.size(); ++i) {
        barriers += stream[i].barrier;
        if (stream[i].barrier) continue;
        ++commands;
        for (size_t j = i; j-- > 0 && !stream[j].barrier;)
            for (const BufferAccess& a : stream[i].accesses)
                for (const BufferAccess& b : stream[j].accesses) ASSERT_FALSE(conflict(a, b)) << i << " and " << j;
    }
    EXPECT_EQ(commands, 400);
    EXPECT_LT(barriers, 400);
}

TEST_P(DeviceTest, MoreGroupsThanOneDispatchTakes) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    const int64_t most = device->context.snapshot.limits.maxComputeWorkGroupCount[0];
    if (most > 1 << 20) GTEST_SKIP() << "SKIPPED: a dispatch of " << device->name() << " takes " << most << " groups";
    const int64_t n = (most + 100) * 4;
    auto y = device->allocate(n * 4, true);
    const float one = 1.0f;
    auto x = device->allocate(n * 4, false);
    device->fill(*x, 0, n * 4, &one, 4, 0);
    Launch l = saxpy_launch(y, x, 3.0f);
    l.group = {4, 1, 1};
    l.start = {2, 0, 0};
    l.extent = {n - 3, 1, 1};
    device->launch(program, l);
    const std::vector<float> got = download(y);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(got[size_t(i)], i >= 2 && i < n - 1 ? 3.0f : 0.0f) << i;
}

TEST_P(DeviceTest, ArraysBeyondABindingGoByAddress) {
    const int64_t most = device->context.snapshot.limits.maxStorageBufferRange;
    const int64_t bytes = most + 4096;
    if (bytes > int64_t(300) << 20 || bytes > device->limits().max_array_bytes)
        GTEST_SKIP() << "SKIPPED: " << device->name() << " binds " << most << " bytes, more than this test allocates";
    auto program = device->compile(saxpy_kernel(), [](const codegen::Options& options) {
        codegen::Options both = options;
        if (!both.by_address.empty()) both.by_address[0] = true;
        return saxpy_shader(both);
    });
    const float one = 1.0f;
    auto y = device->allocate(bytes, true), x = device->allocate(bytes, false);
    device->fill(*x, 0, bytes, &one, 4, 0);
    Launch l = saxpy_launch(y, x, 5.0f);
    l.group = {256, 1, 1};
    l.start = {bytes / 4 - 65536, 0, 0}, l.extent = {65536, 1, 1};
    device->launch(program, l);
    float last[2] = {0, 0};
    device->read(*y, bytes - 8, last, 8);
    EXPECT_EQ(last[0], 5.0f);
    EXPECT_EQ(last[1], 5.0f);
}

/// The card "reached" promises 64 MiB, and has more. Newer validation layers report the allocation, which is valid.
TEST_P(DeviceTest, ABlockMayExceedThePromisedAllocation) {
    const int64_t promised = device->context.snapshot.max_allocation_bytes, bytes = promised + 4096;
    if (bytes > device->limits().max_array_bytes || bytes > int64_t(300) << 20)
        GTEST_SKIP() << "SKIPPED: " << device->name() << " promises " << promised
                     << " bytes, and has no buffers above or this is "
                     << "more than this test allocates";
    auto memory = device->allocate(bytes, true);
    EXPECT_GT(static_cast<Buffer&>(*memory).range.block->bytes, promised);
    const uint32_t seven = 7;
    uint32_t last = 0;
    device->fill(*memory, bytes - 4, 4, &seven, 4, 0);
    device->read(*memory, bytes - 4, &last, 4);
    EXPECT_EQ(last, 7u);
}

TEST_P(DeviceTest, ArraysOfNoElementsAreBound) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    Launch l;
    l.extent = {1, 1, 1};
    l.start = {5, 0, 0};
    l.extent = {1, 1, 1};
    l.group = {1, 1, 1};
    l.arguments.resize(3);
    l.arguments[0].array.extents = l.arguments[1].array.extents = {0, 1, 1};
    device->launch(program, l);
    EXPECT_NO_THROW(device->synchronize());
}

TEST_P(DeviceTest, MemoryIsReleasedAndUsedAgain) {
    const std::string& mode = GetParam().mode;
    if (mode != "plain" && mode != "PUMICE_VULKAN_STAGING" && mode != "wrapped")
        GTEST_SKIP() << "SKIPPED: the mode plain tests it";
    const int64_t bytes = std::min(int64_t(256) << 20, device->limits().max_array_bytes);
    for (int64_t total = 0; total < int64_t(5) << 29; total += bytes) {  // 2.5 GiB, more than software devices have
        auto memory = device->allocate(bytes, false);
        const uint32_t zero = 0;
        device->fill(*memory, 0, 4096, &zero, 4, 0);
    }
    device->synchronize();
    auto other = upload(ramp(10));
    EXPECT_EQ(download(other), ramp(10));
}

PFN_vkQueueSubmit sliced_submit = nullptr;
int slices = 0;
VKAPI_ATTR VkResult VKAPI_CALL counted_slices(VkQueue queue, uint32_t count, const VkSubmitInfo* info, VkFence fence) {
    ++slices;
    return sliced_submit(queue, count, info, fence);
}

/// With a pace of 10 us a group and 1 us a submission, each group is a submission of its own; the results do not change.
TEST_P(DeviceTest, LongLaunchesAreSeveralSubmissions) {
    if (device->context.plan.most_seconds == 0) GTEST_SKIP() << "SKIPPED: nothing ends long launches on this device";
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    const size_t n = 64 * 300 - 5;  // 300 groups
    auto x = upload(ramp(n)), y = upload(std::vector<float>(n, 0.0f));
    device->launch(program, saxpy_launch(y, x, 1.0f));  // measures the pace
    device->synchronize();
    sliced_submit = std::exchange(device->context.vk.QueueSubmit, counted_slices);
    slices = 0;
    device->launch(program, saxpy_launch(y, x, 1.0f));
    device->launch(program, saxpy_launch(y, y, 1.0f));
    device->synchronize();
    device->context.vk.QueueSubmit = sliced_submit;
    const bool is_slow = device->context.plan.most_seconds < 1e-3;
    EXPECT_EQ(slices > 8, is_slow) << slices;
    std::vector<float> expected(n);
    for (size_t i = 0; i < n; ++i) expected[i] = 4 * float(i);
    EXPECT_EQ(download(y), expected);
}

/// Adds 1 to an element for each item of a range of three dimensions.
Shader counting_shader(const codegen::Options&) {
    Shader s;
    s.name = "count";
    const std::string glsl = std::string(head) +
                             "layout(binding = 0) buffer Y { float y[]; };\n"
                             "layout(push_constant) uniform Push { ivec4 start; ivec4 end; };\n"
                             "void main() { ivec3 i = start.xyz + ivec3(gl_GlobalInvocationID); "
                             "if (all(lessThan(i, end.xyz))) y[(i.z * end.y + i.y) * end.x + i.x] += 1; }\n";
    s.glsl = glsl;
    s.spirv = codegen::assemble(glsl, "count");
    s.bindings = {{0, 0, ir::Access::inout}};
    for (uint32_t axis = 0; axis < 3; ++axis) {
        s.push.push_back({Field::Kind::start, 0, int(axis), 4 * axis, Scalar::i32});
        s.push.push_back({Field::Kind::end, 0, int(axis), 16 + 4 * axis, Scalar::i32});
    }
    s.push_bytes = 32;
    return s;
}

/// The first launch is a probe and what remains of its row, of its plane, and the other planes.
TEST_P(DeviceTest, SlicesOfThreeDimensionsAreEachItemOnce) {
    const int64_t x = 99, y = 7, z = 5;
    auto counts = upload(std::vector<float>(size_t(x * y * z), 0.0f));
    auto program = device->compile(kernel("count", {{true}}), counting_shader);
    Launch launch;
    launch.extent = {x, y, z};
    launch.rank = 3;
    launch.group = {4, 2, 1};
    launch.arguments = {whole(counts)};
    for (int times = 0; times < 3; ++times) device->launch(program, launch);
    EXPECT_EQ(download(counts), std::vector<float>(size_t(x * y * z), 3.0f));
}

TEST_P(DeviceTest, EventsAndStreams) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto x = upload(ramp(100)), y = upload(std::vector<float>(100, 0.0f));
    const int a = device->create_stream(Priority::low), b = device->create_stream(Priority::high);
    EXPECT_NE(a, b);
    EXPECT_TRUE(device->record(a)->done());
    Launch l = saxpy_launch(y, x, 1.0f);
    l.stream = a;
    device->launch(program, l);
    const auto event = device->record(a);
    device->wait_for(b, event);
    l.stream = b;
    device->launch(program, l);
    const auto second = device->record(b);
    second->wait();
    EXPECT_TRUE(event->done());
    EXPECT_TRUE(second->done());
    device->release_stream(a);
    EXPECT_EQ(device->create_stream(Priority::normal), a);
    EXPECT_EQ(download(y)[10], 20.0f);
}

TEST_P(DeviceTest, SeveralThreadsAtOnce) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    std::vector<std::thread> threads;
    std::atomic<int> right = 0;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            auto own = device->compile(saxpy_kernel(), saxpy_shader);
            auto x = upload(std::vector<float>(500, float(t))), y = upload(std::vector<float>(500, 0.0f));
            for (int i = 0; i < 50; ++i) device->launch(i % 2 ? own : program, saxpy_launch(y, x, 1.0f));
            right += download(y) == std::vector<float>(500, 50.0f * float(t));
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(right, 4);
}

/// y[i] = x[i] + x[i], as recorded IR.
std::shared_ptr<ir::Kernel> double_kernel() {
    auto k = kernel("twice", {{true, ir::Access::out}, {true, ir::Access::in}});
    k->files = {"vulkan_device_test.cpp"};
    k->memories[0].name = "arg1", k->memories[1].name = "arg2";
    k->blocks.resize(1);
    ir::Builder b(*k);
    b.enter(ir::BlockId{0});
    const ir::Value i[] = {b.index(ir::Op::global_index, 0)};
    const ir::Value x = b.load(ir::MemoryId{1}, 0, i);
    b.store(ir::MemoryId{0}, 0, i, b.op(ir::Op::add, {x, x}));
    b.terminate(ir::Op::return_);
    return k;
}

TEST_P(DeviceTest, CompiledKernelsAreKeptOnDiskAndRebuiltWhenCorrupt) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / text("pumice-device-test-", getpid());
    const debug::Override cache("PUMICE_CACHE_DIR", folder);
    const auto shaders = [&] {
        std::vector<fs::path> found;
        for (const auto& file : fs::directory_iterator(folder))
            if (file.path().extension() == ".shader") found.push_back(file.path());
        return found;
    };
    const auto run = [&] {
        device = open_again();
        auto program = device->compile(double_kernel());
        auto y = device->allocate(400, true), x = upload(ramp(100));
        Launch l;
        l.extent = {100, 1, 1};
        l.group = device->choose_group(*double_kernel(), l);
        l.arguments = {whole(y), whole(x)};
        device->launch(program, l);
        std::vector<float> expected = ramp(100);
        for (float& v : expected) v *= 2;
        EXPECT_EQ(download(y), expected);
    };
    run();
    ASSERT_EQ(shaders().size(), 1u);
    const auto written = fs::last_write_time(shaders()[0]);
    run();
    ASSERT_EQ(shaders().size(), 1u);
    EXPECT_EQ(fs::last_write_time(shaders()[0]), written) << "the entry was not used";
    fs::resize_file(shaders()[0], fs::file_size(shaders()[0]) / 2);
    run();
    ASSERT_EQ(shaders().size(), 1u);
    EXPECT_GT(fs::last_write_time(shaders()[0]), written);
    device.reset();
    fs::remove_all(folder);
}

TEST_P(DeviceTest, AProgramMayOutliveItsDevice) {
    auto program = device->compile(saxpy_kernel(), saxpy_shader);
    auto x = upload(ramp(100)), y = upload(ramp(100));
    device->launch(program, saxpy_launch(y, x, 1.0f));
    x.reset(), y.reset();
    device.reset();
    program.reset();
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceTest);
INSTANTIATE_TEST_SUITE_P(Every, DeviceTest, testing::ValuesIn(cases()), case_name);

TEST(Open, UnknownDevice) {
    set_up_environment();
    for (const int index : {-1, 99}) {
        try {
            open(index);
            FAIL() << "no error";
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(text("vulkan:", index)), std::string::npos) << error.what();
        }
    }
}

}  // namespace
}  // namespace pumice::vulkan::test
