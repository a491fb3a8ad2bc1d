// Arrays, copies, streams, events and errors on the host.
#include <thread>

#include "tests/device/suite.h"

using namespace pumice;
using namespace pumice::internal;
using suite::device;

namespace {

/// A global object whose constructor uses a kernel and a function that are defined after it, and the errors that it gets.
struct Early {
    Early();
    std::string kernel, function, called;
} const early;

const auto add_one = kernel("add_one", [](InOut<int> a) { a[global_index()] += 1; });
const auto twice = function("twice", [](Val<int> x) { return x + x; });

Early::Early() {
    try {
        add_one.ir();
    } catch (const Error& e) { kernel = e.what(); }
    try {
        twice.ir();
    } catch (const Error& e) { function = e.what(); }
    try {
        pumice::kernel("calls_twice", [](Out<int> a) { a[global_index()] = twice(a.size(0)); }).ir();
    } catch (const Error& e) { called = e.what(); }
}

TEST(Host, AGlobalKernelBeforeItsDefinitionIsAnError) {
    EXPECT_TRUE(early.kernel.starts_with("a kernel is used before its definition has run")) << early.kernel;
    EXPECT_TRUE(early.function.starts_with("a function is used before its definition has run")) << early.function;
    EXPECT_NE(early.called.find("a function is used before its definition has run"), std::string::npos) << early.called;
    EXPECT_EQ(twice(3), 6);
}

/// A number of elements of any type, alone or in braces, which are extents.
TEST(Host, ArraysAreMadeFromNumbersAndFromExtents) {
    const Device d = device();
    const int n = 5;
    const size_t large = 6;
    const Array<float, 1> one[] = {d.zeros<float>(n), d.zeros<float>({n}), d.full<float>({n}, 1.5f), d.full(n, 1.5f),
                                   d.empty<float>({n})};
    for (const auto& a : one) EXPECT_EQ(a.size(), 5);
    EXPECT_EQ(one[2].download(), one[3].download());
    EXPECT_EQ(d.zeros<int>(large).size(), 6);
    EXPECT_EQ(d.full<int>(uint8_t(3), 7).download(), std::vector<int>(3, 7));
    const Array<int, 2> table = d.zeros<int>({n, 3});
    EXPECT_EQ(table.size(0), 5);
    EXPECT_EQ(table.size(1), 3);
}

TEST(Host, UploadsDownloadsAndDeviceCopies) {
    const std::vector<int> host = suite::iota<int>(1000);
    Array<int> a = device().upload(host), b = device().zeros<int>(1000);
    EXPECT_EQ(a.download(), host);
    b.copy_from(a);
    add_one(ndrange(1000), a);  // after the copy
    EXPECT_EQ(b.download(), host);
    EXPECT_EQ(a.download(), suite::iota<int>(1000, 1));
    b.copy_from(host);
    add_one(ndrange(1000), b);
    a.copy_from(b);  // and this copy after the launch
    EXPECT_EQ(a.download(), suite::iota<int>(1000, 1));
}

/// Every device keeps arrays of any element type, also of types with which it cannot compute.
template <class T> void fill_and_clone() {
    SCOPED_TRACE(name_of(*scalar_of<T>()));
    const Device d = device();
    Array<T> a = d.full<T>(5, T(3));
    const Array<T> copy = a.clone();
    a.fill(T(1));
    EXPECT_EQ(copy.download(), std::vector<T>(5, T(3)));
    EXPECT_EQ(a.download(), std::vector<T>(5, T(1)));
    EXPECT_EQ(d.zeros<T>(3).download(), std::vector<T>(3, T(0)));
    EXPECT_EQ(d.upload(std::vector<T>{T(0), T(1), T(0)}).get(1), T(1));
    EXPECT_EQ(d.zeros<T>({3, 0}).clone().count(), 0);
}

TEST(Host, ArraysOfEveryType) {
    fill_and_clone<bool>();
    fill_and_clone<int8_t>(), fill_and_clone<int16_t>(), fill_and_clone<int32_t>(), fill_and_clone<int64_t>();
    fill_and_clone<uint8_t>(), fill_and_clone<uint16_t>(), fill_and_clone<uint32_t>(), fill_and_clone<uint64_t>();
    fill_and_clone<half>(), fill_and_clone<float>(), fill_and_clone<double>();
}

TEST(Host, EmptyArraysFillAndClone) {
    const Device d = device();
    Array<float> none = d.zeros<float>(0);
    EXPECT_TRUE(bool(none));
    EXPECT_EQ(none.download(), std::vector<float>{});
    none.fill(3);
    EXPECT_EQ(none.clone().count(), 0);
    const auto plane = d.zeros<int>({3, 0});
    EXPECT_EQ(plane.count(), 0);
    EXPECT_EQ(plane.size(0), 3);
    const auto empty_rows = d.zeros<int>({0, 9});
    EXPECT_EQ(empty_rows.count(), 0);
    EXPECT_TRUE(empty_rows.download().empty());

    Array<uint32_t> u = d.full<uint32_t>(5, 0xdeadbeefu);
    Array<uint32_t> copy = u.clone();
    u.fill(1);
    EXPECT_EQ(copy.download(), std::vector<uint32_t>(5, 0xdeadbeefu));
    EXPECT_EQ(u.download(), std::vector<uint32_t>(5, 1));
    EXPECT_EQ(d.full<double>(3, 2.5).download(), std::vector<double>(3, 2.5));
    EXPECT_EQ(d.upload(std::vector<int8_t>{1, -2, 3}).clone().download(), (std::vector<int8_t>{1, -2, 3}));
    EXPECT_EQ(d.upload(std::vector<bool>{true, false, true}).download(), (std::vector<bool>{true, false, true}));
}

TEST(Host, AHandleSharesItsData) {
    Array<int> a = device().zeros<int>(4), b = a;
    add_one(ndrange(4), b);
    EXPECT_EQ(a.download(), std::vector<int>(4, 1));
    Array<int> nothing;
    EXPECT_FALSE(bool(nothing));
    EXPECT_NE(suite::message_of([&] { nothing.download(); }).find("an array that was never allocated is used"),
              std::string::npos);
}

TEST(Host, LaunchesFromEightThreads) {
    const Device d = device();
    Array<int> shared = d.zeros<int>(64);
    const auto count = kernel("count_up", [](InOut<int> a) { atomic_add(a[global_index()], 1); });
    std::vector<Array<int>> own;
    for (int t = 0; t < 8; ++t) own.push_back(d.zeros<int>(64));
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            for (int k = 0; k < 50; ++k) {
                count(ndrange(64), shared);
                count(ndrange(64), own[t]);
            }
        });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(shared.download(), std::vector<int>(64, 400));
    for (const auto& a : own) EXPECT_EQ(a.download(), std::vector<int>(64, 50));
}

