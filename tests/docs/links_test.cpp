// The files and folders that the pages name exist, and every page can be reached from README.md.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "tests/docs/page.h"
#include "tests/source_folder.h"

namespace {

namespace fs = std::filesystem;

/// All matches of the pattern's first group in the text.
std::set<std::string> all_matches(const std::string& text, const std::string& pattern) {
    std::set<std::string> found;
    const std::regex regex(pattern);
    for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i) found.insert((*i)[1]);
    return found;
}

/// The page without its blocks of code.
std::string prose(const std::string& page) {
    std::string out, rest = docs::Page(page).text();
    for (size_t fence; (fence = rest.find("\n```")) != rest.npos;) {
        out += rest.substr(0, fence);
        rest.erase(0, rest.find("\n```\n", fence + 1) + 4);
    }
    return out + rest;
}

class EachPage : public testing::TestWithParam<std::string> {};

TEST_P(EachPage, LinksLeadSomewhere) {
    const fs::path folder = (source_folder() / GetParam()).parent_path();
    for (const std::string& link : all_matches(prose(GetParam()), R"(\]\(([^)#]+)\))"))
        EXPECT_TRUE(link.starts_with("http") || fs::exists(folder / link)) << GetParam() << " links " << link;
}

TEST_P(EachPage, FilesItNamesAreThere) {
    // `core/ir/ops.def`, `core/interp*.cpp`, `vulkan/`: paths from the root, in one of its folders.
    const std::string folders = "autodiff|bench|cmake|codegen|core|cpu|docs|pumice|samples|shaders|tests|vulkan";
    for (const std::string& path : all_matches(prose(GetParam()), "`((?:" + folders + ")/[A-Za-z0-9_./*-]*)`")) {
        const fs::path whole = source_folder() / path;
        const size_t star = path.find('*');
        if (star == path.npos) {
            EXPECT_TRUE(fs::exists(whole)) << GetParam() << " names " << path;
            continue;
        }
        const std::string name = whole.filename().string(), before = name.substr(0, name.find('*')),
                          after = name.substr(name.find('*') + 1);
        int found = 0;
        ASSERT_TRUE(fs::is_directory(whole.parent_path())) << GetParam() << " names " << path;
        for (const auto& entry : fs::directory_iterator(whole.parent_path())) {
            const std::string file = entry.path().filename().string();
            found += file.starts_with(before) && file.ends_with(after);
        }
        EXPECT_GT(found, 0) << GetParam() << " names " << path;
    }
}

INSTANTIATE_TEST_SUITE_P(all, EachPage, testing::ValuesIn(docs::all_pages()),
                         [](const auto& info) { return std::regex_replace(info.param, std::regex("[^A-Za-z0-9]"), "_"); });

TEST(Pages, ReadmeLinksEachOfThem) {
    const std::set<std::string> links = all_matches(prose("README.md"), R"(\]\(([^)#]+)\))");
    for (const std::string& page : docs::all_pages()) EXPECT_TRUE(page == "README.md" || links.contains(page)) << page;
}

}  // namespace
