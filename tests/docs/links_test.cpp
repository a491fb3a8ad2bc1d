// The files and folders that the pages and the READMEs of folders name exist, and every page can be reached from README.md.
#include <gtest/gtest.h>

#include <algorithm>
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

/// The folders of the tree that pages name paths of.
const std::vector<std::string> top_folders{"autodiff", "bench",   "cmake",   "codegen", "core", "cpu",   "docs",
                                           "pumice",   "runtime", "samples", "shaders", "ship", "tests", "vulkan"};

/// True if there is such a file or folder. A star in the name of the file stands for any characters.
bool is_there(const fs::path& path) {
    const std::string name = path.filename().string();
    const size_t star = name.find('*');
    if (star == name.npos) return fs::exists(path);
    if (!fs::is_directory(path.parent_path())) return false;
    return std::ranges::any_of(fs::directory_iterator(path.parent_path()), [&](const fs::directory_entry& entry) {
        const std::string file = entry.path().filename().string();
        return file.starts_with(name.substr(0, star)) && file.ends_with(name.substr(star + 1));
    });
}

/// Expects each path from the root, as `core/ir/ops.def`, `shaders/*.glsl` or `vulkan/`, to be there.
void expect_paths(const std::string& page) {
    std::string folders;
    for (const std::string& folder : top_folders) folders += (folders.empty() ? "" : "|") + folder;
    for (const std::string& path : all_matches(prose(page), "`((?:" + folders + ")/[A-Za-z0-9_./*-]*)`"))
        EXPECT_TRUE(is_there(source_folder() / path)) << page << " names " << path;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
    return std::regex_replace(info.param, std::regex("[^A-Za-z0-9]"), "_");
}

class EachPage : public testing::TestWithParam<std::string> {};

TEST_P(EachPage, LinksLeadSomewhere) {
    const fs::path folder = (source_folder() / GetParam()).parent_path();
    for (const std::string& link : all_matches(prose(GetParam()), R"(\]\(([^)#]+)\))"))
        EXPECT_TRUE(link.starts_with("http") || fs::exists(folder / link)) << GetParam() << " links " << link;
}

TEST_P(EachPage, FilesItNamesAreThere) { expect_paths(GetParam()); }

INSTANTIATE_TEST_SUITE_P(all, EachPage, testing::ValuesIn(docs::all_pages()), test_name);

/// Pages that comments and messages of the sources name.
TEST(Sources, PagesTheyNameAreThere) {
    for (const std::string& top : top_folders)
        for (const auto& entry : fs::recursive_directory_iterator(source_folder() / top)) {
            const std::string path = fs::relative(entry.path(), source_folder()).string();
            if (!entry.is_regular_file() || !std::regex_search(path, std::regex(R"(\.(h|cpp|def|cmake|sh)$)"))) continue;
            for (const std::string& page : all_matches(docs::Page(path).text(), R"(\b(docs/[A-Za-z0-9_-]+\.(?:md|json)))"))
                EXPECT_TRUE(fs::exists(source_folder() / page)) << path << " names " << page;
        }
}

/// The READMEs of folders, by their paths from the root.
std::vector<std::string> folder_readmes() {
    std::vector<std::string> found;
    for (const std::string& top : top_folders)
        for (const auto& entry : fs::recursive_directory_iterator(source_folder() / top))
            if (entry.path().filename() == "README.md") found.push_back(fs::relative(entry.path(), source_folder()).string());
    std::ranges::sort(found);
    return found;
}

class EachFolderReadme : public testing::TestWithParam<std::string> {};

TEST_P(EachFolderReadme, FilesItNamesAreThere) {
    expect_paths(GetParam());
    // `ir.h`, `*_test.cpp`: files of the folder. NAME stands for any name.
    const fs::path folder = (source_folder() / GetParam()).parent_path();
    for (const std::string& file :
         all_matches(prose(GetParam()), R"(`([A-Za-z0-9_*-]+\.(?:h|hpp|cpp|def|glsl|cmake|sh|md|txt))`)"))
        EXPECT_TRUE(file.find("NAME") != file.npos || is_there(folder / file)) << GetParam() << " names " << file;
}

TEST_P(EachFolderReadme, EachSourceOfTheLibraryIsNamed) {
    const fs::path folder = (source_folder() / GetParam()).parent_path();
    const std::string text = prose(GetParam()), top = GetParam().substr(0, GetParam().find('/'));
    if (top == "bench" || top == "samples" || top == "tests") return;  // with lists of their own
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string extension = entry.path().extension().string(), stem = entry.path().stem().string();
        if ((extension != ".h" && extension != ".cpp" && extension != ".def") || stem.ends_with("_test")) continue;
        EXPECT_NE(text.find("`" + stem + "."), text.npos) << GetParam() << " does not name " << entry.path().filename();
    }
}

INSTANTIATE_TEST_SUITE_P(all, EachFolderReadme, testing::ValuesIn(folder_readmes()), test_name);

TEST(FolderReadmes, AreThoseOfEachLayer) {
    const std::vector<std::string> readmes = folder_readmes();
    EXPECT_GT(readmes.size(), 50u);
    for (const std::string layer : {"autodiff", "codegen", "core", "cpu", "pumice", "runtime", "ship", "vulkan"})
        EXPECT_TRUE(std::ranges::any_of(readmes, [&](const std::string& path) { return path.starts_with(layer + "/"); }))
            << layer;
}

TEST(Pages, ReadmeLinksEachOfThem) {
    const std::set<std::string> links = all_matches(prose("README.md"), R"(\]\(([^)#]+)\))");
    for (const std::string& page : docs::all_pages()) EXPECT_TRUE(page == "README.md" || links.contains(page)) << page;
}

}  // namespace
