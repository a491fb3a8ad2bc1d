// The one exception type of the library.
#pragma once

#if defined(_GLIBCXX_DEBUG) && !defined(PUMICE_GLIBCXX_DEBUG)
#error "pumice: with _GLIBCXX_DEBUG std::vector and its like have another layout than in the library that was built without it. Compile without _GLIBCXX_DEBUG (_GLIBCXX_ASSERTIONS checks, too, and changes no layout), or compile Pumice and everything else with both _GLIBCXX_DEBUG and PUMICE_GLIBCXX_DEBUG defined."
#endif

#include <cstdint>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pumice {

/// What every misuse of the library and every failure of a device throws. what() is a full sentence in the present tense with
/// the actual value and the limit, followed by one indented line for each context ("while compiling kernel ...").
class Error : public std::runtime_error {
public:
    explicit Error(const std::string& sentence) : std::runtime_error(sentence) {}
    /// The same error with one more line of context under it.
    Error within(const std::string& context) const { return Error(std::string(what()) + "\n  " + context); }
};

namespace detail {
void put_text(std::string& out, uint64_t number);
void put_text(std::string& out, int64_t number);
void put_text(std::string& out, double number);  // with six digits, like a stream's

template <class Part>
void put(std::string& out, const Part& part) {
    if constexpr (std::is_convertible_v<const Part&, std::string_view>) out += std::string_view(part);
    else if constexpr (std::is_same_v<Part, bool>) out += part ? '1' : '0';
    else if constexpr (std::is_integral_v<Part> && sizeof(Part) == 1) out += char(part);
    else if constexpr (std::is_integral_v<Part> && std::is_signed_v<Part>) put_text(out, int64_t(part));
    else if constexpr (std::is_integral_v<Part>) put_text(out, uint64_t(part));
    else if constexpr (std::is_floating_point_v<Part>) put_text(out, double(part));
    else {
        std::ostringstream stream;
        stream.imbue(std::locale::classic());
        stream << part;
        out += stream.str();
    }
}
}  // namespace detail

/// Writes its arguments one after another into a string: the same text whatever the program's locale, since kernels, keys and
/// messages are made of it.
template <class... Parts>
std::string text(const Parts&... parts) {
    std::string out;
    (detail::put(out, parts), ...);
    return out;
}
/// A number with this many digits behind the point, whatever the locale.
std::string fixed_text(double number, int digits);

/// Throws an Error made of the parts.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
    throw Error(text(parts...));
}

/// A fault of the library itself, not of its user: prints what is known and aborts.
[[noreturn]] void library_bug(const std::string& what);

}  // namespace pumice
