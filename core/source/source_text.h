// The text of the user's source files, and the names that their lines declare.
//
// Why: a debugger prints `sum`, but C++ does not tell a library that `Var<float> sum = 0.0f` declares this name. The recorded IR
// has the line; the file, where it can be read, has the name. Only PUMICE_DEBUG=source reads it.
//
//     auto [i, j] = global_index<2>();           i, j
//     const Val<float> a = x[i], b = y[i];       a, b
//     $for (k, range(n))                         loop_name: k
//
// Method: words of one line, without comments and strings; a declaration is `auto` or a type, then a name, then = ( { , or ;.
// Limits: a line at a time, no macros, no preprocessor. A name that is not found is only a variable less in the debugger.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pumice::ir {

/// PUMICE_DEBUG=source: code is made for debuggers.
bool source_debugging();

struct SourceText {
    std::string path;  ///< absolute
    std::string text;
    std::vector<std::string_view> lines;
    /// The line with this number, from 1; "" past the end.
    std::string_view line(uint32_t number) const;
};

/// A file as the compiler named it: absolute, or relative to the current folder, to that of the program, or to one above it. Read
/// once in a process; null if it cannot be read or has more than 16 MiB.
const SourceText* source_text(const std::string& file);

/// The names that a line declares, in its order.
std::vector<std::string> declared_names(std::string_view line);
/// The name of the index of a `$for` on the line; "" if there is none.
std::string loop_name(std::string_view line);
/// The names of the parameters of the first lambda that begins on the line, or after it; "" for one without a name.
std::vector<std::string> parameter_names(const SourceText& source, uint32_t line);

}  // namespace pumice::ir
