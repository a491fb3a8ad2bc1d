#include "tests/docs/source_code.h"

#include <cctype>
#include <fstream>

#include "core/support/error.h"
#include "tests/source_folder.h"

namespace docs {
namespace {

/// The line up to a `//` that is not in a string.
std::string without_comment(const std::string& line) {
    bool in_string = false;
    for (size_t i = 0; i < line.size(); ++i) {
        if (in_string && line[i] == '\\')
            ++i;
        else if (line[i] == '"')
            in_string = !in_string;
        else if (!in_string && line.compare(i, 2, "//") == 0)
            return line.substr(0, i);
    }
    return line;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

std::string code_of(const std::string& path) {
    std::ifstream file(source_folder() / path);
    if (!file) pumice::fail("there is no file ", path);
    std::string out;
    for (std::string line; std::getline(file, line);) out += (path.ends_with(".md") ? line : without_comment(line)) + "\n";
    return out;
}

bool has_name(const std::string& code, const std::string& name) {
    for (size_t at = code.find(name); at != code.npos; at = code.find(name, at + 1)) {
        const bool begins = at == 0 || !is_word(code[at - 1]) || !is_word(name.front());
        const size_t end = at + name.size();
        if (begins && (end == code.size() || !is_word(code[end]) || !is_word(name.back()))) return true;
    }
    return false;
}

}  // namespace docs
