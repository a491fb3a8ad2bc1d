// Prints and requirements of kernels on the runtime's Vulkan back end.
#include "tests/runtime_vulkan/rt_vulkan_test.h"

using namespace rt_test;
using pumice::global_index;
using pumice::In;
using pumice::Val;

namespace {

struct Printed {
    std::vector<std::string> lines;
    pumice_hooks hooks{};
    Printed() {
        hooks.user = this;
        hooks.print = [](void* user, const char* line) { static_cast<Printed*>(user)->lines.push_back(line); };
    }
};

TEST(RuntimePrints, PrintsAndRequirements) {
    Printed printed;
    TestDevice on(&printed.hooks);
    TestBundle bundle(on.properties());
    const uint32_t print = bundle.add(pumice::kernel("print", [](In<float> x, Val<int> launch) {
        auto i = global_index();
        $if(i % 2 == 1) { pumice::print("{}: {} is {}", launch, i, x[i]); }
    }));
    const uint32_t require = bundle.add(pumice::kernel("check", [](In<float> x) {
        auto i = global_index();
        pumice::require(x[i] < 5, "{} is below 5", x[i]);
    }));
    const pumice_library* library = bundle.get();
    TestArray<float> x(on, ramp(8), PUMICE_F32);
    for (int round = 0; round < 2; ++round) {
        printed.lines.clear();
        for (int l = 1; l <= 2; ++l)
            RT_OK(launch(on, library, print, grouped(pumice_range_1(4), 2), {argument(x.array), scalar(PUMICE_I32, l)}));
        RT_OK(pumice_synchronize(on.device));
        EXPECT_EQ(printed.lines, (std::vector<std::string>{"1: 1 is 1", "1: 3 is 3", "2: 1 is 1", "2: 3 is 3"}));
        RT_OK(launch(on, library, require, pumice_range_1(5), {argument(x.array)}));
        RT_OK(pumice_synchronize(on.device));
        RT_OK(launch(on, library, require, pumice_range_1(8), {argument(x.array)}));
        EXPECT_EQ(pumice_synchronize(on.device), PUMICE_ERROR_REQUIREMENT);
        EXPECT_NE(std::string(pumice_error()).find("5 is below 5 (work-item 5, "), std::string::npos) << pumice_error();
        RT_OK(pumice_synchronize(on.device));
    }
    // The host reads an array, which is a wait, too.
    RT_OK(launch(on, library, require, pumice_range_1(8), {argument(x.array)}));
    pumice_event event = nullptr;
    RT_OK(pumice_record(on.device, nullptr, &event));
    EXPECT_EQ(pumice_event_wait(event), PUMICE_ERROR_REQUIREMENT);
    pumice_event_release(event);
}

TEST(RuntimePrints, TheHookOfLinesMayUseTheDevice) {
    struct Caller {
        TestDevice* on = nullptr;
        pumice_array* array = nullptr;
        const pumice_library* library = nullptr;
        int lines = 0;
        pumice_hooks hooks{};
    } caller;
    caller.hooks.user = &caller;
    caller.hooks.print = [](void* user, const char*) {
        Caller& self = *static_cast<Caller*>(user);
        float values[4];
        EXPECT_EQ(pumice_array_read(self.array, values, sizeof values), PUMICE_OK) << pumice_error();
        EXPECT_EQ(pumice_synchronize(self.on->device), PUMICE_OK) << pumice_error();
        EXPECT_EQ(launch(*self.on, self.library, 0, pumice_range_1(4), {argument(*self.array)}), PUMICE_ERROR_ARGUMENT);
        ++self.lines;
    };
    TestDevice on(&caller.hooks);
    TestBundle bundle(on.properties());
    bundle.add(pumice::kernel("line", [](In<float> x) { pumice::print("{}", x[global_index()]); }));
    TestArray<float> x(on, ramp(4), PUMICE_F32);
    caller.on = &on, caller.array = &x.array, caller.library = bundle.get();
    RT_OK(launch(on, caller.library, 0, pumice_range_1(4), {argument(x.array)}));
    RT_OK(pumice_synchronize(on.device));
    EXPECT_EQ(caller.lines, 4);
}

TEST(RuntimePrints, MorePrintsThanTheRingHolds) {
    Printed printed;
    TestDevice on(&printed.hooks);
    TestBundle bundle(on.properties());
    const uint32_t print =
        bundle.add(pumice::kernel("many", [](Val<int> launch) { pumice::print("{} {}", launch, global_index()); }));
    const pumice_library* library = bundle.get();
    // 7 words each: 20 launches of 10,000 items need 1.4 million words, and the ring has about a million.
    for (int l = 0; l < 20; ++l) RT_OK(launch(on, library, print, pumice_range_1(10000), {scalar(PUMICE_I32, l)}));
    RT_OK(pumice_synchronize(on.device));
    ASSERT_EQ(printed.lines.size(), 200000u);
    for (size_t i = 0; i < printed.lines.size(); i += 777)
        ASSERT_EQ(printed.lines[i], std::to_string(i / 10000) + " " + std::to_string(i % 10000));
}

}  // namespace
