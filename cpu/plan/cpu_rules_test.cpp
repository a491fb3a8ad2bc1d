#include "cpu/plan/cpu_rules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/support/error.h"
#include "tests/source_folder.h"

namespace pumice::cpu {
namespace {

TEST(CpuRules, AreTurnedOffByName) {
    const Rules all, none = rules_without("all"), two = rules_without("streaming_stores,,software_prefetch");
    for (size_t r = 0; r < rule_texts().size(); ++r) {
        EXPECT_TRUE(all.has(Rule(r)));
        EXPECT_FALSE(none.has(Rule(r)));
        EXPECT_EQ(two.has(Rule(r)), Rule(r) != Rule::streaming_stores && Rule(r) != Rule::software_prefetch);
        EXPECT_NE(all.without(Rule(r)).off, all.off);
    }
    EXPECT_EQ(rules_without("").off, all.off);
}

TEST(CpuRules, AreReadWhereTheirRowsSay) {
    // Each rule is asked for in the back end, and the file of its row is there.
    std::string sources;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() / "cpu"))
        if (entry.path().extension() == ".cpp" && entry.path().string().find("_test.cpp") == std::string::npos) {
            std::ifstream file(entry.path());
            sources.append(std::istreambuf_iterator<char>(file), {});
        }
    for (const RuleText& rule : rule_texts()) {
        EXPECT_NE(sources.find(text("has(Rule::", rule.name, ")")), std::string::npos) << rule.name;
        EXPECT_TRUE(std::filesystem::exists(source_folder() / rule.file)) << rule.file;
    }
}

TEST(CpuRules, AnUnknownNameIsAnErrorWithTheNames) {
    try {
        rules_without("prefetch");
        FAIL();
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("\"prefetch\", which is no rule of the device cpu; the rules are interleaving, "),
                  std::string::npos)
            << e.what();
    }
}

}  // namespace
}  // namespace pumice::cpu
