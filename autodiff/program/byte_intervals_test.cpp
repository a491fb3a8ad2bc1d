#include "autodiff/program/byte_intervals.h"

#include <gtest/gtest.h>

using pumice::derive::ByteIntervals;

namespace {

std::string text_of(const ByteIntervals& set) {
    std::string s;
    for (const auto& i : set.all()) s += std::to_string(i.from) + "-" + std::to_string(i.to) + " ";
    return s;
}

TEST(ByteIntervals, AddJoinsNeighboursAndOverlaps) {
    ByteIntervals set;
    set.add(10, 20);
    set.add(30, 40);
    EXPECT_EQ(text_of(set), "10-20 30-40 ");
    set.add(20, 25);
    EXPECT_EQ(text_of(set), "10-25 30-40 ");
    set.add(5, 35);
    EXPECT_EQ(text_of(set), "5-40 ");
    set.add(7, 7);
    EXPECT_EQ(text_of(set), "5-40 ");
}

TEST(ByteIntervals, RemoveSplits) {
    ByteIntervals set;
    set.add(0, 100);
    set.remove(40, 60);
    EXPECT_EQ(text_of(set), "0-40 60-100 ");
    EXPECT_FALSE(set.meets(40, 60));
    EXPECT_TRUE(set.meets(39, 40));
    EXPECT_TRUE(set.meets(50, 61));
    set.remove(-5, 200);
    EXPECT_EQ(text_of(set), "");
}

}  // namespace