/// Of float or of double: scalars adopt the type of the array.
const auto polynomial = [](auto y, auto x) {
    auto i = global_index();
    y[i] = 0.1 * x[i] * x[i] + 2 * x[i] - 1;
};

TEST(Host, TwoKernelsOfOneGenericLambda) {
    const Device d = device();
    const auto singles = kernel("singles", [](Out<float> y, In<float> x) { polynomial(y, x); });
    const auto doubles = kernel("doubles", [](Out<double> y, In<double> x) { polynomial(y, x); });
    Array<float> y = d.zeros<float>(4);
    singles(ndrange(4), y, d.upload<float>({0, 1, 2, 3}));
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(y.get(i), 0.1 * i * i + 2 * i - 1, 1e-6);
    Array<double> z = d.zeros<double>(4);
    const Array<double> x = d.upload<double>({0, 1, 2, 3});
    const std::string message = suite::message_of([&] { doubles(ndrange(4), z, x); });
    EXPECT_EQ(message == "(no error)", d.supports(Feature::float64)) << message;
    for (int i = 0; d.supports(Feature::float64) && i < 4; ++i) EXPECT_NEAR(z.get(i), 0.1 * i * i + 2 * i - 1, 1e-14);
}

TEST(Host, EventsOrderStreams) {
    const Device d = device();
    Stream high = d.stream(Priority::high), low = d.stream(Priority::low);
    Array<int> a = d.zeros<int>(100);
    Event first = add_one(ndrange(100).on(low), a);
    high.wait_for(first);
    Event second = add_one(ndrange(100).on(high), a);
    second.wait();
    EXPECT_TRUE(second.done());
    EXPECT_TRUE(first.done());
    EXPECT_EQ(a.download(), std::vector<int>(100, 2));
    EXPECT_TRUE(Event().done());
}

