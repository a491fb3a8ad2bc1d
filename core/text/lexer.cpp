#include "core/text/lexer.h"

#include <algorithm>
#include <charconv>

#include "core/support/error.h"
#include "core/text/lexical_rules.h"

namespace pumice::ir {
namespace {

bool is_word_char(char c) { return is_letter(c) || is_digit(c); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

void Lexer::skip() {
    if (at != skipped_to) last_line = current_line;
    skip_space();
    skipped_to = at;
}

void Lexer::skip_space() {
    for (; at < text.size(); ++at) {
        if (text[at] == '#') at = std::min(text.find('\n', at), text.size());
        if (at == text.size() || !is_space(text[at])) return;
        current_line += text[at] == '\n';
    }
}

template <class Kind> std::string_view Lexer::run(Kind kind) {
    const size_t begin = at;
    while (at < text.size() && kind(text[at])) ++at;
    return text.substr(begin, at - begin);
}

bool Lexer::same_line() {
    skip();
    return current_line == last_line;
}

bool Lexer::at_end() {
    skip();
    return at == text.size();
}

bool Lexer::accept(std::string_view punctuation) {
    skip();
    if (!text.substr(at).starts_with(punctuation)) return false;
    at += punctuation.size();
    return true;
}

void Lexer::expect(std::string_view punctuation) {
    if (!accept(punctuation)) expected(pumice::text("`", punctuation, "`"));
}

bool Lexer::accept_word(std::string_view word) {
    skip();
    if (!text.substr(at).starts_with(word)) return false;
    const size_t end = at + word.size();
    if (end < text.size() && is_word_char(text[end])) return false;
    at = end;
    return true;
}

void Lexer::expect_word(std::string_view word) {
    if (!accept_word(word)) expected(pumice::text("`", word, "`"));
}

std::string_view Lexer::word(std::string_view what) {
    skip();
    if (at == text.size() || !is_letter(text[at])) expected(what);
    return run(is_word_char);
}

bool Lexer::at_value() {
    skip();
    return at < text.size() && text[at] == '%';
}

std::string_view Lexer::value_name() {
    if (!at_value() || at + 1 == text.size() || !is_word_char(text[at + 1])) expected("a value (`%` and its name)");
    ++at;
    return run(is_word_char);
}

uint64_t Lexer::number(std::string_view what, uint64_t limit) {
    skip();
    if (at == text.size() || !is_digit(text[at])) expected(what);
    uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (problem != std::errc() || value > limit) expected(pumice::text(what, " of at most ", limit));
    at = size_t(end - text.data());
    return value;
}

bool Lexer::at_string() {
    skip();
    return at < text.size() && text[at] == '"';
}

std::string Lexer::string(std::string_view what) {
    if (!at_string()) expected(what);
    std::string out;
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at) {
        if (text[at] != '\\') {
            out += text[at];
            continue;
        }
        const std::string_view rest = text.substr(at + 1);
        if (rest.starts_with('"') || rest.starts_with('\\')) {
            out += rest[0];
            at += 1;
        } else if (rest.size() >= 3 && rest[0] == 'x' && hex_digit(rest[1]) >= 0 && hex_digit(rest[2]) >= 0) {
            out += char(hex_digit(rest[1]) * 16 + hex_digit(rest[2]));
            at += 3;
        } else
            error("a string holds an escape other than \\\", \\\\ and \\x with two digits");
    }
    if (at == text.size() || text[at] != '"') error("a string has no closing quote on its line");
    ++at;
    return out;
}

std::string Lexer::path() {
    skip();
    if (at < text.size() && text[at] == '"') return string("a member path");
    const std::string_view found = run(is_path_char);
    if (found.empty()) expected("a member path");
    return std::string(found);
}

std::string_view Lexer::literal() {
    skip();
    const std::string_view found = run([](char c) { return !is_space(c); });
    if (found.empty()) expected("a literal");
    return found;
}

Scalar Lexer::scalar() {
    skip();
    const size_t begin = at;
    if (at < text.size() && is_letter(text[at]))
        if (const auto type = scalar_named(run(is_word_char))) return *type;
    at = begin;
    expected("a scalar type");
}

Loc Lexer::loc() {
    if (!accept("@")) return {};
    const uint32_t first = uint32_t(number("a line", none));
    if (!accept(":")) return {0, first};
    return {first, uint32_t(number("a line", none))};
}

void Lexer::expected(std::string_view what) {
    skip();
    std::string found = "the end of the text";
    if (at < text.size()) {
        const size_t begin = at;
        std::string_view word = run(is_word_char);
        if (word.empty()) word = text.substr(begin, 1);
        found = pumice::text("`", word.substr(0, 40), "`");
    }
    fail("kernel text line ", current_line, ": expected ", what, ", found ", found);
}

void Lexer::error(const std::string& sentence) {
    skip();
    fail("kernel text line ", last_line, ": ", sentence);
}

}  // namespace pumice::ir
