// The one exception type of the library.
#pragma once

#if defined(_GLIBCXX_DEBUG) && !defined(PUMICE_GLIBCXX_DEBUG)
#error "pumice: with _GLIBCXX_DEBUG std::vector and its like have another layout than in the library that was built without it. Compile without _GLIBCXX_DEBUG (_GLIBCXX_ASSERTIONS checks, too, and changes no layout), or compile Pumice and everything else with both _GLIBCXX_DEBUG and PUMICE_GLIBCXX_DEBUG defined."
#endif

#include <sstream>
#include <stdexcept>
#include <string>
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

/// Writes its arguments one after another into a string.
template <class... Parts>
std::string text(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
}

/// Throws an Error made of the parts.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
    throw Error(text(parts...));
}

/// A fault of the library itself, not of its user: prints what is known and aborts.
[[noreturn]] void library_bug(const std::string& what);

}  // namespace pumice
