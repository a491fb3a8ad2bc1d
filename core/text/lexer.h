// Splits kernel text into words.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/ir/ir.h"

namespace pumice::ir {

/// A position in kernel text. Every function first skips white space and comments (# to the end of the line), and throws Error
/// with the line if the expected text is missing.
class Lexer {
public:
    explicit Lexer(std::string_view text) : text(text) {}

    /// Line of the last word read; and: is the next one on the same line?
    int line() {
        skip();
        return last_line;
    }
    bool same_line();
    bool at_end();
    /// True if the punctuation comes next, which is then skipped.
    bool accept(std::string_view punctuation);
    void expect(std::string_view punctuation);
    /// True if this whole word comes next, which is then skipped.
    bool accept_word(std::string_view word);
    void expect_word(std::string_view word);
    /// An identifier; errors call it `what`.
    std::string_view word(std::string_view what);
    /// `%name`, without the %. at_value() is true if one comes next.
    std::string_view value_name();
    bool at_value();
    uint64_t number(std::string_view what, uint64_t limit);
    /// A text in quotes. at_string() is true if one comes next.
    std::string string(std::string_view what);
    bool at_string();
    /// A member path, plain or quoted.
    std::string path();
    /// The literal of a constant: all text up to white space.
    std::string_view literal();
    Scalar scalar();
    /// ` @line` or ` @file:line`, if any.
    Loc loc();

    /// Throws: `kernel text line N: expected WHAT, found FOUND`.
    [[noreturn]] void expected(std::string_view what);
    /// Throws: `kernel text line N: SENTENCE`, with the line of the last word read.
    [[noreturn]] void error(const std::string& sentence);

private:
    void skip();
    void skip_space();
    /// Skips the longest run of characters of one kind, and returns it.
    template <class Kind> std::string_view run(Kind kind);

    std::string_view text;
    size_t at = 0, skipped_to = 0;
    int current_line = 1, last_line = 1;
};

}  // namespace pumice::ir
