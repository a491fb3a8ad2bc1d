#include "cpu/threads/cpu_streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace pumice::cpu {
namespace {

/// Work that calls a function, at a cost that the test chooses.
struct Act final : Work {
    Act(std::function<void(const WorkerThreads&)> act, double ns) : act(std::move(act)), ns(ns) {}
    void run(const WorkerThreads& workers) override { act(workers); }
    double cost() const override { return ns; }
    std::function<void(const WorkerThreads&)> act;
    double ns;
};

/// Work that may run together with the work after it.
struct Joint final : Work {
    Joint(std::string name, std::vector<std::string>& log) : name(std::move(name)), log(log) {}
    void run(const WorkerThreads&) override {
        log.push_back(name);
        if (name == "bad") throw Error("a fault");
    }
    std::unique_ptr<Work> with(const Work& next, int threads) const override {
        EXPECT_EQ(threads, 3);
        const auto* other = dynamic_cast<const Joint*>(&next);
        return other ? std::make_unique<Joint>(name == "bad" ? name : name + other->name, log) : nullptr;
    }
    double cost() const override { return 1e6; }
    std::string name;
    std::vector<std::string>& log;
};

constexpr double tiny = 10, some = 10'000, medium = 50'000, heavy = 1e6;

class StreamsTest : public testing::Test {
protected:
    StreamPoint give(int stream, double cost, std::function<void(const WorkerThreads&)> act, std::vector<StreamPoint> after = {},
                     bool followed = false) {
        Act work(std::move(act), cost);
        std::unique_lock lock(streams.mutex);
        CpuStream& on = streams[stream];
        const uint64_t number =
            streams.submit(on, work, std::move(after), [&] { return std::make_unique<Act>(std::move(work)); }, lock, followed);
        return {&on, number};
    }
    StreamPoint give_joint(const std::string& name, bool followed) {
        Joint work(name, joint);
        std::unique_lock lock(streams.mutex);
        const uint64_t number =
            streams.submit(streams[0], work, {}, [&] { return std::make_unique<Joint>(std::move(work)); }, lock, followed);
        return {&streams[0], number};
    }
    std::vector<std::string> joint;  ///< what was run
    /// Lets other threads run until the condition holds, for two minutes at most.
    template <class F> static bool comes(F&& holds) {
        for (int k = 0; k < 24'000 && !holds(); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return holds();
    }

    ThreadPool thread_pool{3, false};
    Streams streams{thread_pool};
};

TEST_F(StreamsTest, TinyWorkRunsOnTheCallersThread) {
    std::thread::id by;
    const StreamPoint point = give(0, tiny, [&](const WorkerThreads&) { by = std::this_thread::get_id(); });
    EXPECT_TRUE(point.reached());
    EXPECT_EQ(by, std::this_thread::get_id());
}

TEST_F(StreamsTest, AStreamKeepsItsOrderWhateverTheWorkCosts) {
    std::vector<int> order;
    StreamPoint last;
    for (int k = 0; k < 600; ++k)
        last = give(0, k % 3 == 0 ? tiny : k % 7 == 0 ? heavy : some, [&order, k](const WorkerThreads&) { order.push_back(k); });
    streams.wait(last);
    ASSERT_EQ(order.size(), 600u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(StreamsTest, HeavyWorkBeginsWithoutAWaiter) {
    std::atomic<bool> done = false;
    give(0, heavy, [&](const WorkerThreads&) { done = true; });
    EXPECT_TRUE(comes([&] { return done.load(); }));
}

TEST_F(StreamsTest, SmallWorkBehindOtherWorkRunsWhenSomebodyWaits) {
    // The first is held back for a follower, so the second may not run at once.
    std::thread::id by;
    give(0, some, [](const WorkerThreads&) {}, {}, true);
    const StreamPoint point = give(0, tiny, [&](const WorkerThreads&) { by = std::this_thread::get_id(); });
    EXPECT_FALSE(point.reached());
    streams.wait(point);
    EXPECT_EQ(by, std::this_thread::get_id());
    // A poll is enough, too.
    give(0, some, [](const WorkerThreads&) {}, {}, true);
    const StreamPoint other = give(0, tiny, [](const WorkerThreads&) {});
    EXPECT_FALSE(other.reached());
    EXPECT_TRUE(comes([&] { return streams.poll(other); }));
}

TEST_F(StreamsTest, WorkOnTheCallersThreadIsSharedWithThreadsThatAreAwake) {
    std::atomic<int64_t> sum = 0;
    const StreamPoint point = give(0, some, [&](const WorkerThreads& workers) {
        workers.run(1000, 1, [&](int64_t first, int64_t count) {
            for (int64_t i = first; i < first + count; ++i) sum += i;
        });
    });
    EXPECT_TRUE(point.reached());
    EXPECT_EQ(sum, 499'500);
}

TEST(OneThread, DoesMoreOnTheCallersThread) {
    ThreadPool one{1, false};
    Streams streams(one);
    std::thread::id by;
    const auto give = [&](double cost) {
        Act work([&](const WorkerThreads&) { by = std::this_thread::get_id(); }, cost);
        std::unique_lock lock(streams.mutex);
        streams.submit(streams[0], work, {}, [&] { return std::make_unique<Act>(std::move(work)); }, lock);
        return streams.standard_is_settled();
    };
    EXPECT_TRUE(streams.standard_is_settled());
    EXPECT_TRUE(give(medium));
    EXPECT_EQ(by, std::this_thread::get_id());
    give(heavy);
    streams.finish();
    EXPECT_TRUE(streams.standard_is_settled());
}

TEST_F(StreamsTest, WorkWaitsForPointsOfOtherStreams) {
    const int a = streams.create(Priority::high), b = streams.create(Priority::low);
    std::vector<int> order;
    for (int k = 0; k < 200; ++k) {
        const double cost = k % 2 ? some : heavy;
        streams.wait_for(b, give(a, cost, [&order, k](const WorkerThreads&) { order.push_back(2 * k); }));
        streams.wait_for(a, give(b, cost, [&order, k](const WorkerThreads&) { order.push_back(2 * k + 1); }));
    }
    streams.wait(streams.last(b));
    ASSERT_EQ(order.size(), 400u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(StreamsTest, AFaultComesOutOfTheNextWaitOnceAndTheStreamGoesOn) {
    int after = 0;
    const StreamPoint bad = give(0, some, [](const WorkerThreads&) { throw Error("a fault"); });
    const StreamPoint good = give(0, some, [&](const WorkerThreads&) { ++after; });
    EXPECT_THROW(
        try { streams.wait(bad); } catch (const Error& e) {
            EXPECT_STREQ(e.what(), "a fault");
            throw;
        },
        Error);
    EXPECT_NO_THROW(streams.wait(good));
    EXPECT_EQ(after, 1);
    const StreamPoint another = give(0, tiny, [](const WorkerThreads&) { throw Error("another"); });
    EXPECT_TRUE(another.reached());
    EXPECT_FALSE(another.settled());
    EXPECT_FALSE(streams.standard_is_settled());
    EXPECT_THROW(streams.finish(), Error);
    EXPECT_TRUE(another.settled());
    EXPECT_NO_THROW(streams.finish());
}

TEST_F(StreamsTest, AWaitingThreadHelpsWithTheWork) {
    std::atomic<int64_t> sum = 0;
    for (int k = 0; k < 50; ++k) {
        const StreamPoint point = give(0, heavy, [&](const WorkerThreads& workers) {
            workers.run(1000, 1, [&](int64_t first, int64_t count) {
                for (int64_t i = first; i < first + count; ++i) sum += i;
            });
        });
        streams.wait(point);
        EXPECT_EQ(sum, (k + 1) * 499'500);
    }
}

TEST_F(StreamsTest, ManyThreadsSubmitAndWait) {
    std::atomic<int> done = 0;
    int in_order = 0;  // only used on stream 0
    std::vector<int> own;
    for (int t = 0; t < 6; ++t) own.push_back(streams.create(Priority(t % 3)));
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
        threads.emplace_back([&, t] {
            StreamPoint last;
            for (int k = 0; k < 300; ++k) {
                const double cost = k % 5 == 0 ? heavy : k % 5 == 1 ? medium : k % 2 ? tiny : some;
                last = give(own[size_t(t)], cost, [&](const WorkerThreads&) { ++done; });
                const StreamPoint shared = give(0, cost, [&](const WorkerThreads&) { ++in_order, ++done; }, {last});
                if (k % 50 == t) streams.wait(shared);
                streams.poll(last);
            }
        });
    for (std::thread& thread : threads) thread.join();
    streams.finish();
    EXPECT_EQ(done, 2 * 6 * 300);
    EXPECT_EQ(in_order, 6 * 300);
}

TEST_F(StreamsTest, ReleasedStreamsFinishAndAreUsedAgain) {
    std::atomic<int> done = 0;
    const int first = streams.create(Priority::normal);
    for (int k = 0; k < 20; ++k) give(first, some, [&](const WorkerThreads&) { ++done; });
    streams.release(first);
    EXPECT_EQ(streams.create(Priority::low), first);
    EXPECT_TRUE(comes([&] { return done == 20; }));
}

TEST_F(StreamsTest, HintedWorkRunsTogetherWithItsFollower) {
    const StreamPoint first = give_joint("a", true);
    streams.wait(give_joint("b", false));
    EXPECT_TRUE(first.reached());
    EXPECT_EQ(joint, std::vector<std::string>{"ab"});
}

TEST_F(StreamsTest, HintedWorkRunsAloneWithoutAFollower) {
    streams.wait(give_joint("a", true));
    give_joint("b", true);
    streams.wait(give(0, tiny, [](const WorkerThreads&) {}));
    EXPECT_EQ(joint, (std::vector<std::string>{"a", "b"}));
    const StreamPoint third = give_joint("c", true);
    EXPECT_TRUE(comes([&] { return streams.poll(third); }));
}

TEST_F(StreamsTest, HintedWorkDoesNotWaitForDependencesOfItsFollower) {
    std::atomic<bool> go = false;
    const int other = streams.create(Priority::normal);
    const StreamPoint gate = give(other, heavy, [&](const WorkerThreads&) {
        while (!go) std::this_thread::yield();
    });
    const StreamPoint first = give_joint("a", true);
    streams.wait_for(0, gate);
    const StreamPoint second = give_joint("b", false);
    streams.wait(first);
    EXPECT_FALSE(second.reached());
    go = true;
    streams.wait(second);
    EXPECT_EQ(joint, (std::vector<std::string>{"a", "b"}));
}

TEST_F(StreamsTest, FaultsOfHintedWorkReachTheWaiter) {
    const StreamPoint first = give_joint("bad", true), second = give_joint("b", false);
    streams.poll(second);
    EXPECT_TRUE(comes([&] { return second.reached(); }));
    EXPECT_THROW(streams.wait(first), Error);
    EXPECT_NO_THROW(streams.wait(second));
}

TEST_F(StreamsTest, WorkMaySubmitMoreWork) {
    int steps = 0;
    std::function<void(const WorkerThreads&)> next = [&](const WorkerThreads&) {
        if (++steps < 100) give(0, steps % 2 ? tiny : some, next);
    };
    give(0, some, next);
    for (int k = 0; k < 200; ++k) streams.finish();
    EXPECT_EQ(steps, 100);
}

}  // namespace
}  // namespace pumice::cpu
