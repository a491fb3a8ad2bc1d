#include "cpu/threads/wake_affinity.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace pumice::cpu {
namespace {

/// The processors on which a thread may run; 0: the calling thread.
cpu_set_t allowed(pid_t thread) {
    cpu_set_t set;
    EXPECT_EQ(sched_getaffinity(thread, sizeof set, &set), 0);
    return set;
}

cpu_set_t only(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return set;
}

cpu_set_t without(cpu_set_t set, int processor) {
    CPU_CLR(processor, &set);
    return set;
}

bool same(const cpu_set_t& a, const cpu_set_t& b) { return CPU_EQUAL(&a, &b); }

/// A thread that works and sleeps on request, beside a thread that stays on its processor.
class WakeAffinityTest : public testing::Test {
protected:
    void SetUp() override {
        const int n = CPU_COUNT(&all);
        if (n < 2 || n > 8) GTEST_SKIP() << "the test is for two to eight processors, and here are " << n;
        worker = std::thread([this] {
            id = gettid();
            while (next()) {
                const BusyThread busy;
                next();
            }
        });
        while (steps == 0) std::this_thread::yield();
        const cpu_set_t one = only(here);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    }
    void TearDown() override {
        if (!worker.joinable()) return;
        end = true;
        step();
        worker.join();
        sched_setaffinity(0, sizeof all, &all);
    }
    /// Changes from sleeping to working, or back.
    void step() {
        const int before = steps;
        told.fetch_add(1);
        told.notify_all();
        while (!end && steps == before) std::this_thread::yield();
    }
    bool next() {
        const int done = steps.fetch_add(1);
        if (!end) told.wait(done);
        return !end;
    }

    const cpu_set_t all = allowed(0);
    const int here = sched_getcpu();
    std::thread worker;
    std::atomic<pid_t> id = 0;
    std::atomic<int> told = 0, steps = 0;
    std::atomic<bool> end = false;
};

TEST_F(WakeAffinityTest, ASleepingThreadIsWokenOnAnotherProcessorAndThenFreed) {
    wake_elsewhere();
    EXPECT_TRUE(same(allowed(id), all));  // it has never worked
    step();
    wake_elsewhere();
    EXPECT_TRUE(same(allowed(id), all));  // it works
    for (int round = 0; round < 3; ++round) {
        step();
        for (int twice = 0; twice < 2; ++twice) {
            wake_elsewhere();
            EXPECT_TRUE(same(allowed(id), without(all, here)));
        }
        step();
        EXPECT_TRUE(same(allowed(id), all));
    }
    step();
    wake_elsewhere();
    wake_anywhere();
    EXPECT_TRUE(same(allowed(id), all));
    EXPECT_TRUE(same(allowed(0), only(here)));
}

TEST_F(WakeAffinityTest, AffinitySetByOthersIsKept) {
    step();
    step();
    wake_elsewhere();
    const cpu_set_t mine = only(here);
    ASSERT_EQ(sched_setaffinity(id, sizeof mine, &mine), 0);
    wake_elsewhere();
    EXPECT_TRUE(same(allowed(id), mine));
    step();
    EXPECT_TRUE(same(allowed(id), mine));
}

}  // namespace
}  // namespace pumice::cpu
#endif
