// A 128-bit hash that names things by their content. Not cryptographic.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace pumice {

/// Hashes a sequence of texts; ("ab", "c") and ("a", "bc") differ. The same on every machine and in every run.
class Hash {
public:
    void add(std::string_view part);
    /// 32 lower-case hex digits.
    std::string text() const;

private:
    uint64_t low = 0x6a09e667f3bcc908u, high = 0xbb67ae8584caa73bu;  // the first digits of sqrt(2) and sqrt(3)
};

}  // namespace pumice
