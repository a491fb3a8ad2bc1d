// docs/adding-a-scalar-type.md: its table of places in the back ends is complete, and each file has the names of its row.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/docs/page.h"
#include "tests/docs/source_code.h"
#include "tests/source_folder.h"

namespace {

namespace fs = std::filesystem;

std::vector<docs::Row> rows() { return docs::Page("docs/adding-a-scalar-type.md").table("| where | names | `bfloat16` |"); }

TEST(ScalarTypePage, FilesHaveTheNamesOfTheirRows) {
    for (const docs::Row& row : rows()) {
        ASSERT_EQ(row.size(), 3u) << row.at(0);
        EXPECT_TRUE(docs::has_name(docs::code_of(row[0]), row[1])) << row[0] << " has no " << row[1];
    }
}

TEST(ScalarTypePage, EveryBackEndFileThatNamesTheTypeHasARow) {
    std::set<std::string> told;
    for (const docs::Row& row : rows()) told.insert(row.at(0));
    int files = 0;
    for (const char* root : {"codegen", "cpu", "vulkan", "shaders"})
        for (const auto& entry : fs::recursive_directory_iterator(source_folder() / root)) {
            const std::string path = fs::relative(entry.path(), source_folder()).string();
            if (!entry.is_regular_file() || path.ends_with(".md") || path.find("_test.") != path.npos) continue;
            if (docs::code_of(path).find("bf16") == std::string::npos) continue;
            ++files;
            EXPECT_TRUE(told.count(path)) << path << " names bf16 and has no row in docs/adding-a-scalar-type.md";
        }
    EXPECT_GT(files, 8);
}

}  // namespace
