#include "core/support/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace pumice {
namespace {

std::string of(std::initializer_list<std::string_view> parts) {
    Hash hash;
    for (const std::string_view part : parts) hash.add(part);
    return hash.text();
}

TEST(hash, is_the_same_in_every_run_and_on_every_machine) {
    EXPECT_EQ(of({"pumice"}), "e77f209f67885f713258247b0add48d0");
    EXPECT_EQ(of({"pumice"}).size(), 32u);
}

TEST(hash, depends_on_the_bounds_of_parts) {
    EXPECT_NE(of({"ab", "c"}), of({"a", "bc"}));
    EXPECT_NE(of({"ab"}), of({"ab", ""}));
    EXPECT_NE(of({""}), of({}));
    EXPECT_NE(of({std::string_view("a\0", 2)}), of({"a"}));
}

TEST(hash, has_no_collision_among_near_texts_in_either_half) {
    std::set<std::string> high, low;
    const int count = 100'000;
    for (int i = 0; i < count; ++i) {
        const std::string text = of({"kernel " + std::to_string(i)});
        high.insert(text.substr(0, 16));
        low.insert(text.substr(16));
    }
    EXPECT_EQ(high.size(), size_t(count));
    EXPECT_EQ(low.size(), size_t(count));
}

}  // namespace
}  // namespace pumice
