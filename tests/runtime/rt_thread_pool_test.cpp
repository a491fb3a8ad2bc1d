// The threads of the runtime's device cpu: parts of jobs, and threads that leave a job for a more urgent one.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/cpu/rt_thread_pool.h"

namespace pumice_rt {
namespace {

constexpr int low = 0, normal = 1, high = 2;

/// True once the condition holds; false after 20 s.
template <class F> bool comes(const F& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

struct RtPool : testing::Test {
    void SetUp() override { ASSERT_EQ(pool.start(3), PUMICE_OK); }
    pumice_hooks hooks = {};
    ThreadPool pool{hooks};
};

TEST_F(RtPool, JobsOfAllPrioritiesRunEachPartOnce) {
    std::vector<std::thread> callers;
    std::atomic<int> wrong = 0;
    for (int caller = 0; caller < 6; ++caller)
        callers.emplace_back([&, caller] {
            for (int round = 0; round < 2000; ++round) {
                std::atomic<int> runs[7] = {};
                pool.run(7, [](void* all, int part) { ++static_cast<std::atomic<int>*>(all)[part]; }, runs, caller % 3);
                for (const std::atomic<int>& one : runs) wrong += one != 1;
            }
        });
    for (std::thread& one : callers) one.join();
    EXPECT_EQ(wrong, 0);
}

/// Items that are taken one by one, by a body that leaves for more urgent jobs.
struct Items {
    ThreadPool& pool;
    const int priority;
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> next = 0, done = 0, left = 0, helpers = 0;
    std::atomic<bool> slow = true;
    static constexpr int count = 20'000;

    static void body(void* self, int part) { static_cast<Items*>(self)->take(part); }
    void take(int part) {
        const bool helps = std::this_thread::get_id() != caller;
        helpers += helps;
        while (next < count) {
            if (next.fetch_add(1) >= count) break;
            ++done;
            if (slow) std::this_thread::sleep_for(std::chrono::microseconds(100));
            if (!helps || !pool.urgent(priority)) continue;
            pool.leave(priority, part);
            ++left, --helpers;
            return;
        }
        helpers -= helps;
    }
};

TEST_F(RtPool, ThreadsLeaveAJobForAMoreUrgentOneAndComeBack) {
    Items items{pool, low};
    std::atomic<int> together = 0;
    std::atomic<bool> met = false, came_back = false;
    std::thread urgent([&] {
        ASSERT_TRUE(comes([&] { return items.helpers == 2; }));
        struct Both {
            std::atomic<int>& here;
            std::atomic<bool> ok = true;
        } both{together};
        // Each part waits for the others: three threads run them, of which the low job had two.
        pool.run(
            3,
            [](void* of, int) {
                Both& b = *static_cast<Both*>(of);
                ++b.here;
                if (!comes([&] { return b.here == 3; })) b.ok = false;
            },
            &both, high);
        met = both.ok.load();
        came_back = comes([&] { return items.helpers > 0 || items.done >= Items::count; });
        items.slow = false;
    });
    pool.run(3, Items::body, &items, low);
    urgent.join();
    EXPECT_TRUE(met);
    EXPECT_TRUE(came_back);
    EXPECT_GE(items.left, 2);
    EXPECT_EQ(items.done, Items::count);
}

TEST_F(RtPool, NoThreadLeavesForAJobOfItsPriority) {
    Items items{pool, normal};
    std::thread other([&] {
        ASSERT_TRUE(comes([&] { return items.helpers == 2; }));
        std::atomic<int> parts = 0;
        for (const int priority : {normal, low})
            pool.run(3, [](void* n, int) { ++*static_cast<std::atomic<int>*>(n); }, &parts, priority);
        EXPECT_EQ(parts, 6);
        items.slow = false;
    });
    pool.run(3, Items::body, &items, normal);
    other.join();
    EXPECT_EQ(items.left, 0);
    EXPECT_EQ(items.done, Items::count);
}

}  // namespace
}  // namespace pumice_rt
