// Host functions on streams, together with waits, copies and reports of other threads: nothing waits longer than it has to.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <random>
#include <thread>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

const char* const refused = "a function that a stream calls waits for work that comes after it";

const auto inc = kernel("inc", [](InOut<int> a) { a[global_index()] += 1; });
const auto say = kernel("say", [](In<int> a) { print("a is {}", a[global_index()]); });

void nap(int ms = 30) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Runs an act that may hang. If it hangs, the program ends, because a thread that hangs cannot be ended.
template <class F> void in_time(F act) {
    std::packaged_task<void()> task(act);
    std::future<void> done = task.get_future();
    std::thread thread(std::move(task));
    if (done.wait_for(std::chrono::seconds(120)) != std::future_status::ready) {
        std::fprintf(stderr, "%s hangs\n", testing::UnitTest::GetInstance()->current_test_info()->name());
        std::fflush(nullptr);
        std::_Exit(1);
    }
    thread.join();
    done.get();
}

/// Counts the lines that kernels print.
struct Lines {
    explicit Lines(const Device& d) : device(d) {
        device.on_print([this](const std::string&) { ++count; });
    }
    ~Lines() { device.on_print(nullptr); }
    const Device device;
    std::atomic<int> count = 0;
};

TEST(Calls, DownloadWhileAnotherThreadDownloadsWhatComesAfter) {
    in_time([] {
        const Device d = device();
        const Array<int> x = d.upload<int>({1, 2, 3, 4}), y = d.zeros<int>(4);
        const Stream s = d.stream();
        std::vector<int> seen;
        s.call([&] { nap(), seen = x.download(); });
        inc(ndrange(4).on(s), y);
        EXPECT_EQ(y.download(), std::vector<int>(4, 1));
        EXPECT_EQ(seen, (std::vector<int>{1, 2, 3, 4}));
    });
}

TEST(Calls, DownloadOfSomethingLargeInsideACall) {
    in_time([] {
        const Device d = device();
        const int64_t n = 9'000'000;  // more than the memory through which copies pass
        const Array<int> x = d.full<int>(n, 7), y = d.zeros<int>(4);
        const Stream s = d.stream();
        int64_t right = 0;
        s.call([&] {
            nap();
            for (const int v : x.download()) right += v == 7;
        });
        inc(ndrange(4).on(s), y);
        EXPECT_EQ(y.download(), std::vector<int>(4, 1));
        EXPECT_EQ(right, n);
    });
}

TEST(Calls, UploadWhileAnotherThreadUploadsWhatComesAfter) {
    in_time([] {
        const Device d = device();
        const int64_t n = 60'000;  // small enough to be copied while the device uses the array
        const Array<int> x = d.zeros<int>(n), y = d.zeros<int>(n);
        const Stream s = d.stream();
        std::atomic<int> uploads = suite::is_checking_device() ? 100 : 0;  // it runs host functions at once
        s.call([&] {
            for (int wait = 0; wait < 50 && uploads < 90; ++wait) nap(20);
            x.copy_from(std::vector<int>(n, 3));
        });
        inc(ndrange(n).on(s), y);
        // More than the memory through which copies pass: some copies wait for others.
        std::thread other([&] {
            for (int k = 0; k < 100; ++k) y.copy_from(std::vector<int>(n, k)), ++uploads;
        });
        other.join();
        EXPECT_EQ(y.download(), std::vector<int>(n, 99));
        s.synchronize();
        EXPECT_EQ(x.download(), std::vector<int>(n, 3));
    });
}

TEST(Calls, ReportsWhileAnotherThreadWaitsForThoseThatComeAfter) {
    in_time([] {
        const Device d = device();
        Lines lines(d);
        const Array<int> x = d.upload<int>({1, 2, 3, 4});
        const Stream s = d.stream(), other = d.stream();
        const Event before = say(ndrange(4).on(s), x);
        s.call([&] { nap(), x.download(), say(ndrange(4).on(other), x); });
        say(ndrange(4).on(s), x);
        before.wait();
        EXPECT_GE(lines.count, 4);
        d.synchronize();
        EXPECT_EQ(lines.count, 12);
    });
}

/// The host function waits for lines that were printed before it, while lines printed after it are still pending.
TEST(Calls, AWaitInsideACallLeavesLaterReports) {
    in_time([] {
        const Device d = device();
        Lines lines(d);
        const Array<int> x = d.upload<int>({1, 2, 3, 4});
        const Stream s = d.stream();
        std::promise<void> given;
        const Event before = say(ndrange(4).on(s), x);
        if (!suite::is_checking_device()) {
            s.call([&] { given.get_future().wait(), before.wait(), x.download(); });
            say(ndrange(4).on(s), x);
            given.set_value();
        } else {  // runs host functions at once
            s.call([&] { before.wait(), x.download(); });
            say(ndrange(4).on(s), x);
        }
        EXPECT_NO_THROW(s.synchronize());
        EXPECT_EQ(lines.count, 8);
    });
}

