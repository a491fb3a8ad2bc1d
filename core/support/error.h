// The one exception type of the library.
#pragma once

#if defined(_GLIBCXX_DEBUG) && !defined(PUMICE_GLIBCXX_DEBUG)
#error \
    "pumice: with _GLIBCXX_DEBUG std::vector and its like have another layout than in the library that was built without it. Compile without _GLIBCXX_DEBUG (_GLIBCXX_ASSERTIONS checks, too, and changes no layout), or compile Pumice and everything else with both _GLIBCXX_DEBUG and PUMICE_GLIBCXX_DEBUG defined."
#endif

#include <cstdint>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace pumice {

/// Thrown for every misuse of the library and every failure of a device. what() is a full sentence in the present tense with the
/// actual value and the limit, followed by one indented line for each context ("while compiling kernel ...").
class Error : public std::runtime_error {
public:
    explicit Error(const std::string& sentence) : std::runtime_error(sentence) {}
    /// The same error with one more line of context below.
    Error within(const std::string& context) const { return Error(std::string(what()) + "\n  " + context); }
};

namespace detail {
void put_text(std::string& out, uint64_t number);
void put_text(std::string& out, int64_t number);
void put_text(std::string& out, double number);  // six digits, as a stream writes

template <class Part> void put(std::string& out, const Part& part) {
    if constexpr (std::is_convertible_v<const Part&, std::string_view>)
        out += std::string_view(part);
    else if constexpr (std::is_same_v<Part, bool>)
        out += part ? '1' : '0';
    else if constexpr (std::is_integral_v<Part> && sizeof(Part) == 1)
        out += char(part);
    else if constexpr (std::is_integral_v<Part> && std::is_signed_v<Part>)
        put_text(out, int64_t(part));
    else if constexpr (std::is_integral_v<Part>)
        put_text(out, uint64_t(part));
    else if constexpr (std::is_floating_point_v<Part>)
        put_text(out, double(part));
    else {
        std::ostringstream stream;
        stream.imbue(std::locale::classic());
        stream << part;
        out += stream.str();
    }
}
}  // namespace detail

/// Concatenates its arguments to a string. The text does not depend on the program's locale, since kernels, keys and messages are
/// made of it.
template <class... Parts> std::string text(const Parts&... parts) {
    std::string out;
    (detail::put(out, parts), ...);
    return out;
}
/// A number with this many digits after the decimal point, in any locale.
std::string fixed_text(double number, int digits);

/// Throws an Error whose message is the concatenated parts.
template <class... Parts> [[noreturn]] void fail(const Parts&... parts) { throw Error(text(parts...)); }

/// Reports a bug in the library itself, and aborts.
[[noreturn]] void library_bug(const std::string& what);

}  // namespace pumice
