// print and require.
#include "tests/device/suite.h"

using namespace pumice;

namespace {

/// The lines that the device prints while this object exists.
struct Lines {
    explicit Lines(const Device& on = suite::device()) : device(on) {
        device.on_print([this](const std::string& line) { lines.push_back(line); });
    }
    ~Lines() { device.on_print(nullptr); }
    Device device;
    std::vector<std::string> lines;
};
using Strings = std::vector<std::string>;

TEST(Device, ItemsPrintInOrder) {
    Lines out;
    const auto k = kernel("four", [](In<float> x) {
        auto i = global_index();
        print("i={} v={:.3f}", i, x[i]);
    });
    Array<float> x = out.device.upload<float>({0.5f, 1.0f / 3, -2, 1e6f});
    k(ndrange(4).group(2), x);
    out.device.synchronize();
    EXPECT_EQ(out.lines, (Strings{"i=0 v=0.500", "i=1 v=0.333", "i=2 v=-2.000", "i=3 v=1000000.000"}));
}

TEST(Device, PrintsComeInOrderOfLaunchesGroupsAndItems) {
    Lines out;
    const auto k = kernel("two_lines", [](Val<int> launch) {
        auto [i, j] = global_index<2>();
        print("{}: {}", launch, i * 10 + j);
        $if(j == 1) { print("again"); }
    });
    k(ndrange({1, 0}, {3, 3}).group(1, 2), 1);
    k(ndrange(1, 2), 2);
    out.device.synchronize();
    EXPECT_EQ(out.lines,
              (Strings{"1: 10", "1: 11", "again", "1: 12", "1: 20", "1: 21", "again", "1: 22", "2: 0", "2: 1", "again"}));
}

template <class T> void prints(const char* format, T value, const std::string& want) {
    Lines out;
    const std::string text = format;
    const auto k = kernel("typed", [text](Val<T> v) { print(text, v); });
    k(ndrange(1), value);
    out.device.synchronize();
    EXPECT_EQ(out.lines, Strings{want});
}

TEST(Device, EveryScalarTypePrints) {
    const Device device = suite::device();
    prints<int>("{}", INT_MIN, "-2147483648");
    prints<unsigned>("{:x}", 0xdeadbeef, "deadbeef");
    prints<float>("{}", 0.1f, "0.1");
    prints<bool>("{} ", true, "true ");
    if (device.supports(Feature::int8)) prints<int8_t>("{}", -5, "-5"), prints<uint8_t>("{:b}", 200, "11001000");
    if (device.supports(Feature::int16)) prints<int16_t>("{}", -32768, "-32768"), prints<uint16_t>("{}", 65535, "65535");
    if (device.supports(Feature::int64))
        prints<int64_t>("{}", INT64_MIN + 1, "-9223372036854775807"), prints<uint64_t>("{}", ~0ull, "18446744073709551615");
    if (device.supports(Feature::float16)) prints<half>("{}", half(-1.5f), "-1.5");
    prints<bfloat16>("{}", bfloat16(-1.5f), "-1.5");
    if (device.supports(Feature::float64)) prints<double>("{}", 0.1, "0.1");
}

TEST(Device, PrintOfVectorsStructsAndHostValues) {
    Lines out;
    const auto k = kernel("vectors", [](In<float3> x) {
        Var<int2> pair = int2{1, 2};
        print("{:.1f} {} {} {} {{}}", x[0], pair, "from {host}", 42);
        print("nothing");
    });
    k(ndrange(1), out.device.upload<float3>({{1, 2.25f, -3}}));
    out.device.synchronize();
    EXPECT_EQ(out.lines, (Strings{"(1.0, 2.2, -3.0) (1, 2) from {host} 42 {}", "nothing"}));
}

TEST(Device, PrintsInLoopsAndAroundBarriers) {
    Lines out;
    const auto k = kernel("phases", [](InOut<int> x) {
        auto i = global_index();
        $for(step, range(2)) {
            print("{} before {}", i, step);
            synchronize();
            x[i] += step;
            $if(x[i] > 1) { print("{} has {}", i, x[i]); }
        }
    });
    k(ndrange(3).group(4), out.device.upload<int>({0, 1, 2}));
    out.device.synchronize();
    EXPECT_EQ(out.lines, (Strings{"0 before 0", "0 before 1", "1 before 0", "1 before 1", "1 has 2", "2 before 0", "2 has 2",
                                  "2 before 1", "2 has 3"}));
}

const std::string requirement_line = std::to_string(__LINE__ + 3);
const auto check = kernel("check", [](InOut<int> x) {
    auto i = global_index();
    require(x[i] < 10, "{} is below ten", x[i]);
    x[i] += 1;
});

TEST(Device, FailedRequirementNamesTheItem) {
    const Device device = suite::device();
    Array<int> x = device.upload<int>({1, 2, 30, 4});
    check(ndrange(4), x);
    const std::string at = " (work-item 2, console_test.cpp:" + requirement_line + ").";
    EXPECT_EQ(suite::message_of([&] { device.synchronize(); }), "Kernel \"check\" fails a requirement: 30 is below ten" + at);
    EXPECT_EQ(x.download(), (std::vector<int>{2, 3, 31, 5})) << "the item goes on, and so does the device";
    check(ndrange(4), x);
    EXPECT_EQ(suite::message_of([&] { x.download(); }), "Kernel \"check\" fails a requirement: 31 is below ten" + at);
    check(ndrange(2), x);
    EXPECT_EQ(x.download(), (std::vector<int>{4, 5, 32, 6})) << "what holds is not said";
}

TEST(Device, RequirementsThatFailForMany) {
    const Device device = suite::device();
    Array<int> x = device.full<int>(1000, 50);
    const Event done = [&] {
        check(ndrange(1000), x);
        return Stream(device.stream()).record();
    }();
    EXPECT_EQ(suite::message_of([&] { device.synchronize(); }),
              "Kernel \"check\" fails a requirement: 50 is below ten (work-item 0, console_test.cpp:" + requirement_line +
                  "); 999 more requirements fail.");
    EXPECT_EQ(suite::message_of([&] { done.wait(); }), "(no error)");
}

const auto chatter = kernel("chatter", [](Val<int> times) {
    auto i = global_index();
    $for(k, range(times)) { print("{} {}", i, k); }
});

TEST(Device, PrintsPastTheRingsCapacityAreCounted) {
    Lines out;
    chatter(ndrange(100).group(50), 3000);
    out.device.synchronize();
    // 1,048,512 words are room for 149,787 records of 7 words; the rest of 300,000 is lost.
    ASSERT_EQ(out.lines.size(), 149788u);
    EXPECT_EQ(out.lines.back(),
              "pumice: 150213 reports are lost: what kernels print and require between two waits has room for 4194048 bytes");
    out.lines.clear();
    chatter(ndrange(2), 1);
    out.device.synchronize();
    EXPECT_EQ(out.lines, (Strings{"0 0", "1 0"}));
}

TEST(Device, ManyLaunchesThatPrintNeedNoWait) {
    Lines out;
    for (int n = 0; n < 40; ++n) chatter(ndrange(5000), 1);
    out.device.synchronize();
    EXPECT_EQ(out.lines.size(), 200000u) << "nothing is lost";
    EXPECT_EQ(out.lines.back(), "4999 0");
}

}  // namespace
