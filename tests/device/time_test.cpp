// Times of work on a device.
#include <chrono>
#include <cstdlib>
#include <string>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

using Seconds = std::chrono::duration<double>;

/// Each item computes for some time.
const auto iterate = kernel("iterate", [](InOut<float> x, Val<int> times) {
    Var v = x[global_index()];
    $for(t, range(times)) { v = 0.5f * v + 1.0f; }
    x[global_index()] = v;
});

std::string error_of(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) { return error.what(); }
    return "no error";
}

TEST(Time, OfALaunchIsBelowTheHostsAndBelowThatOfTheEventsAroundIt) {
    const Device d = device();
    const Stream stream = d.stream();
    Array<float> x = d.full<float>(1 << 14, 1.0f);
    iterate(ndrange(1 << 14).on(stream), x, 100).wait();
    const auto start = std::chrono::steady_clock::now();
    const Event before = stream.time_stamp();
    const Event launch = iterate(ndrange(1 << 14).on(stream).timed(), x, 100);
    const Event after = stream.time_stamp();
    after.wait();
    const Seconds host = std::chrono::steady_clock::now() - start;
    EXPECT_GT(launch.elapsed().count(), 0);
    EXPECT_LE(launch.elapsed(), after.elapsed(before));
    EXPECT_LE(after.elapsed(before), host + Seconds(1e-3));
    EXPECT_EQ(after.elapsed(before), -before.elapsed(after));
    EXPECT_GE(launch.elapsed(before), launch.elapsed());
}

TEST(Time, ManyEventsOnTwoStreams) {
    const Device d = device();
    const Stream a = d.stream(), b = d.stream();
    Array<float> x = d.full<float>(256, 1.0f), y = d.full<float>(256, 1.0f);
    std::vector<Event> on_a, on_b;
    for (int i = 0; i < 300; ++i) {
        on_a.push_back(iterate(ndrange(256).on(a).timed(), x, 1));
        on_b.push_back(iterate(ndrange(256).on(b).timed(), y, 1));
    }
    for (size_t i = 0; i < on_a.size(); ++i) {
        EXPECT_GE(on_a[i].elapsed().count(), 0);
        EXPECT_GE(on_b[i].elapsed().count(), 0);
        if (i == 0) continue;
        EXPECT_GE(on_a[i].elapsed(on_a[i - 1]), on_a[i].elapsed());
        EXPECT_GE(on_b[i].elapsed(on_b[i - 1]), on_b[i].elapsed());
    }
}

TEST(Time, OfAnEmptyRangeIsZero) {
    Array<float> x = device().full<float>(4, 1.0f);
    EXPECT_EQ(iterate(ndrange(0).timed(), x, 1).elapsed().count(), 0);
}

TEST(Time, OfAnUntimedEventIsAnError) {
    const Device d = device();
    Array<float> x = d.full<float>(4, 1.0f);
    const Event untimed = iterate(ndrange(4), x, 1), stamp = d.stream().time_stamp();
    EXPECT_EQ(
        error_of([&] { untimed.elapsed(); }),
        "the time of an event is asked for that is no timed launch: a launch is timed where its range says so (Range::timed)");
    EXPECT_EQ(error_of([&] { stamp.elapsed(); }), error_of([&] { untimed.elapsed(); }));
    const std::string between =
        "the time between two events is asked for, of which one has no time: Stream::time_stamp and launches over a Range::timed "
        "give such";
    EXPECT_EQ(error_of([&] { untimed.elapsed(stamp); }), between);
    EXPECT_EQ(error_of([&] { stamp.elapsed(Event()); }), between);
    if (suite::is_checking_device()) return;
    const Event other = Device::open("interp").stream().time_stamp();
    // The clock of the device cpu, and of a queue without time stamps, is the host's, so that the two times can be compared.
    const char* const card = std::getenv("PUMICE_TEST_CARD");
    if (d.name().starts_with("cpu") || (card && std::string(card) == "poor")) return;
    EXPECT_EQ(error_of([&] { stamp.elapsed(other); }),
              "the time between two events of different devices is asked for: their clocks differ");
    EXPECT_EQ(error_of([&] { other.elapsed(stamp); }),
              "the time between two events of different devices is asked for: their clocks differ");
}

}  // namespace
