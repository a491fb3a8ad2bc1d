// Reports of kernels, on the reference interpreter and through a ring that is too small.
#include "core/host/reports.h"

#include "core/host/ring.h"
#include "core/interp/interp_test.h"

namespace pumice::interp_test {
namespace {

const char* const text = R"(kernel "talks" math contract rank 1 (arg1: in i32[1]) files ["dir/k.cpp"] {
    %i = global_index 0 : i32
    %x = load arg1[%i] : i32
    %ten = constant 10 : i32
    %h = constant 1.5 : f16
    %d = constant -0.25 : f64
    %b = cast %x : i8
    print "i={} x={} {} {:.1f}", %i, %b, %d, %h @7
    %small = lt %x, %ten : bool
    require "{} is below ten", %small, %x @9
    return
})";

struct Talking : ::testing::Test {
    Talking() {
        device->reports.on_print([this](const std::string& line) { lines.push_back(line); });
    }
    std::string wait() {
        try {
            device->synchronize();
        } catch (const Error& e) { return e.what(); }
        return "";
    }
    std::shared_ptr<Backend> device = open_interp();
    std::vector<std::string> lines;
};

TEST_F(Talking, LinesInOrderOfItems) {
    DeviceArray<int> a(*device, {3, -4, 5});
    run(*device, text, {{3}, {2}}, {a});
    EXPECT_TRUE(lines.empty()) << "before a wait";
    EXPECT_EQ(wait(), "");
    EXPECT_EQ(lines, (std::vector<std::string>{"i=0 x=3 -0.25 1.5", "i=1 x=-4 -0.25 1.5", "i=2 x=5 -0.25 1.5"}));
}

TEST_F(Talking, TheFirstFailureIsTheErrorOfTheNextWait) {
    DeviceArray<int> a(*device, {3, 40, 5, 60, 70});
    run(*device, text, {{5}, {2}}, {a});
    EXPECT_EQ(wait(), "Kernel \"talks\" fails a requirement: 40 is below ten (work-item 1, k.cpp:9); 2 more requirements fail.");
    EXPECT_EQ(wait(), "") << "said once";
    DeviceArray<int> b(*device, {3, 4, 5, 6, 70});
    run(*device, text, {{5}, {2}}, {b});
    EXPECT_EQ(wait(), "Kernel \"talks\" fails a requirement: 70 is below ten (work-item 4, k.cpp:9).");
    EXPECT_EQ(lines.size(), 10u);
}

/// A ring of `words` words of records, filled by hand: launch 1 is of `text`.
struct Ring : Talking {
    explicit Ring(size_t words = 0) : ring(ring::records + words) { ring::clear(ring); }
    void room(size_t words) {
        ring.assign(ring::records + words, 0xCDCDCDCD);
        ring::clear(ring);
    }
    void record(bool failure, uint32_t launch, uint32_t format, int item, std::vector<uint32_t> values) {
        ring::write(ring.data(), failure, launch, format, {item, 0, 0}, values);
    }
    std::string taken() {
        reports.on_print([this](const std::string& line) { lines.push_back(line); });
        reports.take(ring);
        try {
            reports.deliver();
        } catch (const Error& e) { return e.what(); }
        return "";
    }
    std::vector<uint32_t> ring;
    Reports reports;
    std::shared_ptr<const ir::Kernel> kernel = std::make_shared<ir::Kernel>(ir::parse(text));
};

TEST_F(Ring, IsSortedByLaunchGroupItem) {
    room(100);
    const uint32_t first = reports.add(kernel, {{0, 0, 0}, {8, 1, 1}, {2, 1, 1}, 1});
    const uint32_t second = reports.add(kernel, {{5, 0, 0}, {8, 1, 1}, {2, 1, 1}, 1});
    EXPECT_EQ(second, first + 1);
    const std::vector<uint32_t> values{7, 1, 0, 0x3ff00000, 0x3f000000};  // i32, i8, f64 1.0, f16 0.5
    record(false, second, 0, 6, values);
    record(false, second, 0, 5, values);
    record(false, first, 0, 3, {9, 1, 0, 0x3ff00000, 0x3f000000});
    record(false, first, 0, 3, values);
    EXPECT_EQ(taken(), "");
    EXPECT_EQ(lines, (std::vector<std::string>{"i=9 x=1 1 0.5", "i=7 x=1 1 0.5", "i=7 x=1 1 0.5", "i=7 x=1 1 0.5"}));
}

