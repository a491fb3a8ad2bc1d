// The recorder itself: nesting, the thread's current recording, and kernels of many operations.
#include "core/language/recorder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/kernel/kernel.h"

namespace pumice {
namespace {

template <class F> std::string message_of(F&& act) {
    try {
        act();
    } catch (const Error& e) { return e.what(); }
    return "(no error)";
}

void nest(InOut<int> a, int depth) {
    if (depth == 0)
        a[0] = 1;
    else
        $if(a[depth] > 0) { nest(a, depth - 1); }
}
void chain(InOut<int> a, int arms) {
    $if(a[0] == 0) { a[1] = 0; }
    for (int i = 1; i < arms; ++i) $elif(a[0] == i) {
            a[1] = i;
        }
}

TEST(Recorder, EachThreadRecordsItsOwn) {
    EXPECT_EQ(detail::Recorder::current_or_null(), nullptr);
    kernel("k", [](InOut<int>) {
        EXPECT_EQ(detail::Recorder::current_or_null()->kernel.name, "k");
        std::thread([] {
            EXPECT_EQ(detail::Recorder::current_or_null(), nullptr);
            kernel("other", [](InOut<int>) { EXPECT_EQ(detail::Recorder::current_or_null()->kernel.name, "other"); }).ir();
        }).join();
        EXPECT_EQ(detail::Recorder::current_or_null()->kernel.name, "k");
    }).ir();
    EXPECT_EQ(detail::Recorder::current_or_null(), nullptr);
}

TEST(Recorder, AKernelIsRecordedOnce) {
    int times = 0;
    const auto k = kernel("k", [&](InOut<int> a) { a[0] = ++times; });
    const auto copy = k;
    k.ir();
    copy.ir();
    EXPECT_EQ(times, 1);
    EXPECT_EQ(k.recorded(), copy.recorded());
}

TEST(Recorder, DepthHasALimit) {
    EXPECT_NO_THROW(parse_ir(kernel("k", [](InOut<int> a) { nest(a, detail::Recorder::max_depth); }).ir()));
    EXPECT_NO_THROW(kernel("k", [](InOut<int> a) { chain(a, detail::Recorder::max_depth); }).ir());
    const std::string limit = "kernel \"k\" nests more than 250 constructs at recorder_test.cpp:";
    EXPECT_EQ(
        message_of([] { kernel("k", [](InOut<int> a) { nest(a, detail::Recorder::max_depth + 1); }).ir(); }).rfind(limit, 0), 0u);
    EXPECT_EQ(
        message_of([] { kernel("k", [](InOut<int> a) { chain(a, detail::Recorder::max_depth + 1); }).ir(); }).rfind(limit, 0),
        0u);
    std::string deep = "kernel \"k\" math contract rank 0 (arg1: bool) files [] {\n%0 = argument arg1 : bool\n";
    for (int i = 0; i < 100'000; ++i) deep += "if %0 {\n";
    const std::string message = message_of([&] { parse_ir(deep); });
    EXPECT_NE(message.find(" deep"), std::string::npos) << message;
}

TEST(Recorder, ThirtyThousandStatements) {
    const auto start = std::chrono::steady_clock::now();
    const auto k = kernel("k", [](InOut<int> a) {
        for (int i = 0; i < 30'000; ++i) a[i] = a[i] * 3 + i;
    });
    EXPECT_GT(k.recorded()->insts.size(), 100'000u);
    EXPECT_GT(k.ir().size(), 1'000'000u);
    // Linear in the kernel's length: it takes 0.5 s, and 60 s where a pass compares every pair of accesses.
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace pumice
