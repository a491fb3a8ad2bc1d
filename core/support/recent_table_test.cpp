#include "core/support/recent_table.h"

#include <gtest/gtest.h>

#include <set>

namespace pumice {
namespace {

TEST(RecentTable, FindsWhatWasAdded) {
    RecentTable<int> table;
    EXPECT_EQ(table.find(7, [](int) { return true; }), nullptr);
    for (int i = 0; i < 500; ++i) {
        const uint64_t hash = hash_with(1, uint64_t(i));
        EXPECT_TRUE(table.takes_more(hash));
        EXPECT_EQ(table.add(hash, i), std::nullopt);
    }
    for (int i = 0; i < 500; ++i) {
        int* const found = table.find(hash_with(1, uint64_t(i)), [&](int value) { return value == i; });
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(*found, i);
    }
}

TEST(RecentTable, ValuesOfOneHashAreToldApart) {
    RecentTable<int> table;
    for (int i = 0; i < 5; ++i) table.add(3, i);
    EXPECT_EQ(*table.find(3, [](int value) { return value == 4; }), 4);
    EXPECT_EQ(table.find(3, [](int value) { return value == 5; }), nullptr);
}

TEST(RecentTable, AFullTableReplacesOneValueIn16Misses) {
    RecentTable<int> table;
    std::set<int> inside;
    int added = 0;
    for (int i = 0; i < 20'000; ++i) {
        const uint64_t hash = hash_with(2, uint64_t(i));
        if (!table.takes_more(hash)) continue;
        inside.insert(i), ++added;
        const std::optional<int> out = table.add(hash, i);
        if (out) inside.erase(*out);
    }
    EXPECT_EQ(inside.size(), 1024u);
    EXPECT_NEAR(added, 1024 + (20'000 - 1024) / 16, 300);
    for (const int i : inside)
        EXPECT_NE(table.find(hash_with(2, uint64_t(i)), [&](int value) { return value == i; }), nullptr) << i;
}

TEST(RecentTable, TakenValuesAreGone) {
    RecentTable<int> table;
    for (int i = 0; i < 6; ++i) table.add(4, i);
    EXPECT_EQ(table.take(4, [](int value) { return value == 2; }), 2);
    EXPECT_EQ(table.take(4, [](int value) { return value == 2; }), std::nullopt);
    EXPECT_EQ(table.take(4, [](int value) { return value == 5; }), 5);
    for (const int i : {0, 1, 3, 4}) EXPECT_NE(table.find(4, [&](int value) { return value == i; }), nullptr) << i;
}

TEST(RecentTable, MoreValuesOfOneHashThanAreKept) {
    RecentTable<int> table;
    int out = 0;
    for (int i = 0; i < 100; ++i) out += table.add(5, i).has_value();
    EXPECT_EQ(out, 92);
}

}  // namespace
}  // namespace pumice
