// The text of main while it grows, and the functions that only this kernel has.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// Writes indented statements, and hands out names that are unique in main.
class BodyText {
public:
    /// `comments`: the source's lines stand above their statements. `line_directives`, for debuggers: `#line` before each
    /// statement.
    BodyText(const ir::Kernel& kernel, bool comments, bool line_directives)
        : line_directives(line_directives), k(kernel), comments(comments) {}

    const bool line_directives;

    void line(const std::string& statement);
    /// Writes `head {`, the body, which is already indented, and `}`.
    void braced(const std::string& head, const std::string& body);
    /// Writes the second branch of the if that was written last.
    void braced_else(const std::string& body);
    /// The text that `statements` writes, one level deeper.
    template <class F> std::string captured(F&& statements);
    /// The text that has been written since the last call.
    std::string take() { return std::exchange(out, {}); }
    /// The spaces before a statement that is `deeper` levels below the present one.
    std::string padding(int deeper = 0) const { return std::string(size_t(indent + deeper) * 4, ' '); }
    /// Statements from here on belong to this place of the source.
    void set_location(ir::Loc location) { loc = location; }
    std::string new_name(std::string_view prefix);

    bool has_function(std::string_view name) const;
    void define_function(std::string name, std::string definition);
    bool has_functions() const { return !own_functions.empty(); }
    std::string functions() const;

private:
    const ir::Kernel& k;
    const bool comments;
    std::string out;
    int indent = 1;
    int next_name = 0;
    ir::Loc loc;                                                     ///< of the instruction being written
    ir::Loc said_loc;                                                ///< of the last source-line comment
    std::vector<std::pair<std::string, std::string>> own_functions;  ///< names and definitions
};

template <class F> std::string BodyText::captured(F&& statements) {
    std::string before;
    std::swap(out, before);
    ++indent;
    statements();
    --indent;
    std::swap(out, before);
    return before;
}

}  // namespace pumice::codegen
