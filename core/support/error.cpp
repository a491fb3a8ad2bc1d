#include "core/support/error.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace pumice {
namespace {

/// std::to_chars ignores the locale. The longest text is the largest double with all its digits.
template <class... How> void put_chars(std::string& out, How... how) {
    char buffer[512];
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, how...).ptr);
}

}  // namespace

namespace detail {
void put_text(std::string& out, uint64_t number) { put_chars(out, number); }
void put_text(std::string& out, int64_t number) { put_chars(out, number); }
void put_text(std::string& out, double number) { put_chars(out, number, std::chars_format::general, 6); }
}  // namespace detail

std::string fixed_text(double number, int digits) {
    std::string out;
    put_chars(out, number, std::chars_format::fixed, digits);
    return out;
}

void library_bug(const std::string& what) {
    std::fprintf(stderr, "pumice: this is a bug in the library: %s\n", what.c_str());
    std::fflush(stderr);
    std::abort();
}

}  // namespace pumice
