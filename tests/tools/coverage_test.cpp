// PUMICE_COVERAGE: tracefiles that lcov reads, with the lines that ran and those that carried adjoints.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/support/debug.h"

using namespace pumice;
namespace fs = std::filesystem;

namespace {

constexpr int first_line = __LINE__ + 1;
const auto positive = kernel("positive", [](InOut<float> x, In<float> scale) {
    auto i = global_index();
    Val<float> s = scale[i];
    $if(s > 100.0f) {
        x[i] = 0.0f;
        x[i] = x[i] + s * s;
    };
    x[i] = x[i] * s;
});

/// A strict reader of LCOV's format. Counts by line of this file.
std::map<int, int64_t> read(const fs::path& path) {
    std::map<int, int64_t> lines;
    std::ifstream in(path);
    EXPECT_TRUE(in.good()) << path;
    bool in_record = false, own = false;
    int64_t found = 0, hit = 0;
    for (std::string line; std::getline(in, line);) {
        if (line == "TN:pumice") {
            EXPECT_FALSE(in_record);
        } else if (line.starts_with("SF:")) {
            EXPECT_FALSE(in_record);
            in_record = true, found = hit = 0;
            own = line.ends_with("coverage_test.cpp");
            EXPECT_TRUE(line.starts_with("SF:/") || own) << line;
        } else if (line.starts_with("DA:")) {
            char comma = 0;
            int number = 0;
            int64_t count = -1;
            std::istringstream(line.substr(3)) >> number >> comma >> count;
            EXPECT_TRUE(in_record && comma == ',' && number > 0 && count >= 0) << line;
            ++found, hit += count > 0;
            if (own) lines[number - first_line + 1] = count;
        } else if (line.starts_with("LF:")) {
            EXPECT_EQ(line, "LF:" + std::to_string(found));
        } else if (line.starts_with("LH:")) {
            EXPECT_EQ(line, "LH:" + std::to_string(hit));
        } else if (line == "end_of_record") {
            EXPECT_TRUE(in_record);
            in_record = false;
        } else {
            EXPECT_TRUE(line.starts_with("FN:") || line.starts_with("FNDA:") || line.starts_with("FNF:") ||
                        line.starts_with("FNH:"))
                << line;
        }
    }
    EXPECT_FALSE(in_record);
    return lines;
}

class CoverageFiles : public testing::Test {
protected:
    CoverageFiles() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
    const fs::path folder = fs::temp_directory_path() / "pumice_coverage_test";
};

TEST_F(CoverageFiles, HoldTheLinesThatRanAndThoseThatCarriedAdjoints) {
    EXPECT_EXIT(
        {
            fs::remove_all(folder);
            setenv("PUMICE_COVERAGE", folder.c_str(), 1);
            debug::reload();
            const Device device = Device::open("interp");
            Array<float> x = device.full<float>(10, 2.0f);
            Array<float> dx = device.full<float>(10, 1.0f);
            Array<float> s = device.full<float>(10, 3.0f);
            Array<float> ds = device.zeros<float>(10);
            positive(ndrange(10), x, s);
            positive(ndrange(10), x, s);
            autodiff(Reverse, positive, ndrange(10), Duplicated(x, dx), Duplicated(s, ds));
            std::exit(dx.get(0) == 3.0f ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
    std::map<int, int64_t> kernels, adjoints;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        (name.starts_with("kernels.") ? kernels : adjoints) = read(entry.path());
        // lcov itself, where it is installed.
        if (std::system("command -v lcov > /dev/null 2>&1") == 0) {
            EXPECT_EQ(std::system(("lcov --summary " + entry.path().string() + " > /dev/null 2>&1").c_str()), 0) << name;
        }
    }
    EXPECT_EQ(kernels[5], 0);  // no scale is above 100
    EXPECT_EQ(kernels[6], 0);
    EXPECT_EQ(kernels.count(6), 1u);
    EXPECT_GE(kernels[8], 20);  // ten items, two launches and the derivative
    EXPECT_GT(kernels[3], 0);
    EXPECT_GE(adjoints[8], 10);
    EXPECT_EQ(adjoints.count(2), 0u);  // an index has no adjoint
    fs::remove_all(folder);
}

TEST_F(CoverageFiles, AreThoseOfTheDefaultDevice) {
    EXPECT_EXIT(
        {
            unsetenv("PUMICE_DEVICE");
            setenv("PUMICE_COVERAGE", folder.c_str(), 1);
            debug::reload();
            const std::string name = Device::open().name();
            fs::remove_all(folder);
            std::exit(name == "interp" ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(CoverageFiles, OfAnotherDeviceAreMissingAndThatIsSaid) {
    EXPECT_EXIT(
        {
            setenv("PUMICE_COVERAGE", folder.c_str(), 1);
            debug::reload();
            try {
                (void)Device::open("cpu");
            } catch (const Error&) {}  // there may be no LLVM
            std::exit(0);
        },
        testing::ExitedWithCode(0), "PUMICE_COVERAGE counts launches on the device interp; those on cpu are not counted");
}

TEST_F(CoverageFiles, ThatCannotBeWrittenAreSaid) {
    EXPECT_EXIT(
        {
            setenv("PUMICE_COVERAGE", "/proc/nowhere", 1);
            debug::reload();
            const Device device = Device::open("interp");
            Array<float> x = device.full<float>(10, 2.0f);
            Array<float> s = device.full<float>(10, 3.0f);
            positive(ndrange(10), x, s);
            std::exit(0);
        },
        testing::ExitedWithCode(0), "the coverage that PUMICE_COVERAGE asks for cannot be written into \"/proc/nowhere\": ");
}

}  // namespace
