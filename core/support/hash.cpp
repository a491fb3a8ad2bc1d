#include "core/support/hash.h"

namespace pumice {
namespace {

/// The finishing permutation of splitmix64: each input bit affects about half of the output's bits.
constexpr uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// Up to eight bytes from `at` on, as a little-endian number on every machine.
uint64_t word_at(std::string_view part, size_t at) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8 && at + i < part.size(); ++i) word |= uint64_t(uint8_t(part[at + i])) << (8 * i);
    return word;
}

}  // namespace

void Hash::add(std::string_view part) {
    const auto take = [this](uint64_t word) {
        low = mix(low ^ word) + 0x9e3779b97f4a7c15u;
        high = mix(high + (word ^ (low >> 7) ^ (low << 57)));
    };
    take(part.size());
    for (size_t at = 0; at < part.size(); at += 8) take(word_at(part, at));
}

std::string Hash::text() const {
    std::string out;
    for (const uint64_t half : {mix(high ^ low), mix(low + high)})
        for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[(half >> shift) & 15];
    return out;
}

}  // namespace pumice