TEST(Calls, ACallLaunchesOnOtherStreamsAndWaits) {
    in_time([] {
        const Device d = device();
        Lines lines(d);
        const Array<int> x = d.zeros<int>(4), y = d.zeros<int>(4), z = d.zeros<int>(4);
        const Stream s = d.stream(), own = d.stream();
        int sum = 0, called = 0;
        s.call([&] {
            nap();
            inc(ndrange(4).on(own), x).wait();
            inc(ndrange(4), z);
            sum += x.get(0) + z.get(3);
            z.copy_from(std::vector<int>(4, 10));
            inc(ndrange(4).on(own), z);
            own.call([&] { ++called; });
            own.synchronize();
            sum += z.get(1) + called;
            const Array<int> fresh = d.full<int>(4, 100), copy = fresh.clone();
            std::vector<int> later(4);
            copy.copy_to(later, own).wait();
            sum += later[2];
            say(ndrange(4).on(own), z).wait();
            sum += lines.count;
        });
        inc(ndrange(4).on(s), y);
        inc(ndrange(4).on(s), y);
        EXPECT_EQ(y.download(), std::vector<int>(4, 2));
        EXPECT_NO_THROW(s.synchronize());
        EXPECT_EQ(sum, 2 + 11 + 1 + 100 + 4);
    });
}

TEST(Calls, AWaitForTheCallItselfIsAnError) {
    in_time([] {
        const Device d = device();
        const Array<int> y = d.zeros<int>(4);
        const Stream s = d.stream(), other = d.stream();
        std::vector<std::string> messages(4);
        s.call([&] {
            messages[0] = suite::message_of([&] { s.synchronize(); });
            messages[1] = suite::message_of([&] { d.synchronize(); });
            messages[2] = suite::message_of([&] { s.record().wait(); });
            other.wait_for(s.record());
            messages[3] = suite::message_of([&] { inc(ndrange(4).on(other), y).wait(); });
        });
        s.synchronize();
        other.synchronize();
        for (int i = 0; i < 3; ++i) EXPECT_EQ(messages[size_t(i)], refused) << i;
        // The interpreter has finished everything for which the event could wait.
        if (!suite::is_checking_device()) { EXPECT_EQ(messages[3], refused); }
        EXPECT_EQ(y.download(), std::vector<int>(4, 1));
    });
}

TEST(Calls, AnErrorOfAWaitThatIsRefusedComesOutOfTheNextWait) {
    in_time([] {
        const Device d = device();
        const Stream s = d.stream();
        s.call([&] { s.synchronize(); });
        EXPECT_EQ(suite::message_of([&] { s.synchronize(); }), refused);
        EXPECT_NO_THROW(s.synchronize());
    });
}

TEST(Calls, AStreamEndsInsideItsOwnCall) {
    in_time([] {
        const Device d = device();
        const Array<int> y = d.zeros<int>(4);
        for (int k = 0; k < 10; ++k) {
            auto s = std::make_shared<Stream>(d.stream());
            std::promise<void> given;
            const bool at_once = suite::is_checking_device();
            Event called = s->call([&, held = s] {
                if (!at_once) given.get_future().wait();
                if (k % 2) held->release();
            });
            inc(ndrange(4), y);
            if (k % 2 == 0) s.reset();  // the host function has the last handle
            given.set_value();
            called.wait();
        }
        EXPECT_EQ(y.download(), std::vector<int>(4, 10));
    });
}

/// Four threads, each with its own streams and arrays, which host functions use, too.
TEST(Calls, RandomWorkOfSeveralThreads) {
    in_time([] {
        const Device d = device();
        Lines lines(d);
        std::atomic<int> wrong = 0, printed = 0;
        const auto work = [&](unsigned seed) {
            std::mt19937 random(seed);
            const Stream s = d.stream(Priority(seed % 3)), inner = d.stream();
            constexpr int64_t n = 5000;
            const Array<int> a = d.zeros<int>(n), b = d.zeros<int>(n),
                             c = d.zeros<int>(n);  // of s; of the default stream; of calls
            int in_a = 0, in_b = 0;
            auto in_c = std::make_shared<int>(0);
            std::vector<int> into(n);
            Event last;
            for (int round = 0; round < 120; ++round) {
                switch (random() % 10) {
                    case 0:
                    case 1: last = inc(ndrange(n).on(s), a), ++in_a; break;
                    case 2: inc(ndrange(n), b), ++in_b; break;
                    case 3: wrong += b.get(n - 1) != in_b; break;
                    case 4: wrong += b.download() != std::vector<int>(n, in_b); break;
                    case 5: in_b = round, b.copy_from(std::vector<int>(n, round)); break;
                    case 6: last.wait(); break;
                    case 7: say(ndrange(3).on(s), a), printed += 3; break;
                    case 8:
                        last = a.copy_to(into, s);
                        last = s.call([&, want = in_a] { wrong += into != std::vector<int>(n, want); });
                        break;
                    case 9:
                        s.call([&, in_c, kind = random() % 4] {
                            inc(ndrange(n).on(inner), c), ++*in_c;
                            if (kind == 0) wrong += c.download() != std::vector<int>(n, *in_c);
                            if (kind == 1) inner.synchronize(), c.copy_from(std::vector<int>(n, 50)), *in_c = 50;
                            if (kind == 2) say(ndrange(2).on(inner), c), printed += 2;
                            if (kind == 3) wrong += d.full<int>(9, 4).get(8) != 4;
                        });
                        break;
                }
            }
            s.synchronize();
            wrong += a.download() != std::vector<int>(n, in_a);
            wrong += c.download() != std::vector<int>(n, *in_c);
        };
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < 4; ++t) threads.emplace_back(work, t);
        for (std::thread& t : threads) t.join();
        d.synchronize();
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(lines.count, printed);
    });
}

}  // namespace
