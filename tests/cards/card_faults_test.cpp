// A graphics card that fails: its own memory is full, it is lost during work, or it lacks a feature that it reports.
// PUMICE_TEST_FAULT names the fault for the layer (tests/layers). The layer reads it once a process, so each fault has an entry
// in CTest.
#include <gtest/gtest.h>

#include <pumice/pumice.h>

#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace pumice;

const auto twice = kernel("twice", [](Out<float> y, In<float> x) {
    auto i = global_index();
    y[i] = 2.0f * x[i];
});
const auto halve = kernel("halve", [](InOut<double> x) { x[global_index()] *= 0.5; });

std::string error_of(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) { return error.what(); }
    return "no error";
}

class Card : public testing::Test {
protected:
    /// Skips the test unless the layer makes this fault.
    static bool has(const std::string& fault) {
        const char* const set = std::getenv("PUMICE_TEST_FAULT");
        return set && set == fault;
    }
    static std::vector<float> ramp(size_t n) {
        std::vector<float> values(n);
        std::iota(values.begin(), values.end(), 0.0f);
        return values;
    }
};
#define ONLY_WITH(fault) \
    if (!has(fault)) GTEST_SKIP() << "the fault is another one"

/// The card's own memory has 96 MiB, the host's 512.
TEST_F(Card, ArraysPastItsMemoryLieInHostMemory) {
    ONLY_WITH("full");
    const Device d = Device::open("vulkan");
    constexpr int n = 8 << 20;  // 32 MiB
    std::vector<Array<float>> arrays;
    for (int i = 0; i < 6; ++i) arrays.push_back(d.full<float>(n, float(i)));
    for (size_t i = 0; i + 1 < arrays.size(); ++i) twice(ndrange(n), arrays[i + 1], arrays[i]);
    EXPECT_EQ(arrays[5].get(n - 1), 0.0f);
    const std::vector<float> host = ramp(n);
    arrays[5].copy_from(host);
    twice(ndrange(n), arrays[0], arrays[5]);
    arrays[5].copy_from(arrays[0]);
    const std::vector<float> back = arrays[5].download();
    for (size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], 2 * host[i]);
}

TEST_F(Card, MemoryThatNeitherHasIsAnErrorThatNamesTheBytes) {
    ONLY_WITH("full");
    const Device d = Device::open("vulkan");
    std::vector<Array<float>> arrays;
    const int64_t n = d.limits().max_array_bytes / 4;
    const std::string error = error_of([&] {
        for (int i = 0; i < 1000; ++i) arrays.push_back(d.empty<float>(n));
    });
    EXPECT_LT(arrays.size(), 10u);
    EXPECT_NE(error.find("cannot allocate " + std::to_string(n * 4) + " bytes on vulkan:0"), std::string::npos) << error;
    arrays.clear();
    const Array<float> x = d.upload(ramp(100)), y = d.zeros<float>(100);
    twice(ndrange(100), y, x);
    EXPECT_EQ(y.get(99), 198.0f);
}

/// A driver tells of the loss where work is submitted, or where something waits for it.
TEST_F(Card, ALostDeviceIsAnErrorUntilItIsOpenedAgain) {
    if (!has("lost") && !has("hangs")) GTEST_SKIP() << "the fault is another one";
    const std::string lost = "is lost: the driver has given it up (VK_ERROR_DEVICE_LOST)";
    const auto says_so = [&](const std::string& error) { EXPECT_NE(error.find(lost), std::string::npos) << error; };
    {
        const Device d = Device::open("vulkan");
        const Stream stream = d.stream();
        const Array<float> x = d.upload(ramp(100)), y = d.zeros<float>(100);
        Event last;
        says_so(error_of([&] {
            for (int i = 0; i < 100; ++i) {
                last = twice(ndrange(100).timed(), y, x);
                stream.call([] {});
                d.synchronize();
            }
        }));
        says_so(error_of([&] { y.download(); }));
        says_so(error_of([&] { twice(ndrange(100), y, x); }));
        says_so(error_of([&] { d.synchronize(); }));
        says_so(error_of([&] { last.elapsed(); }));
    }
    for (const char* name : {"vulkan", "interp"}) {
        const Device other = Device::open(name);
        const Array<float> x = other.upload(ramp(10)), y = other.zeros<float>(10);
        for (int i = 0; i < 20; ++i) {
            twice(ndrange(10), y, x);
            other.synchronize();
        }
        EXPECT_EQ(y.get(9), 18.0f);
    }
}

TEST_F(Card, ABrokenFeatureIsAnErrorThatNamesTheKernelAndTheFeature) {
    ONLY_WITH("lies");
    const Device d = Device::open("vulkan");
    ASSERT_TRUE(d.supports(Feature::float64));
    Array<double> x = d.full<double>(16, 3.0);
    const std::string error = error_of([&] { halve(ndrange(16), x); });
    EXPECT_NE(error.find("vkCreateComputePipelines fails on vulkan:0"), std::string::npos) << error;
    EXPECT_NE(error.find("kernel \"halve\", which needs Float64"), std::string::npos) << error;
    EXPECT_EQ(x.get(15), 3.0);
    const Array<float> a = d.upload(ramp(100)), b = d.zeros<float>(100);
    twice(ndrange(100), b, a);
    EXPECT_EQ(b.get(99), 198.0f);
}

}  // namespace
