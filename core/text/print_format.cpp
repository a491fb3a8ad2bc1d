#include "core/text/print_format.h"

#include <charconv>
#include <cmath>

#include "core/ir/evaluate.h"
#include "core/support/ascii.h"
#include "core/support/error.h"

namespace pumice {

using namespace internal;
namespace {

std::string undoubled(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        out += text[i];
        if (text[i] == '{' || text[i] == '}') ++i;
    }
    return out;
}

bool number(std::string_view text, size_t& at, int& value) {
    const auto [end, problem] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (problem != std::errc() || value > 99) return false;
    at = size_t(end - text.data());
    return true;
}

std::string upper_case(std::string text) {
    for (char& c : text) c = ascii::upper(c);
    return text;
}

template <class T> std::string digits(T value, char type) {
    char buffer[72];
    const int base = type == 'x' || type == 'X' ? 16 : type == 'b' ? 2 : type == 'o' ? 8 : 10;
    std::string out(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, base).ptr);
    return type == 'X' ? upper_case(std::move(out)) : out;
}

/// Writes a sign for negative values, but none for a NaN, since devices differ in it.
template <class T> std::string real(T value, char type, int precision) {
    if (std::isnan(value)) return "nan";
    char buffer[512];
    // std::to_chars, since printf's decimal point depends on the locale.
    if (type == 0 && precision < 0) return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
    const bool upper = type == 'E' || type == 'G';
    const std::chars_format how = type == 'f'                  ? std::chars_format::fixed
                                  : type == 'e' || type == 'E' ? std::chars_format::scientific
                                                               : std::chars_format::general;
    std::string out(buffer, std::to_chars(buffer, buffer + sizeof buffer, double(value), how, precision < 0 ? 6 : precision).ptr);
    return upper ? upper_case(std::move(out)) : out;
}

}  // namespace

PrintFormat::PrintFormat(std::string_view text) : whole(text) {
    std::string literal;
    for (size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        const bool doubled = at + 1 < text.size() && text[at + 1] == c;
        if (c != '{' && c != '}') {
            literal += c;
        } else if (doubled) {
            literal += c, literal += c;
            ++at;
        } else {
            const size_t end = c == '{' ? text.find('}', at) : text.npos;
            if (end == text.npos) {
                problem = c == '{' ? "has a { that no } closes" : "has a } that no { opens";
                break;
            }
            const std::string_view inside = text.substr(at + 1, end - at - 1);
            Spec spec;
            if (!inside.empty() && (inside[0] != ':' || !read(inside.substr(1), spec)) && problem.empty())
                problem = pumice::text("has the place {", inside,
                                       "}; a place is {} or {:spec}, where a spec is [< > ^][+][0][width][.precision] and one of "
                                       "d x X b o e E f g G");
            texts.push_back(std::move(literal));
            literal.clear();
            raw.emplace_back(text.substr(at, end + 1 - at));
            specs.push_back(spec);
            at = end;
        }
    }
    texts.push_back(std::move(literal));
}

bool PrintFormat::read(std::string_view text, Spec& spec) {
    size_t at = 0;
    const auto is = [&](std::string_view any) { return at < text.size() && any.find(text[at]) != any.npos; };
    if (is("<>^")) spec.align = text[at++];
    if (is("+")) spec.plus = true, ++at;
    if (is("0")) spec.zeros = true, ++at;
    if (is("123456789") && !number(text, at, spec.width)) return false;
    if (is(".") && !(++at, is("0123456789") && number(text, at, spec.precision))) return false;
    if (is("dxXboeEfgG")) spec.type = text[at++];
    return at == text.size();
}

std::string PrintFormat::misfit(std::span<const Scalar> types) const {
    const auto said = [&](const auto&... parts) { return text("the format \"", whole, "\" ", parts...); };
    if (!problem.empty()) return said(problem);
    if (specs.size() != types.size())
        return said("has ", specs.size(), specs.size() == 1 ? " place" : " places", " for ", types.size(),
                    types.size() == 1 ? " value" : " values");
    for (size_t n = 0; n < specs.size(); ++n) {
        const char type = specs[n].type;
        const bool whole_number = std::string_view("dxXbo").find(type) != std::string_view::npos && type;
        if (type && whole_number == is_float(types[n]))
            return said("shows value ", n + 1, ", which is ", name_of(types[n]), ", as ", type);
        if (specs[n].precision >= 0 && !is_float(types[n]))
            return said("gives value ", n + 1, ", which is ", name_of(types[n]), ", a precision");
    }
    return "";
}

std::string PrintFormat::value(const Spec& spec, Scalar type, uint64_t bits) {
    std::string out = with_scalar(type, [&](auto zero) -> std::string {
        using T = decltype(zero);
        const T v = from_bits<T>(bits);
        if constexpr (std::is_same_v<T, bool>)
            return spec.type ? (v ? "1" : "0") : (v ? "true" : "false");
        else if constexpr (NarrowFloat<T>)
            return real(float(v), spec.type, spec.precision);
        else if constexpr (std::is_floating_point_v<T>)
            return real(v, spec.type, spec.precision);
        else if constexpr (sizeof(T) == 1)
            return digits(int(v), spec.type);
        else
            return digits(v, spec.type);
    });
    const bool shown_as_word = type == Scalar::boolean && !spec.type;
    if (spec.plus && !shown_as_word && out[0] != '-') out.insert(0, "+");
    const size_t width = size_t(spec.width);
    if (out.size() >= width) return out;
    const size_t missing = width - out.size();
    if (spec.zeros && !spec.align && !shown_as_word) return out.insert(out[0] == '-' || out[0] == '+' ? 1 : 0, missing, '0');
    // Numbers are right-aligned by default, words left-aligned.
    const char align = spec.align ? spec.align : shown_as_word ? '<' : '>';
    const size_t left = align == '<' ? 0 : align == '>' ? missing : missing / 2;
    return std::string(left, ' ') + out + std::string(missing - left, ' ');
}

std::string PrintFormat::line(std::span<const Scalar> types, std::span<const uint64_t> bits) const {
    std::string out = undoubled(texts[0]);
    for (size_t n = 0; n < specs.size(); ++n) out += value(specs[n], types[n], bits[n]) + undoubled(texts[n + 1]);
    return out;
}

std::string PrintFormat::escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        out += c;
        if (c == '{' || c == '}') out += c;
    }
    return out;
}

}  // namespace pumice
