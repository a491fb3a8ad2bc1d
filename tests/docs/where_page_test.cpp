// docs/where.md: every file that it names exists, and its code has the names behind it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/docs/page.h"
#include "tests/docs/source_code.h"
#include "tests/source_folder.h"

namespace {

std::vector<std::string> split(const std::string& text, const std::string& by) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(by, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + by.size();
    }
    return parts;
}

TEST(WherePage, NamesWhatTheFilesHave) {
    int files = 0;
    for (const docs::Row& row : docs::Page("docs/where.md").table("| what | where |"))
        for (const std::string& place : split(row.at(1), "; ")) {
            const std::vector<std::string> parts = split(place, ": ");
            for (const std::string& file : split(parts[0], ", ")) {
                EXPECT_TRUE(std::filesystem::exists(source_folder() / file)) << file;
                ++files;
                if (parts.size() < 2) continue;
                const std::string code = docs::code_of(file);
                for (const std::string& name : split(parts[1], ", "))
                    EXPECT_TRUE(docs::has_name(code, name)) << file << " has no " << name;
            }
        }
    EXPECT_GT(files, 40);
}

}  // namespace
