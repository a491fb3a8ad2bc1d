// PUMICE_TRACE in a program that records into its own command buffers.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/support/debug.h"
#include "tests/frames/frame_test.h"

namespace {

using namespace pumice;
namespace fs = std::filesystem;

const auto saxpy = kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
});

/// Two frames of three launches. Exits with 0 if the results are right.
[[noreturn]] void run_frames(const std::string& trace) {
    setenv("PUMICE_TRACE", trace.c_str(), 1);
    debug::reload();
    tests::VulkanApplication app(0);
    const Device device = vulkan::wrap(app.application());
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    tests::CommandBuffer commands(app);
    vulkan::Recording recording(device);
    for (int frame = 0; frame < 2; ++frame) {
        recording.release();
        commands.reset();
        commands.begin();
        recording.record(commands.handle, [&] {
            for (int n = 0; n < 3; ++n) saxpy(ndrange(64), y, x, 2.0f);
        });
        commands.end();
        commands.execute();
    }
    std::exit(y.download() == std::vector<float>(64, 12.0f) && app.messages.empty() ? 0 : 2);
}

TEST(RecordTrace, HoldsRecordedLaunchesWithoutTimesOfTheDevice) {
    const char* const named = std::getenv("PUMICE_DEVICE");
    if (!named || std::string(named).rfind("vulkan", 0) != 0) GTEST_SKIP() << "SKIPPED: needs a Vulkan device";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const fs::path path = fs::temp_directory_path() / "pumice_record_trace.json";
    EXPECT_EXIT(run_frames(path.string()), testing::ExitedWithCode(0), "");
    std::ifstream in(path);
    const nlohmann::json events = nlohmann::json::parse(in);  // throws unless the file is valid JSON
    fs::remove(path);
    int calls = 0, described = 0;
    for (const auto& event : events) {
        if (event.at("ph") != "X") continue;
        if (event.at("cat") == "host" && event.at("name") == "launch") calls += event.at("args").at("kernel") == "saxpy";
        if (event.at("cat") != "launch") continue;
        ++described;
        // Of the host's thread, and without rates: the application alone knows when its command buffer runs.
        EXPECT_EQ(event.at("pid"), 1) << event;
        EXPECT_FALSE(event.at("args").contains("GB/s")) << event;
    }
    EXPECT_EQ(calls, 6);
    EXPECT_EQ(described, 6);
}

}  // namespace
