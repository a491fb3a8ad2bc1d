#include "cpu/threads/background_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <set>
#include <thread>
#include <vector>

namespace pumice::cpu {
namespace {

TEST(BackgroundTasks, BeginInOrder) {
    std::vector<int> order;
    std::set<std::thread::id> threads;
    {
        BackgroundTasks tasks(1);
        for (int n = 0; n < 100; ++n)
            EXPECT_TRUE(tasks.add([&, n] {
                order.push_back(n);
                threads.insert(std::this_thread::get_id());
            }));
    }
    ASSERT_EQ(order.size(), 100u);  // the destructor does what is left
    EXPECT_TRUE(std::ranges::is_sorted(order));
    EXPECT_EQ(threads.size(), 1u);
    EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
}

/// A task that waits for a later one ends if there are two threads.
TEST(BackgroundTasks, RunBesideEachOther) {
    BackgroundTasks tasks(2);
    std::promise<void> first, second;
    tasks.add([&] { second.get_future().wait(), first.set_value(); });
    tasks.add([&] { second.set_value(); });
    first.get_future().wait();
}

}  // namespace
}  // namespace pumice::cpu
