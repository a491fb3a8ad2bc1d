// PUMICE_TRACY: the events that Tracy's client gets, as a stand-in for it records them.
#include <gtest/gtest.h>
#include <pumice/pumice.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/support/debug.h"
#include "core/support/trace.h"
#include "core/support/trace_sink.h"
#include "stand_in.h"

using namespace pumice;
using tracy_stand_in::GpuZone;
using tracy_stand_in::Record;

namespace {

constexpr int saxpy_line = __LINE__ + 1;
const auto saxpy = kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
});
/// Each test has a kernel of its own, since the events of a test may come during the next one.
auto square(const char* name) {
    return kernel(name, [](InOut<float> x) { x[global_index()] = x[global_index()] * x[global_index()] + 0.25f; });
}

std::string device_name() { return std::getenv("PUMICE_DEVICE") ? std::getenv("PUMICE_DEVICE") : ""; }

/// The record, once it is as it should be in the end; the events of devices come up to 100 ms later.
Record when(const std::function<bool(const Record&)>& complete) {
    for (int attempt = 0; attempt < 100 && !complete(tracy_stand_in::record()); ++attempt)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return tracy_stand_in::record();
}
/// Finished GPU zones of this kernel.
std::vector<GpuZone> zones_of(const Record& record, const std::string& kernel) {
    std::vector<GpuZone> found;
    for (const GpuZone& one : record.gpu_zones)
        if (one.name == kernel && one.end >= 0) found.push_back(one);
    return found;
}

/// True for work of a device. Zones of threads have other categories.
bool is_of_device(const GpuZone& zone) { return zone.category == "launch" || zone.category == "copy" || zone.category == "fill"; }

class Tracy : public testing::Test {
protected:
    Tracy() { tracy_stand_in::clear(); }
    ~Tracy() override { EXPECT_EQ(tracy_stand_in::record().faults, std::vector<std::string>()); }
};

TEST_F(Tracy, GetsLaunchesAsGpuZonesWithTheirLineAndTime) {
    const Device device = Device::open();
    Array<float> x = device.full<float>(1 << 14, 2.0f), y = device.zeros<float>(1 << 14);
    device.synchronize();
    const int64_t before = trace::now();
    for (int k = 0; k < 10; ++k) saxpy(ndrange(1 << 14), y, x, 0.5f);
    device.synchronize();
    const int64_t after = trace::now();
    EXPECT_EQ(y.get(5), 10.0f);
    Record record = when([](const Record& r) { return zones_of(r, "saxpy").size() == 10; });
    ASSERT_EQ(zones_of(record, "saxpy").size(), 10u);
    for (const GpuZone& zone : record.gpu_zones) EXPECT_TRUE(is_of_device(zone)) << zone.category;
    for (const GpuZone& zone : zones_of(record, "saxpy")) {
        EXPECT_EQ(zone.category, "launch");
        EXPECT_EQ(zone.file, "tracy_test.cpp");
        EXPECT_EQ(zone.line, uint32_t(saxpy_line));
        EXPECT_LE(zone.begin, zone.end);
        EXPECT_GE(zone.begin, before - 1'000'000);  // the driver's clocks may differ a little
        EXPECT_LE(zone.end, after + 1'000'000);
        EXPECT_EQ(record.contexts[zone.context].name, device.name() + ", default stream");
        EXPECT_EQ(record.contexts[zone.context].period, 1.0f);
    }
}

