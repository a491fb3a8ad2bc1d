#include "tests/docs/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/support/error.h"
#include "tests/source_folder.h"

namespace docs {
namespace {

namespace fs = std::filesystem;

fs::path in_repository(const std::string& path) { return source_folder() / path; }

/// The position of the line in the text; npos if there is no such line, or several.
size_t only_line(const std::string& text, const std::string& line) {
    const std::string whole = "\n" + line + "\n";
    const size_t first = text.find(whole);
    if (first == text.npos || text.find(whole, first + 1) != text.npos) return text.npos;
    return first + 1;
}

std::string without_marks(const std::string& cell) {
    std::string out;
    for (size_t i = 0; i < cell.size(); ++i) {
        if (cell[i] == '`' || (cell[i] == '\\' && i + 1 < cell.size() && cell[i + 1] == '|')) continue;
        out += cell[i];
    }
    const size_t begin = out.find_first_not_of(' '), end = out.find_last_not_of(' ');
    return begin == out.npos ? "" : out.substr(begin, end - begin + 1);
}

Row cells_of(const std::string& line) {
    Row cells;
    size_t begin = 1;
    for (size_t i = 1; i < line.size(); ++i) {
        if (line[i] != '|' || line[i - 1] == '\\') continue;
        cells.push_back(without_marks(line.substr(begin, i - begin)));
        begin = i + 1;
    }
    return cells;
}

}  // namespace

Page::Page(const std::string& name) : path(name) {
    std::ifstream file(in_repository(name), std::ios::binary);
    if (!file) pumice::fail("there is no page ", name);
    std::ostringstream all;
    all << file.rdbuf();
    contents = all.str();
}

Page::Span Page::block_span(const std::string& label) const {
    const size_t fence = only_line(contents, "```" + label);
    if (fence == contents.npos) pumice::fail(path, " has not exactly one block ```", label);
    const size_t begin = contents.find('\n', fence) + 1, end = contents.find("\n```\n", begin - 1);
    if (end == contents.npos) pumice::fail(path, ": the block ```", label, " does not end");
    return {begin, end + 1};
}

Page::Span Page::table_span(const std::string& head) const {
    const size_t line = only_line(contents, head);
    if (line == contents.npos) pumice::fail(path, " has not exactly one table ", head);
    const size_t begin = contents.find('\n', contents.find('\n', line) + 1) + 1;  // past the row of dashes
    size_t end = begin;
    while (end < contents.size() && contents[end] == '|') end = contents.find('\n', end) + 1;
    return {begin, end};
}

std::string Page::block(const std::string& label) const {
    const Span s = block_span(label);
    return contents.substr(s.begin, s.end - s.begin);
}

std::vector<Row> Page::table(const std::string& head) const {
    const Span s = table_span(head);
    std::istringstream lines(contents.substr(s.begin, s.end - s.begin));
    std::vector<Row> rows;
    for (std::string line; std::getline(lines, line);) rows.push_back(cells_of(line));
    return rows;
}

void Page::expect(Span where, const std::string& wanted) {
    const std::string got = contents.substr(where.begin, where.end - where.begin);
    const char* bless = std::getenv("PUMICE_BLESS");
    if (!bless || *bless != '1') {
        EXPECT_EQ(got, wanted) << path << " is not what the library says; PUMICE_BLESS=1 rewrites it";
        return;
    }
    if (got == wanted) return;
    contents.replace(where.begin, where.end - where.begin, wanted);
    std::ofstream(in_repository(path), std::ios::binary) << contents;
}

void Page::expect_block(const std::string& label, const std::string& wanted) { expect(block_span(label), wanted); }
void Page::expect_text(const std::string& wanted) { expect({0, contents.size()}, wanted); }
void Page::expect_table(const std::string& head, const std::vector<std::string>& wanted) {
    std::string rows;
    for (const std::string& row : wanted) rows += row + "\n";
    expect(table_span(head), rows);
}

std::vector<std::string> all_pages() {
    std::vector<std::string> pages{"README.md"};
    for (const auto& entry : fs::directory_iterator(in_repository("docs")))
        if (entry.path().extension() == ".md") pages.push_back("docs/" + entry.path().filename().string());
    std::sort(pages.begin(), pages.end());
    return pages;
}

}  // namespace docs