TEST(Host, ThousandsOfLaunchesInFlightAndEarlyReleases) {
    const Device d = device();
    Array<int> a = d.zeros<int>(256);
    for (int k = 0; k < 3000; ++k) add_one(ndrange(256), a);
    EXPECT_EQ(a.download(), std::vector<int>(256, 3000));
    {
        Stream stream = d.stream();
        for (int k = 0; k < 20; ++k) add_one(ndrange(256).on(stream), a);
    }  // the stream is released with work pending
    {
        Array<int> temporary = d.zeros<int>(100'000);
        for (int k = 0; k < 20; ++k) add_one(ndrange(100'000), temporary);
    }  // and so is an array
    EXPECT_EQ(a.download(), std::vector<int>(256, 3020));
}

const auto copy_two =
    kernel("copy_two", [](Out<float> y, In<float> x, In<float> z) { y[global_index()] = x[global_index()] + z[global_index()]; });

TEST(Host, OneArrayAsTwoArguments) {
    Array<float> x = device().upload(suite::iota<float>(16)), y = device().zeros<float>(16);
    copy_two(ndrange(16), y, x, x);  // two reads of one array: allowed
    EXPECT_EQ(y.download()[5], 10.0f);
    const std::string message = suite::message_of([&] { copy_two(ndrange(16), y, x, y); });
    EXPECT_NE(message.find("argument 1 and argument 3 overlap in memory, and argument 1 is written"), std::string::npos)
        << message;
}

TEST(Host, ManyArguments) {
    const auto many =
        kernel("many", [](Out<int> out, Val<int> a, Val<uint32_t> b, Val<float> c, Val<bool> d, Val<int> e, Val<int> f) {
            out[global_index()] = a + cast<int>(b) + cast<int>(c) + select(d, 1000, 2000) + e * f;
        });
    Array<int> out = device().zeros<int>(2);
    many(ndrange(2), out, 1, 2u, 3.5f, true, 10, 20);
    EXPECT_EQ(out.download()[1], 1206);
    many(ndrange(2), out, -1, 2u, 3.5f, false, 10, -20);
    EXPECT_EQ(out.download()[1], 1804);
}

TEST(Host, TheDeviceIsDescribed) {
    const Device d = device();
    EXPECT_FALSE(d.name().empty());
    const Limits limits = d.limits();
    EXPECT_GE(limits.max_group_size, 64);
    EXPECT_GE(limits.local_memory, 16 * 1024);
    EXPECT_GT(limits.memory, 0);
    EXPECT_GE(limits.subgroup_size, 1);
    bool listed = false;
    for (const DeviceInfo& info : Device::all()) listed = listed || info.usable;
    EXPECT_TRUE(listed);
}

TEST(Host, LocalMemoryPastTheLimitNamesNeedAndLimit) {
    const auto greedy = kernel("greedy", [](Out<float> out) {
        Local<float, 1'000'000> tile;
        tile[local_index()] = 1.0f;
        synchronize();
        out[global_index()] = tile[0];
    });
    Array<float> out = device().zeros<float>(4);
    const std::string message = suite::message_of([&] { greedy(ndrange(4).group(4), out); });
    EXPECT_NE(message.find("4000000 bytes of local memory"), std::string::npos) << message;
    EXPECT_NE(message.find(std::to_string(device().limits().local_memory)), std::string::npos) << message;
    EXPECT_EQ(message.find("Kernel \"greedy\" (host_test.cpp:"), 0u) << message;
    copy_two(ndrange(4), out, device().full<float>(4, 1.0f), device().full<float>(4, 2.0f));
    EXPECT_EQ(out.download(), std::vector<float>(4, 3.0f));
}

TEST(Host, DevicesByNameAndNumber) {
    const std::vector<DeviceInfo> all = Device::all();
    bool found = false;
    for (const DeviceInfo& info : all) {
        if (!info.usable) {
            EXPECT_FALSE(info.reason.empty()) << info.spec;
            continue;
        }
        EXPECT_GE(info.limits.max_group_size, 64) << info.spec;
        EXPECT_GT(info.limits.memory, 0) << info.spec;
        found = found || device().name().rfind(info.spec, 0) == 0;
        if (device().name().rfind(info.spec, 0) != 0) continue;
        EXPECT_EQ(info.limits.max_group_size, device().limits().max_group_size);
        for (const Feature feature : features)
            EXPECT_EQ(std::count(info.features.begin(), info.features.end(), feature), device().supports(feature) ? 1 : 0);
        EXPECT_EQ(Device::open(info.spec).name(), device().name());
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(Device::open("interp").name(), "interp");
    EXPECT_NE(suite::message_of([] { Device::open("vulkan:99"); }).find("there is no device \"vulkan:99\": this machine has "),
              std::string::npos);
    EXPECT_NE(suite::message_of([] { Device::open("abacus"); }).find("there is no device \"abacus\": this machine has "),
              std::string::npos);
}

TEST(Host, PrioritiesAndHostCallsInOrder) {
    const Device d = device();
    EXPECT_EQ(suite::message_of([&] { d.stream(Priority(7)); }),
              "a stream of priority 7 is asked for: priorities are Priority::low, normal and high");
    Array<int> a = d.zeros<int>(64);
    std::vector<int> order;
    Stream stream = d.stream(Priority::high), other = d.stream(Priority::low);
    for (int k = 0; k < 5; ++k) {
        add_one(ndrange(64).on(stream), a);
        stream.call([&order, k] { order.push_back(k); });
    }
    Event last = stream.record();
    other.wait_for(last);
    add_one(ndrange(64).on(other), a);
    other.call([&order] { order.push_back(99); });
    last.wait();
    EXPECT_TRUE(last.done());
    other.synchronize();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 99}));
    EXPECT_EQ(a.download(), std::vector<int>(64, 6));
}

TEST(Host, MemoryInUseIsCounted) {
    const Device d = device();
    d.synchronize();
    const int64_t before = d.memory_in_use();
    {
        Array<float> a = d.zeros<float>(1000), b = a;
        Array<double, 2> c = d.empty<double>({10, 20});
        EXPECT_EQ(d.memory_in_use() - before, 4000 + 1600);
        c.release();
        EXPECT_EQ(d.memory_in_use() - before, 4000);
    }
    EXPECT_EQ(d.memory_in_use(), before);
}

TEST(Host, ReleaseEndsSlicesAndReshapes) {
    const Device d = device();
    d.synchronize();
    const int64_t before = d.memory_in_use();
    const Array<float> a = d.full<float>(64, 1.0f), part = a.slice(0, 16), inner = part.slice(4, 8),
                       other = d.full<float>(4, 2.0f);
    const Array<float, 2> square = a.reshape({8, 8});
    for (int i = 0; i < 100; ++i) EXPECT_EQ(a.slice(i % 60, i % 60 + 4).download(), std::vector<float>(4, 1.0f));
    part.release();
    EXPECT_EQ(d.memory_in_use() - before, 16);
    EXPECT_THROW(a.download(), Error);
    EXPECT_THROW(part.download(), Error);
    EXPECT_THROW(inner.get(0), Error);
    EXPECT_THROW(square.download(), Error);
    EXPECT_EQ(other.download(), std::vector<float>(4, 2.0f));
}

}  // namespace
