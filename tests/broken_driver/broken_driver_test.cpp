// A driver that fails to create a device (broken_icd.cpp) comes before a working one: the next is tried, and the reason is given.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

using namespace pumice;

namespace {

const auto doubled = kernel("doubled", [](InOut<int> a) { a[global_index()] *= 2; });

TEST(BrokenDriver, TheNextDeviceIsTried) {
    const Device device = Device::open("vulkan");
    EXPECT_NE(device.name().find("llvmpipe"), std::string::npos) << device.name();
    Array<int> a = device.upload(std::vector<int>{1, 2, 3});
    doubled(ndrange(3), a);
    EXPECT_EQ(a.download(), (std::vector<int>{2, 4, 6}));
}

TEST(BrokenDriver, DeviceListGivesTheReason) {
    Device::open("vulkan");
    const std::vector<DeviceInfo> all = Device::all();
    ASSERT_FALSE(all.empty());
    EXPECT_NE(all[0].name.find("Broken GPU"), std::string::npos) << all[0].name;  // it would be the best device if it worked
    EXPECT_FALSE(all[0].usable);
    EXPECT_NE(all[0].reason.find("vkCreateDevice"), std::string::npos) << all[0].reason;
    EXPECT_NE(all[0].reason.find("VK_ERROR_INITIALIZATION_FAILED"), std::string::npos) << all[0].reason;
    int usable = 0;
    for (const DeviceInfo& d : all) usable += d.usable && d.spec.starts_with("vulkan");
    EXPECT_EQ(usable, 1);  // lavapipe
}

TEST(BrokenDriver, OpeningItByNameIsAnError) {
    const std::string spec = Device::all()[0].spec;
    try {
        Device::open(spec);
        FAIL() << "no error";
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("VK_ERROR_INITIALIZATION_FAILED"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("Broken GPU"), std::string::npos) << e.what();
    }
}

}  // namespace
