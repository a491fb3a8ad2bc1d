#include "core/source/source_text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <system_error>

#include "core/support/ascii.h"
#include "core/support/debug.h"

namespace pumice::ir {
namespace {

constexpr uint64_t most_bytes = 16 << 20;
constexpr size_t most_head_lines = 40;  ///< lines after a kernel's that may hold the head of its lambda

bool begins_word(char c) { return ascii::is_letter(c) || c == '_' || c == '$'; }
bool in_word(char c) { return begins_word(c) || ascii::is_digit(c); }

/// The words and punctuation of C++ text. Comments are dropped; a string is the word `""`.
std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (size_t at = 0; at < text.size();) {
        const char c = text[at];
        const std::string_view rest = text.substr(at);
        size_t size = 1;
        if (rest.starts_with("//")) {
            at = std::min(text.find('\n', at), text.size());
            continue;
        }
        if (rest.starts_with("/*")) {
            const size_t end = rest.find("*/");
            at = end == rest.npos ? text.size() : at + end + 2;
            continue;
        }
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            ++at;
            continue;
        }
        if (c == '"' || c == '\'') {
            while (size < rest.size() && rest[size] != c) size += rest[size] == '\\' ? 2 : 1;
            words.emplace_back("\"\"");
            at += std::min(size + 1, rest.size());
            continue;
        }
        if (in_word(c))
            while (size < rest.size() && in_word(rest[size])) ++size;
        else if (const auto two = rest.substr(0, 2); two == "::" || two == "==" || two == "<=" || two == ">=" || two == "!=" ||
                                                     two == "&&" || two == "||" || two == "->")
            size = 2;
        words.push_back(rest.substr(0, size));
        at += size;
    }
    return words;
}

/// A position in words; the empty word past the end.
class WordReader {
public:
    explicit WordReader(std::string_view text) : words(words_of(text)) {}
    bool done() const { return at >= words.size(); }
    std::string_view now() const { return done() ? std::string_view() : words[at]; }
    std::string_view take() { return done() ? std::string_view() : words[at++]; }
    bool accept(std::string_view word) { return now() == word && (++at, true); }
    bool at_name() const { return !done() && begins_word(words[at][0]); }
    /// Skips to after the bracket that closes the one just taken.
    void skip_bracket() {
        for (int depth = 1; depth > 0 && !done();) {
            const std::string_view word = take();
            if (word == "(" || word == "[" || word == "{" || word == "<") ++depth;
            if (word == ")" || word == "]" || word == "}" || word == ">") --depth;
        }
    }
    size_t at = 0;

private:
    const std::vector<std::string_view> words;
};

bool is_keyword(std::string_view word) {
    constexpr std::string_view all[] = {"return", "else",      "case",      "new",    "delete",   "throw",    "goto",
                                        "using",  "typedef",   "struct",    "class",  "enum",     "union",    "if",
                                        "for",    "while",     "switch",    "do",     "template", "typename", "operator",
                                        "sizeof", "$if",       "$elif",     "$else",  "$for",     "$while",   "$return",
                                        "$break", "$continue", "namespace", "public", "private",  "protected"};
    return std::find(std::begin(all), std::end(all), word) != std::end(all);
}

/// No pointers: device values have none, and `a * b` is a product.
bool skip_type(WordReader& r) {
    if (!r.at_name() || is_keyword(r.now())) return false;
    do {
        if (!r.at_name()) return false;
        r.take();
        if (r.accept("<")) r.skip_bracket();
    } while (r.accept("::"));
    while (r.accept("const") || r.accept("&") || r.accept("&&")) {}
    return true;
}

/// Skips an initialiser, to the comma of the next declarator or the end of the statement.
void skip_initialiser(WordReader& r) {
    while (!r.done() && r.now() != "," && r.now() != ";") {
        const std::string_view word = r.take();
        if (word == "(" || word == "[" || word == "{") r.skip_bracket();
    }
}

bool ends_declarator(std::string_view word) { return word == "=" || word == "(" || word == "{" || word == ";" || word == ","; }

