// Several cards in one machine: each computes while the others are open; the best is chosen (discrete before integrated, then the
// one with more memory); an unusable one is listed with its reason and passed over. The cards are lavapipe and SwiftShader, which
// the test layer (tests/layers/card_layer.cpp) presents as PUMICE_TEST_LOOKS says (tests/layers/cards.h).
#include <gtest/gtest.h>

#include <pumice/pumice.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace pumice;

const auto square = kernel("square", [](InOut<int> x) { x[global_index()] *= x[global_index()]; });

/// The cards in the order of Device::all().
std::vector<DeviceInfo> cards(const char* looks) {
    setenv("PUMICE_TEST_LOOKS", looks, 1);
    std::vector<DeviceInfo> found = Device::all();
    std::erase_if(found, [](const DeviceInfo& one) { return !one.spec.starts_with("vulkan:"); });
    return found;
}
bool is(const std::string& name, const char* driver) { return name.find(driver) != std::string::npos; }
constexpr const char *lavapipe = "llvmpipe", *swiftshader = "SwiftShader";

/// Each card can be opened while the other is, and computes.
TEST(SeveralCards, EachComputes) {
    const std::vector<DeviceInfo> all = cards("llvmpipe discrete 2, SwiftShader discrete 1");
    ASSERT_EQ(all.size(), 2u);
    std::vector<Device> open;
    for (const DeviceInfo& one : all) open.push_back(Device::open(one.spec));
    for (size_t i = 0; i < open.size(); ++i) {
        EXPECT_TRUE(open[i].name().starts_with(all[i].spec) && is(open[i].name(), all[i].name.c_str())) << open[i].name();
        const Array<int> x = open[i].full<int>(100, 7);
        square(ndrange(100), x);
        EXPECT_EQ(x.get(99), 49);
        // By a part of the name, too.
        EXPECT_EQ(Device::open("vulkan:" + all[i].name.substr(0, 6)).name(), open[i].name());
    }
    const Array<int> here = open[0].full<int>(100, 3), there = open[1].zeros<int>(100);
    there.copy_from(here);
    square(ndrange(100), there);
    EXPECT_EQ(there.get(0), 9);
}

TEST(SeveralCards, OfItsOwnMemoryBeforeIntegratedOnes) {
    for (const auto& [looks, best] : {std::pair("llvmpipe discrete 1, SwiftShader integrated 64", lavapipe),
                                      {"llvmpipe integrated 64, SwiftShader discrete 1", swiftshader}}) {
        const std::vector<DeviceInfo> all = cards(looks);
        ASSERT_EQ(all.size(), 2u);
        EXPECT_TRUE(is(all[0].name, best)) << looks << ": " << all[0].name;
        EXPECT_FALSE(is(all[1].name, best)) << looks << ": " << all[1].name;
        EXPECT_TRUE(all[0].usable && all[1].usable);
        EXPECT_TRUE(is(Device::open("vulkan").name(), best)) << looks;
        // Cards come before the processor, which comes before software drivers.
        EXPECT_EQ(Device::all().front().spec, all[0].spec);
    }
}

TEST(SeveralCards, OfOneKindTheOneWithMoreMemory) {
    for (const auto& [looks, best, gibibytes] : {std::tuple("llvmpipe discrete 12, SwiftShader discrete 8", lavapipe, 12),
                                                 {"llvmpipe discrete 12, SwiftShader discrete 24", swiftshader, 24}}) {
        const std::vector<DeviceInfo> all = cards(looks);
        ASSERT_EQ(all.size(), 2u);
        EXPECT_TRUE(is(all[0].name, best)) << looks << ": " << all[0].name;
        EXPECT_EQ(all[0].limits.memory, int64_t(gibibytes) << 30);
        EXPECT_TRUE(is(Device::open("vulkan").name(), best)) << looks;
    }
}

TEST(SeveralCards, AnUnusableOneIsListedWithTheReasonAndPassedOver) {
    const std::vector<DeviceInfo> all = cards("llvmpipe unusable 64, SwiftShader integrated 1");
    ASSERT_EQ(all.size(), 2u);
    const auto bad = std::find_if(all.begin(), all.end(), [](const DeviceInfo& one) { return !one.usable; });
    ASSERT_NE(bad, all.end());
    EXPECT_TRUE(is(bad->name, lavapipe)) << bad->name;
    EXPECT_EQ(bad->reason, "it has no timeline semaphores");
    EXPECT_TRUE(is(Device::open("vulkan").name(), swiftshader));
    try {
        Device::open(bad->spec);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("cannot be used: it has no timeline semaphores"), std::string::npos)
            << error.what();
    }
}

}  // namespace
