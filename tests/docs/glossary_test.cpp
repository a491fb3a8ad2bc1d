// docs/glossary.md: there is a row for every pass, analysis, strategy and kind of memory access.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/docs/page.h"
#include "tests/source_folder.h"

using namespace pumice;
namespace fs = std::filesystem;

namespace {

std::vector<docs::Row> rows() { return docs::Page("docs/glossary.md").table("| term | meaning | where |"); }

TEST(Glossary, NamesEveryPassAnalysisAndStrategy) {
    std::string where;
    for (const docs::Row& row : rows()) where += row.at(2) + " ";
    int files = 0;
    for (const char* folder : {"core/passes", "core/analysis", "codegen/lowering", "cpu/plan", "cpu/access", "autodiff/analysis",
                               "autodiff/strategy", "autodiff/reverse"})
        for (const auto& entry : fs::directory_iterator(source_folder() / folder)) {
            const std::string stem = entry.path().stem().string();
            if (entry.path().extension() != ".cpp" || stem.ends_with("_test")) continue;
            ++files;
            EXPECT_NE(where.find(std::string(folder) + "/" + stem + "."), where.npos)
                << folder << "/" << stem << " has no row in docs/glossary.md";
        }
    EXPECT_GT(files, 60);
}

TEST(Glossary, IsSortedAndSaysEachTermOnce) {
    std::vector<std::string> terms;
    for (const docs::Row& row : rows()) {
        ASSERT_EQ(row.size(), 3u);
        std::string term = row[0];
        std::transform(term.begin(), term.end(), term.begin(),
                       [](unsigned char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : char(c); });
        terms.push_back(term);
        EXPECT_FALSE(row[1].empty()) << term;
    }
    EXPECT_TRUE(std::is_sorted(terms.begin(), terms.end())) << *std::is_sorted_until(terms.begin(), terms.end());
    EXPECT_EQ(std::adjacent_find(terms.begin(), terms.end()), terms.end());
}

}  // namespace
