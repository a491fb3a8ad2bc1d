// README.md: its program prints the text on the page, and its tables agree with the library.
#include <algorithm>

#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <cstdio>

#include "core/support/debug.h"
#include "tests/docs/page.h"

using namespace pumice;

namespace {

const std::string devices_head = "| device | what it is |";
const std::string switches_head = "| variable | values | where it is not set | what it does |";

/// The output of a program on both streams; its exit status must be 0.
std::string output_of(const std::string& command) {
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (!pipe) fail("the program ", command, " cannot be started");
    std::string out;
    for (int c; (c = std::fgetc(pipe)) != EOF;) out += char(c);
    EXPECT_EQ(pclose(pipe), 0) << out;
    return out;
}

/// CMake takes the program from the page; it runs on the device of this test.
TEST(Readme, ProgramPrintsWhatThePageSays) { EXPECT_EQ(output_of(README_PROGRAM), docs::Page("README.md").block("text output")); }

TEST(Readme, SwitchesAreThoseOfTheLibrary) {
    docs::Page page("README.md");
    std::vector<std::string> rows;
    for (const debug::Switch& s : debug::switches())
        rows.push_back(text("| `", s.name, "` | ", s.values, " | ", s.fallback, " | ", s.meaning, " |"));
    page.expect_table(switches_head, rows);
}

TEST(Readme, DevicesOpenByTheNamesOfTheTable) {
    std::vector<std::string> names;
    for (const docs::Row& row : docs::Page("README.md").table(devices_head)) names.push_back(row.at(0));
    EXPECT_EQ(names, (std::vector<std::string>{"vulkan", "vulkan:N", "vulkan:NAME", "cpu", "interp"}));

    EXPECT_EQ(Device::open("interp").name(), "interp");
    EXPECT_THROW((void)Device::open("no such device"), Error);
    if (debug::device() == "interp") return;  // leaks of the drivers must not fail this test (cmake/testing.cmake)
    if (debug::device() == "cpu") return;
    const std::vector<DeviceInfo> all = Device::all();
    const auto is_vulkan = [](const DeviceInfo& info) { return info.spec.rfind("vulkan:", 0) == 0; };
    const DeviceInfo first = *std::find_if(all.begin(), all.end(), is_vulkan);
    const std::string name = Device::open(first.spec).name();
    EXPECT_EQ(Device::open("vulkan").name(), name);
    EXPECT_NE(Device::open("vulkan:" + first.name).name().find(first.name), std::string::npos);
    EXPECT_THROW((void)Device::open("vulkan:no such name"), Error);
}

}  // namespace
