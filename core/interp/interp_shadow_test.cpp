// A cell of the shadow remembers a few accesses; these find every race that a record of all accesses would find.
#include "core/interp/interp_shadow.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace pumice::interp {
namespace {

struct Past {
    int launch, group;
    uint32_t epoch, item;
    Touch how;
    bool unchanged = false;
};

/// The definition: different items, no barrier between them, and one a plain write, or one plain and one atomic; two writes where
/// the second one changes the value.
bool races(const Past& a, const Past& b) {
    if (a.launch != b.launch) return false;
    if (a.group == b.group && (a.item == b.item || a.epoch != b.epoch)) return false;
    if (a.how == Touch::write && b.how == Touch::write) return !b.unchanged;
    return a.how != b.how;
}

TEST(interp_shadow, finds_the_races_of_random_accesses) {
    std::mt19937 random(7);
    const auto below = [&](uint32_t n) { return uint32_t(random() % n); };
    int found = 0, sound = 0;
    for (int trial = 0; trial < 200'000; ++trial) {
        Cell cell;
        Epochs epochs;
        std::vector<Past> all;
        const uint32_t writes = below(12), items = 1 + below(3), groups = 1 + below(3);  // few writes: longer histories
        bool raced = false;
        for (int launch = 0; launch < 2 && !raced; ++launch) {
            epochs.launch = epochs.now + 1;
            for (uint32_t group = 0; group < groups && !raced; ++group) {
                epochs.group = ++epochs.now;
                for (uint32_t phase = below(4) + 1; phase > 0 && !raced; --phase, epochs.now += phase > 0) {
                    for (uint32_t n = below(4); n > 0 && !raced; --n) {
                        const Touch how = below(12) < writes ? Touch::write : below(3) == 0 ? Touch::atomic : Touch::read;
                        const Past now{launch, int(group), epochs.now, below(items), how, below(4) > 0};
                        bool expected = false;
                        for (const Past& before : all) expected = expected || races(before, now);
                        Touch other;
                        const ShadowAccess* before = epochs.touch(cell, how, {now.epoch, now.item, 0}, now.unchanged, other);
                        ASSERT_EQ(before != nullptr, expected) << "trial " << trial;
                        if (before) {
                            bool real = false;
                            for (const Past& p : all)
                                real = real ||
                                       (p.epoch == before->when && p.item == before->item && p.how == other && races(p, now));
                            ASSERT_TRUE(real) << "it names an access that was none, trial " << trial;
                        }
                        all.push_back(now);
                        raced = expected;
                    }
                }
            }
        }
        (raced ? found : sound) += 1;
    }
    EXPECT_GT(found, 20'000);
    EXPECT_GT(sound, 20'000);
}

}  // namespace
}  // namespace pumice::interp