TEST_F(Tracy, GetsHostCallsAndStagesOfCompilationAsNestedZones) {
    const Device device = Device::open();
    const auto fresh = kernel("fresh", [](InOut<float> x) { x[global_index()] += 3.0f; });
    Array<float> x = device.zeros<float>(64);
    fresh(ndrange(64), x);
    EXPECT_EQ(x.download()[0], 3.0f);
    const Record record = tracy_stand_in::record();
    std::map<std::string, std::vector<tracy_stand_in::Zone>> by;
    for (const auto& zone : record.zones) {
        EXPECT_TRUE(zone.ended) << zone.name;
        by[zone.category].push_back(zone);
    }
    const auto named = [&](const std::string& category, const std::string& name) {
        for (const auto& zone : by[category])
            if (zone.name == name) return zone;
        ADD_FAILURE() << "there is no zone " << name << " of " << category;
        return tracy_stand_in::Zone();
    };
    EXPECT_EQ(named("host", "launch").text, R"("kernel":"fresh")");
    EXPECT_EQ(named("host", "launch").depth, 0);
    EXPECT_EQ(named("compile", "compile").depth, 1);
    EXPECT_NE(named("compile", "compile").text.find(R"("kernel":"fresh")"), std::string::npos);
    EXPECT_NE(named("memory", "allocate").text.find(R"("bytes":256)"), std::string::npos);
    EXPECT_NE(named("copy", "download").text.find(R"("bytes":256)"), std::string::npos);
    if (device_name() == "interp") return;  // which compiles nothing
    EXPECT_GT(by["pass"].size(), 5u);
    EXPECT_GE(by["pass"][0].depth, 2);
    if (device_name() != "vulkan") return;
    EXPECT_EQ(named("compile", "GLSL to SPIR-V").text, R"("kernel":"fresh")");
}

TEST_F(Tracy, GetsMemoryOfDevicesAsAllocations) {
    const Device device = Device::open();
    {
        Array<float> x = device.zeros<float>(1000), y = device.zeros<float>(3000);
        square("memory")(ndrange(1000), x);
        device.synchronize();
        const Record record = tracy_stand_in::record();
        std::multiset<size_t> sizes;
        for (const auto& block : record.blocks) {
            EXPECT_EQ(block.pool, device.name());
            EXPECT_FALSE(block.freed);
            sizes.insert(block.bytes);
        }
        ASSERT_EQ(sizes.size(), 2u);
        EXPECT_GE(*sizes.begin(), 4000u);
        EXPECT_GE(*sizes.rbegin(), 12000u);
    }
    const Record record = tracy_stand_in::record();
    for (const auto& block : record.blocks) EXPECT_TRUE(block.freed);
    EXPECT_EQ(device.memory_in_use(), 0);
}

TEST_F(Tracy, HasAContextForEachStream) {
    const Device device = Device::open();
    const Stream stream = device.stream();
    const auto one = square("streams");
    Array<float> x = device.full<float>(256, 0.5f), y = device.full<float>(256, 0.5f);
    device.synchronize();
    one(ndrange(256), x);
    one(ndrange(256).on(stream), y);
    device.synchronize();
    Record record = when([](const Record& r) { return zones_of(r, "streams").size() == 2; });
    std::set<std::string> names;
    for (const GpuZone& zone : zones_of(record, "streams")) names.insert(record.contexts[zone.context].name);
    EXPECT_EQ(names, (std::set<std::string>{device.name() + ", default stream", device.name() + ", stream 1"}));
}

TEST_F(Tracy, GetsEventsOfManyThreads) {
    const Device device = Device::open();
    const auto one = square("threads");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            Array<float> x = device.full<float>(64, 0.5f);
            for (int k = 0; k < 100; ++k) one(ndrange(64), x);
            (void)x.download();
        });
    for (std::thread& thread : threads) thread.join();
    const Record record = when([](const Record& r) { return zones_of(r, "threads").size() == 400; });
    EXPECT_EQ(zones_of(record, "threads").size(), 400u);
    std::set<int64_t> callers;
    for (const auto& zone : record.zones)
        if (zone.name == "launch" && zone.text == R"("kernel":"threads")") callers.insert(zone.thread);
    EXPECT_EQ(callers.size(), 4u);
}

nlohmann::json events_of(const std::filesystem::path& path) {
    std::ifstream in(path);
    return nlohmann::json::parse(in);
}