/// Reads a declaration from the current word on; adds its names.
bool declaration(WordReader& r, std::vector<std::string>& names) {
    while (r.accept("const") || r.accept("constexpr") || r.accept("static")) {}
    if (r.accept("auto")) {
        while (r.accept("const") || r.accept("&") || r.accept("*") || r.accept("&&")) {}
        if (r.accept("[")) {
            std::vector<std::string> bound;
            while (r.at_name()) {
                bound.emplace_back(r.take());
                r.accept(",");
            }
            if (!r.accept("]") || !r.accept("=")) return false;
            names.insert(names.end(), bound.begin(), bound.end());
            return true;
        }
    } else if (!skip_type(r)) {
        return false;
    }
    if (!r.at_name() || is_keyword(r.now())) return false;
    do {
        const std::string_view name = r.take();
        if (!ends_declarator(r.now())) return false;
        names.emplace_back(name);
        skip_initialiser(r);
    } while (r.accept(",") && r.at_name());
    return true;
}

/// The absolute path of a file; "" if it is not found. Compilers name a file relative to the folder they ran in, often a folder
/// above the program's: that of the build.
std::filesystem::path found(const std::filesystem::path& file) {
    std::error_code error;
    const auto there = [&](const std::filesystem::path& path) {
        return std::filesystem::is_regular_file(path, error) ? path : "";
    };
    const std::filesystem::path here = std::filesystem::absolute(file, error);
    if (file.is_absolute() || !there(here).empty()) return there(here);
    std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error);
    while (folder.has_relative_path()) {
        folder = folder.parent_path();
        if (!there(folder / file).empty()) return folder / file;
    }
    return "";
}

std::unique_ptr<const SourceText> read(const std::string& file) {
    std::error_code error;
    const std::filesystem::path path = found(file);
    if (path.empty() || std::filesystem::file_size(path, error) > most_bytes || error) return nullptr;
    std::ifstream in(path, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    if (!in) return nullptr;
    auto source = std::make_unique<SourceText>();
    source->path = path.lexically_normal().string();
    source->text = all.str();
    const std::string_view text = source->text;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        source->lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return source;
}

}  // namespace

bool source_debugging() { return debug::value("PUMICE_DEBUG") == "source"; }

std::string_view SourceText::line(uint32_t number) const {
    return number >= 1 && number <= lines.size() ? lines[number - 1] : std::string_view();
}

const SourceText* source_text(const std::string& file) {
    static std::mutex mutex;
    static auto* const known = new std::map<std::string, std::unique_ptr<const SourceText>>;
    const std::lock_guard lock(mutex);
    const auto [at, added] = known->try_emplace(file);
    if (added) at->second = read(file);
    return at->second.get();
}

std::vector<std::string> declared_names(std::string_view line) {
    std::vector<std::string> names;
    WordReader r(line);
    while (!r.done()) {
        const size_t before = r.at;
        if (!declaration(r, names)) r.at = before;
        // The next statement, or what stands behind the head of a construct.
        while (!r.done()) {
            const std::string_view word = r.take();
            if (word == ";" || word == "{" || word == "}" || word == ")") break;
        }
    }
    return names;
}

std::string loop_name(std::string_view line) {
    WordReader r(line);
    while (!r.done())
        if (r.take() == "$for" && r.accept("(") && r.at_name()) return std::string(r.now());
    return "";
}

std::vector<std::string> parameter_names(const SourceText& source, uint32_t line) {
    std::string head;
    for (uint32_t more = 0; more < most_head_lines; ++more) head += std::string(source.line(line + more)) + "\n";
    WordReader r(head);
    for (bool found = false; !found;) {
        while (!r.done() && r.take() != "[") {}
        if (r.done()) return {};
        r.skip_bracket();
        found = r.accept("(");
    }
    std::vector<std::string> names;
    while (!r.done() && !r.accept(")")) {
        std::string name;
        int words = 0;
        for (bool value = false; !r.done() && r.now() != "," && r.now() != ")";) {
            const bool is_name = r.at_name();
            const std::string_view word = r.take();
            if (word == "<" || word == "(" || word == "[" || word == "{") r.skip_bracket();
            value = value || word == "=";
            if (is_name && !value) name = word, ++words;
        }
        names.push_back(words > 1 ? name : "");
        r.accept(",");
    }
    return names;
}

}  // namespace pumice::ir
