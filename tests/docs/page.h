// A page of the repository for tests: its blocks and tables must agree with the library. PUMICE_BLESS=1 rewrites them; read the
// difference before you commit it.
#pragma once
#include <string>
#include <vector>

namespace docs {

using Row = std::vector<std::string>;

/// A file of the repository, named by its path from the root.
class Page {
public:
    /// Throws pumice::Error if there is no such file.
    explicit Page(const std::string& path);

    const std::string& text() const { return contents; }
    /// The text between "```LABEL" and the next "```". Throws pumice::Error unless there is exactly one such block.
    std::string block(const std::string& label) const;
    /// The rows below the table head, without backticks and escapes. Throws pumice::Error unless there is exactly one such head.
    std::vector<Row> table(const std::string& head) const;

    /// Fails the test if the block, the table or the whole page differs; with PUMICE_BLESS=1 rewrites it.
    void expect_block(const std::string& label, const std::string& wanted);
    void expect_table(const std::string& head, const std::vector<std::string>& wanted);
    void expect_text(const std::string& wanted);

private:
    struct Span {
        size_t begin, end;
    };
    Span block_span(const std::string& label) const;
    Span table_span(const std::string& head) const;
    void expect(Span where, const std::string& wanted);

    std::string path, contents;
};

/// README.md and all of docs/*.md.
std::vector<std::string> all_pages();

}  // namespace docs