/// With a file the same events are in both.
TEST_F(Tracy, LeavesTheFileOfATraceAsItIs) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const std::filesystem::path path = std::filesystem::temp_directory_path() / "pumice_tracy.json";
    EXPECT_EXIT(
        {
            setenv("PUMICE_TRACE", path.c_str(), 1);
            debug::reload();
            const Device device = Device::open();
            Array<float> x = device.full<float>(64, 0.5f);
            const auto one = square("file");
            for (int k = 0; k < 5; ++k) one(ndrange(64), x);
            (void)x.download();
            const Record record = when([](const Record& r) { return zones_of(r, "file").size() == 5; });
            bool good = zones_of(record, "file").size() == 5 && record.faults.empty();
            for (const GpuZone& zone : record.gpu_zones) good &= is_of_device(zone);
            std::exit(good ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
    int launches = 0, calls = 0;
    for (const auto& event : events_of(path)) {
        if (event.value("cat", "") == "launch" && event["name"] == "file") ++launches;
        if (event.value("cat", "") == "host" && event["name"] == "launch") ++calls;
    }
    EXPECT_EQ(launches, 5);
    EXPECT_EQ(calls, 5);
    std::filesystem::remove(path);
}

/// A fork has none of the client's threads.
TEST_F(Tracy, GetsNothingFromAFork) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            { const trace::Span one("host", "one"); }
            const trace::Span around("host", "around");
            const pid_t child = fork();
            if (child == 0) {
                for (int k = 0; k < 3000; ++k) const trace::Span of_fork("host", "of the fork");
                _exit(int(tracy_stand_in::record().zones.size()));
            }
            int status = 0;
            waitpid(child, &status, 0);
            std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
        },
        testing::ExitedWithCode(2), "");
}

trace::Description work(const char* name) {
    trace::Description what;
    what.category = "launch";
    what.name = name;
    what.source = "some/where:with.cpp:17";
    return what;
}

void check_contexts() {
    const auto sink = trace::tracy_sink();
    const trace::Description what = work("one");
    sink->ran(what, "track", 1000, 2000);
    sink->ran(what, "track", 1500, 2500);  // begins before the first one ends
    sink->ran(what, "track", 2000, 3000);  // follows the first one
    sink->ran(what, "other", 1000, 1500);
    const Record record = tracy_stand_in::record();
    EXPECT_EQ(record.faults, std::vector<std::string>());
    ASSERT_EQ(record.gpu_zones.size(), 4u);
    ASSERT_EQ(record.contexts.size(), 3u);
    EXPECT_EQ(record.gpu_zones[0].context, 254);
    EXPECT_EQ(record.gpu_zones[1].context, 253);
    EXPECT_EQ(record.gpu_zones[2].context, 254);
    EXPECT_EQ(record.gpu_zones[3].context, 252);
    EXPECT_EQ(record.contexts.at(254).name, "track");
    EXPECT_EQ(record.contexts.at(253).name, "track");
    EXPECT_EQ(record.contexts.at(252).name, "other");
    EXPECT_EQ(record.gpu_zones[1].begin, 1500);
    EXPECT_EQ(record.gpu_zones[1].end, 2500);
    EXPECT_EQ(record.gpu_zones[0].file, "some/where:with.cpp");
    EXPECT_EQ(record.gpu_zones[0].line, 17u);
    // More than the queries of a context, and than there are contexts.
    for (int64_t k = 0; k < 40'000; ++k) sink->ran(what, "track", 10'000 + 10 * k, 10'005 + 10 * k);
    for (int64_t k = 0; k < 200; ++k) sink->ran(what, "track " + std::to_string(k % 150), 1'000'000 + k, 1'000'100 + k);
    std::this_thread::sleep_for(std::chrono::milliseconds(1050));
    for (const int64_t begin : {2'000'000, 3'000'000}) sink->ran(what, "track", begin, begin + 1);
    const Record many = tracy_stand_in::record();
    EXPECT_EQ(many.faults, std::vector<std::string>());
    EXPECT_EQ(many.gpu_zones.size(), 40'206u);
    EXPECT_EQ(many.contexts.size(), 128u);
    EXPECT_GE(many.contexts.at(254).calibrations, 1);
}

/// In a process of its own, which has no contexts yet.
TEST(TracySink, PutsWorkThatOverlapsIntoAFurtherContext) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            check_contexts();
            std::exit(testing::Test::HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}

}  // namespace
