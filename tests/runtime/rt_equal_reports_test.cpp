// Lines that kernels print, and failed requirements: equal to the library's text.
#include "tests/runtime/rt_compare.h"
#include "tests/runtime/rt_kernels.h"

using namespace rt_test;
using pumice::ndrange;

namespace {

using Lines = std::vector<std::string>;

template <class F> Lines library_lines(F&& run) {
    const pumice::Device device = pumice::Device::open("cpu");
    Lines lines;
    device.on_print([&](const std::string& line) { lines.push_back(line); });
    run(device);
    device.synchronize();
    device.on_print(nullptr);
    return lines;
}
template <class F> Lines runtime_lines(int threads, F&& run) {
    Lines lines;
    pumice_hooks hooks = {};
    hooks.user = &lines;
    hooks.print = [](void* user, const char* line) { static_cast<Lines*>(user)->push_back(line); };
    const Opened opened(threads, hooks);
    run(opened.device);
    EXPECT_EQ(pumice_synchronize(opened.device), PUMICE_OK) << pumice_error();
    return lines;
}

TEST(RuntimeEqual, PrintedLines) {
    for (const int64_t n : {1, 9, 300, 3000}) {
        Data<float, 1> x = random<float>({n});
        Data<double, 1> y = random<double>({n});
        const Data<int64_t, 1> z = random<int64_t>({n});
        // Numbers of every size.
        for (int64_t i = 0; i < n; ++i)
            if (i % 2) x.data()[i] = std::bit_cast<float>(uint32_t(engine()())), y.data()[i] = double(x.data()[i]) * 1e200;
        const Lines want = library_lines(
            [&](const pumice::Device&) { rt_kernels::prints(ndrange(n), to_library(x), to_library(y), to_library(z)); });
        ASSERT_GE(want.size(), size_t(n));
        for (const int threads : {1, 2}) {
            const Lines got = runtime_lines(threads, [&](pumice_device device) {
                Held a = to_runtime(device, x), b = to_runtime(device, y), c = to_runtime(device, z);
                EXPECT_EQ(launch(device, "prints", range_of(ndrange(n)), a, b, c), PUMICE_OK) << pumice_error();
                EXPECT_EQ(pumice_synchronize(device), PUMICE_OK);
                for (Held* h : {&a, &b, &c}) pumice_array_release(&h->all);
            });
            ASSERT_EQ(got, want) << n << " items, " << threads << " threads";
        }
    }
}

TEST(RuntimeEqual, PrintedLinesOfSeveralLaunches) {
    using pumice::bfloat16;
    const Lines want = library_lines([&](const pumice::Device&) {
        for (const float a : {1.0f, 2.5f}) rt_kernels::prints_planes(ndrange({0, 1, -2}, {2, 3, 1}), bfloat16(a));
    });
    const Lines got = runtime_lines(2, [&](pumice_device device) {
        for (const float a : {1.0f, 2.5f})
            EXPECT_EQ(launch(device, "prints_planes", range_of(ndrange({0, 1, -2}, {2, 3, 1})), bfloat16(a)), PUMICE_OK)
                << pumice_error();
    });
    EXPECT_EQ(got, want);
}

/// Lines for which the ring has no room are counted.
TEST(RuntimeEqual, LostLinesAreCounted) {
    const auto run = [](auto&& launch_it) {
        for (int i = 0; i < 3; ++i) launch_it(ndrange({0, 0, 0}, {50, 60, 40}));
    };
    const Lines want = library_lines([&](const pumice::Device&) {
        run([](const pumice::Range& r) { rt_kernels::prints_planes(r, pumice::bfloat16(1.0f)); });
    });
    const Lines got = runtime_lines(1, [&](pumice_device device) {
        run([&](const pumice::Range& r) {
            EXPECT_EQ(launch(device, "prints_planes", range_of(r), pumice::bfloat16(1.0f)), PUMICE_OK) << pumice_error();
        });
    });
    ASSERT_EQ(got.size(), want.size());
    EXPECT_EQ(got.back(), want.back());
    EXPECT_NE(got.back().find("lost"), std::string::npos) << got.back();
}

std::string message_of(const std::function<void()>& act) {
    try {
        act();
    } catch (const pumice::Error& e) { return e.what(); }
    return "";
}

TEST(RuntimeEqual, FailedRequirements) {
    const Data<int, 1> x = made<int>({1000}, [](int64_t i) { return i % 300 == 37 ? 99 : i % 10; });
    const Data<int, 4> y = made<int>({3, 4, 5, 6}, [](int64_t i) { return i == 200 ? 11 : 0; });
    const pumice::Array<int> a = to_library(x);
    const pumice::Array<int, 4> b = to_library(y);
    const auto one = message_of([&] { rt_kernels::requires_small(ndrange(1000), a), a.device().synchronize(); });
    const auto two = message_of([&] { rt_kernels::requires_deep(ndrange(3, 4, 5, 6), b), b.device().synchronize(); });
    const Opened opened(2);
    Held c = to_runtime(opened.device, x), d = to_runtime(opened.device, y);
    EXPECT_EQ(launch(opened.device, "requires_small", range_of(ndrange(1000)), c), PUMICE_OK);
    EXPECT_EQ(pumice_synchronize(opened.device), PUMICE_ERROR_REQUIREMENT);
    EXPECT_EQ(std::string(pumice_error()) + ".", one);
    EXPECT_NE(one.find("; 3 more requirements fail."), std::string::npos) << one;
    EXPECT_EQ(launch(opened.device, "requires_deep", range_of(ndrange(3, 4, 5, 6)), d), PUMICE_OK);
    EXPECT_EQ(pumice_synchronize(opened.device), PUMICE_ERROR_REQUIREMENT);
    EXPECT_EQ(std::string(pumice_error()) + ".", two);
    // The device works on, and the items went on, too.
    EXPECT_EQ(pumice_synchronize(opened.device), PUMICE_OK);
    Data<int, 1> got = x;
    from_runtime(c, got);
    for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(got.data()[i], (i % 300 == 37 ? 99 : int(i % 10)) + 1);
    pumice_array_release(&d.all);
}

}  // namespace
