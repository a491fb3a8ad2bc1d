// docs/glossary.md: there is a row for every pass, analysis, strategy, derivative rule, kind of memory access and stage of the
// emitters; and each of these files opens with a comment block that explains it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/docs/page.h"
#include "tests/source_folder.h"

namespace fs = std::filesystem;

namespace {

std::vector<docs::Row> rows() { return docs::Page("docs/glossary.md").table("| term | meaning | where |"); }

/// The lines of the comment block at the top of a file; 0 if there is no such file.
int opening_lines(const fs::path& file) {
    std::ifstream in(file);
    int lines = 0;
    for (std::string line; std::getline(in, line) && line.starts_with("//");) ++lines;
    return lines;
}

/// Calls f(path without extension) for each source that is no test in the folders of passes, analyses, strategies and stages.
template <class F> void each_stage(F&& f) {
    for (const char* folder :
         {"core/passes",    "core/lowering",    "core/analysis",    "core/verify",    "codegen/lowering",  "cpu/plan",
          "cpu/packet",     "cpu/arithmetic",   "cpu/address",      "cpu/access",     "cpu/reduction",     "cpu/width",
          "cpu/control",    "cpu/rows",         "cpu/emit",         "cpu/retarget",   "autodiff/analysis", "autodiff/strategy",
          "autodiff/sweep", "autodiff/reverse", "autodiff/forward", "autodiff/rules", "autodiff/api"})
        for (const auto& entry : fs::directory_iterator(source_folder() / folder)) {
            const std::string stem = entry.path().stem().string();
            if (entry.path().extension() == ".cpp" && !stem.ends_with("_test")) f(std::string(folder) + "/" + stem);
        }
}

TEST(Glossary, NamesEveryPassAnalysisStrategyAndStage) {
    std::string where;
    for (const docs::Row& row : rows()) where += row.at(2) + " ";
    int files = 0;
    each_stage([&](const std::string& path) {
        ++files;
        EXPECT_NE(where.find(path + "."), where.npos) << path << " has no row in docs/glossary.md";
    });
    EXPECT_GT(files, 80);
}

TEST(Glossary, FilesOfItsRowsOpenWithAnExplanation) {
    constexpr int least = 8;
    each_stage([&](const std::string& path) {
        const fs::path file = source_folder() / path;
        const int lines = std::max(opening_lines(file.string() + ".cpp"), opening_lines(file.string() + ".h"));
        EXPECT_GE(lines, least) << path
                                << ": neither source nor header opens with what it does, why, an example, cost and limits";
    });
}

TEST(Glossary, EveryPassHasAHeader) {
    for (const char* folder : {"core/passes", "core/lowering"})
        for (const auto& entry : fs::directory_iterator(source_folder() / folder)) {
            fs::path file = entry.path();
            if (file.extension() != ".cpp" || file.stem().string().ends_with("_test")) continue;
            EXPECT_TRUE(fs::exists(file.replace_extension(".h"))) << file;
        }
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
