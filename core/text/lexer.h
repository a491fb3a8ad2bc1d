// Reads kernel text word by word.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/ir/ir.h"

namespace pumice::ir {

/// A position in kernel text. Every function first skips white space and comments (# to the end of the line), and throws
/// Error with the line where it does not find what it needs.
class Lexer {
public:
    explicit Lexer(std::string_view text) : text(text) {}

    /// Line of the last word read; whether the next one stands on it, too.
    int line() {
        skip();
        return last_line;
    }
    bool same_line();
    bool at_end();
    /// True, and past it, when the punctuation stands here.
    bool accept(std::string_view punctuation);
    void expect(std::string_view punctuation);
    /// True, and past it, when this whole word stands here.
    bool accept_word(std::string_view word);
    void expect_word(std::string_view word);
    /// An identifier; `what` says in an error what was wanted.
    std::string_view word(std::string_view what);
    /// `%name`, without the %; `at_value` looks whether one follows.
    std::string_view value_name();
    bool at_value();
    uint64_t number(std::string_view what, uint64_t limit);
    std::string string(std::string_view what);
    /// A member path, plain or quoted.
    std::string path();
    /// The literal of a constant: all up to white space.
    std::string_view literal();
    Scalar scalar();
    /// ` @line` or ` @file:line`, or nothing.
    Loc loc();

    /// Throws: `kernel text line N: expected WHAT, found FOUND`.
    [[noreturn]] void expected(std::string_view what);
    /// Throws: `kernel text line N: SENTENCE`, with the line of the last word read.
    [[noreturn]] void error(const std::string& sentence);

private:
    void skip();
    void skip_space();
    /// Past the longest run of characters of one kind.
    template <class Kind>
    std::string_view run(Kind kind);

    std::string_view text;
    size_t at = 0, skipped_to = 0;
    int current_line = 1, last_line = 1;
};

}  // namespace pumice::ir
