#include "cpu/threads/thread_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

namespace pumice::cpu {
namespace {

TEST(ThreadPoolTest, EveryIndexIsDoneOnce) {
    for (const int threads : {1, 2, 5})
        for (const bool fixed : {false, true}) {
            ThreadPool thread_pool(threads, fixed);
            for (const int64_t count : {1, 2, 7, 1000, 100'000}) {
                std::vector<std::atomic<int>> times(static_cast<size_t>(count));
                thread_pool.run(Priority::normal, count, 1, [&](int64_t first, int64_t n) {
                    for (int64_t i = first; i < first + n; ++i) ++times[size_t(i)];
                });
                for (const auto& t : times) ASSERT_EQ(t, 1);
            }
        }
}

TEST(ThreadPoolTest, PartsRunBackwardsFromTheirEnds) {
    using Ranges = std::vector<std::pair<int64_t, int64_t>>;
    const auto taken = [](int64_t chunk, Order order) {
        Ranges ranges;
        Job(10, 2, chunk, [&](int64_t first, int64_t n) { ranges.push_back({first, n}); }, order).participate(0);
        return ranges;
    };
    EXPECT_EQ(taken(2, Order::forwards), (Ranges{{0, 2}, {2, 2}, {4, 1}, {5, 2}, {7, 2}, {9, 1}}));
    EXPECT_EQ(taken(2, Order::backwards), (Ranges{{3, 2}, {1, 2}, {0, 1}, {8, 2}, {6, 2}, {5, 1}}));
    EXPECT_EQ(taken(0, Order::backwards), (Ranges{{0, 5}, {5, 5}}));
}

TEST(ThreadPoolTest, LittleWorkStaysOnTheCallersThread) {
    ThreadPool thread_pool(4, false);
    std::set<std::thread::id> ids;
    thread_pool.run(Priority::normal, 100, 100, [&](int64_t, int64_t) { ids.insert(std::this_thread::get_id()); });
    EXPECT_EQ(ids, std::set{std::this_thread::get_id()});
}

TEST(ThreadPoolTest, FixedPartsAreTheSameEveryTime) {
    ThreadPool thread_pool(3, true);
    for (int round = 0; round < 20; ++round) {
        std::mutex mutex;
        std::set<std::pair<int64_t, int64_t>> ranges;
        thread_pool.run(Priority::high, 1000, 1, [&](int64_t first, int64_t n) {
            const std::lock_guard lock(mutex);
            ranges.insert({first, n});
        });
        EXPECT_EQ(ranges, (std::set<std::pair<int64_t, int64_t>>{{0, 333}, {333, 333}, {666, 334}}));
    }
}

TEST(ThreadPoolTest, LateThreadsFindNoWork) {
    Job job(10, 2, 1, [](int64_t, int64_t) {});
    EXPECT_TRUE(job.participate(1));
    job.finish();
    EXPECT_TRUE(job.participate(0));
}

TEST(ThreadPoolTest, AThreadLeavesAJobForMoreUrgentWork) {
    std::atomic<int> done = 0;
    Job job(10, 1, 1, [&](int64_t, int64_t) { ++done; });
    EXPECT_FALSE(job.participate(0, [&] { return done == 4; }));
    EXPECT_EQ(done, 4);
    EXPECT_TRUE(job.participate(0));
    job.finish();
    EXPECT_EQ(done, 10);
}

TEST(ThreadPoolTest, EnqueuedWorkRunsWithoutAWaiter) {
    for (const int threads : {1, 3}) {
        ThreadPool thread_pool(threads, false);
        std::atomic<int> done = 0;
        for (const Priority priority : {Priority::low, Priority::normal, Priority::high})
            thread_pool.enqueue(priority, 0, [&] { ++done; });
        for (int k = 0; k < 24'000 && done < 3; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        EXPECT_EQ(done, 3);
    }
}

TEST(ThreadPoolTest, JobsStartNoThreads) {
    ThreadPool thread_pool(4, false);
    std::mutex mutex;
    std::set<long> ids;  // the system does not reuse these ids
    for (int round = 0; round < 300; ++round)
        thread_pool.run(Priority(round % 3), 1000, 1, [&](int64_t, int64_t) {
            const std::lock_guard lock(mutex);
            ids.insert(gettid());
        });
    EXPECT_LE(ids.size(), std::max(std::thread::hardware_concurrency(), 8u));
}

TEST(ThreadPoolTest, UrgentWorkComesFirst) {
    ThreadPool thread_pool(1, false);  // each arena has one thread of oneTBB's
    int first = 0;
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> busy = false, go = false;
        std::atomic<int> done = 0, low = 0, high = 0;
        thread_pool.enqueue(Priority::low, 1e6, [&] {
            busy = true;
            while (!go) std::this_thread::yield();
            ++done;
        });
        while (!busy) std::this_thread::yield();
        thread_pool.enqueue(Priority::low, 1e6, [&] { low = ++done; });
        thread_pool.enqueue(Priority::high, 1e6, [&] { high = ++done; });
        go = true;
        for (int k = 0; k < 120'000 && done < 3; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EXPECT_EQ(done, 3) << "round " << round;
        first += high < low;
    }
    EXPECT_GT(first, 10) << "of 20 rounds: a busy machine may start a thread late";
}

}  // namespace
}  // namespace pumice::cpu