TEST_F(Ring, CountsRecordsThatFindNoRoom) {
    room(25);  // two records of ten words, and half a one
    const uint32_t launch = reports.add(kernel, {{0, 0, 0}, {8, 1, 1}, {8, 1, 1}, 1});
    for (uint32_t i = 0; i < 5; ++i) record(false, launch, 0, int(i), {i, 1, 0, 0, 0});
    record(true, launch, 1, 5, {50});
    EXPECT_EQ(taken(), "Kernel \"talks\" fails a requirement: 50 is below ten (work-item 5, k.cpp:9).")
        << "a failure is never lost";
    EXPECT_EQ(lines, (std::vector<std::string>{"i=0 x=1 0 0.0", "i=1 x=1 0 0.0",
                                               "pumice: 4 reports are lost: what kernels print and require between two waits has "
                                               "room for 100 bytes"}));
}

/// A third launch still runs and has written half of a record: the reports of the first two come first, and only once.
TEST_F(Ring, IsReadUpToTheLastLaunchThatHasEnded) {
    room(200);
    std::fill(ring.begin() + ring::records, ring.end(), 0u);
    reports.on_print([this](const std::string& line) { lines.push_back(line); });
    const Reports::LaunchGeometry geometry{{0, 0, 0}, {8, 1, 1}, {8, 1, 1}, 1};
    const uint32_t numbers[] = {reports.add(kernel, geometry), reports.add(kernel, geometry), reports.add(kernel, geometry)};
    Reports::RingProgress progress;
    const auto take = [&](std::vector<uint32_t> ended, bool all) {
        const std::span<const uint32_t> words(ring);
        const size_t written = std::min(ring[ring::used], ring[ring::capacity]);
        reports.take(words.first(ring::records), words.subspan(ring::records + progress.words, written - progress.words), ended,
                     all, progress);
        try {
            reports.deliver();
        } catch (const Error& e) { return std::string(e.what()); }
        return std::string();
    };
    const auto print = [&](uint32_t launch, uint32_t i) { record(false, launch, 0, int(i), {i, 1, 0, 0, 0}); };
    print(numbers[0], 1);
    print(numbers[1], 2);
    record(true, numbers[1], 1, 3, {50});
    print(numbers[1], 4);
    ring[ring::used] += 10;  // the record of the third launch, which is not complete
    EXPECT_EQ(take({numbers[1], numbers[0]}, false),
              "Kernel \"talks\" fails a requirement: 50 is below ten (work-item 3, k.cpp:9).");
    EXPECT_EQ(lines, (std::vector<std::string>{"i=1 x=1 0 0.0", "i=2 x=1 0 0.0", "i=4 x=1 0 0.0"}));
    lines.clear();
    ring[ring::used] -= 10;
    print(numbers[2], 5);
    record(true, numbers[2], 1, 6, {60});
    record(true, numbers[2], 1, 7, {70});
    EXPECT_EQ(take({numbers[2]}, true),
              "Kernel \"talks\" fails a requirement: 60 is below ten (work-item 6, k.cpp:9); 1 more requirement fails.");
    EXPECT_EQ(lines, std::vector<std::string>{"i=5 x=1 0 0.0"});
    lines.clear();
    EXPECT_EQ(take({}, true), "");
    EXPECT_TRUE(lines.empty());
}

/// The record of a launch that is not known to have ended comes first: what the other one wrote is taken later.
TEST_F(Ring, KeepsRecordsAfterThatOfALaunchThatRuns) {
    room(200);
    std::fill(ring.begin() + ring::records, ring.end(), 0u);
    reports.on_print([this](const std::string& line) { lines.push_back(line); });
    const Reports::LaunchGeometry geometry{{0, 0, 0}, {8, 1, 1}, {8, 1, 1}, 1};
    const uint32_t numbers[] = {reports.add(kernel, geometry), reports.add(kernel, geometry)};
    Reports::RingProgress progress;
    const auto take = [&](std::vector<uint32_t> ended, bool all) {
        const std::span<const uint32_t> words(ring);
        const bool whole =
            reports.take(words.first(ring::records),
                         words.subspan(ring::records + progress.words, ring[ring::used] - progress.words), ended, all, progress);
        reports.deliver();
        return whole;
    };
    record(false, numbers[0], 0, 1, {1, 1, 0, 0, 0});
    record(false, numbers[1], 0, 2, {2, 1, 0, 0, 0});
    EXPECT_FALSE(take({numbers[1]}, false));
    EXPECT_TRUE(lines.empty());
    EXPECT_TRUE(take({numbers[0], numbers[1]}, true));
    EXPECT_EQ(lines, (std::vector<std::string>{"i=1 x=1 0 0.0", "i=2 x=1 0 0.0"}));
}

}  // namespace
}  // namespace pumice::interp_test
