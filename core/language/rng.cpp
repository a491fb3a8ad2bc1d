#include "core/language/rng.h"

#include <bit>

#include "core/support/error.h"

namespace pumice::rng {
namespace {

// The finalizers of SplitMix64: Stafford's variant 13 for outputs, MurmurHash3's for gammas.
constexpr uint64_t mix_first = 0xbf58476d1ce4e5b9u, mix_second = 0x94d049bb133111ebu;

uint64_t mix64(uint64_t z) {
    z = (z ^ (z >> 30)) * mix_first;
    z = (z ^ (z >> 27)) * mix_second;
    return z ^ (z >> 31);
}

/// An odd increment with enough bit transitions.
uint64_t mix_gamma(uint64_t z) {
    z = (z ^ (z >> 33)) * 0xff51afd7ed558ccdu;
    z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53u;
    z = (z ^ (z >> 33)) | 1;
    return std::popcount(z ^ (z >> 1)) < 24 ? z ^ 0xaaaaaaaaaaaaaaaau : z;
}

constexpr uint32_t philox_multipliers[] = {0xd2511f53u, 0xcd9e8d57u}, philox_weyl[] = {0x9e3779b9u, 0xbb67ae85u};
constexpr int philox_rounds = 10;

/// Philox rounds over host or device words; `high` returns the upper half of a product with a constant.
template <class Word, class High> std::array<Word, 4> philox_block(std::array<Word, 4> c, std::array<Word, 2> k, High high) {
    std::vector<std::array<Word, 4>> words{c};  // Vals cannot be assigned: every round makes new ones
    std::vector<std::array<Word, 2>> keys{k};
    for (int round = 0; round < philox_rounds; ++round) {
        const std::array<Word, 4> x = words.back();
        const std::array<Word, 2> key = keys.back();
        words.push_back({high(x[2], philox_multipliers[1]) ^ x[1] ^ key[0], x[2] * philox_multipliers[1],
                         high(x[0], philox_multipliers[0]) ^ x[3] ^ key[1], x[0] * philox_multipliers[0]});
        keys.push_back({key[0] + philox_weyl[0], key[1] + philox_weyl[1]});
    }
    return words.back();
}

}  // namespace

uint64_t Splittable::next() { return mix64(next_seed()); }

Splittable Splittable::split() {
    const uint64_t seed = mix64(next_seed()), own_gamma = mix_gamma(next_seed());
    return Splittable(State(seed, own_gamma));
}

std::vector<State> Splittable::split(int n) {
    if (n < 0) fail("a random generator is split into ", n, " streams: the number is not negative");
    std::vector<State> states;
    for (int i = 0; i < n; ++i) states.push_back(split().state());
    return states;
}

namespace detail {

Bits add(const Bits& a, const Bits& b) {
    const Val<uint32_t> low = a.low + b.low;
    return {low, a.high + b.high + select(low < a.low, 1u, 0u)};
}

Bits multiply(const Bits& a, uint64_t by) {
    const uint32_t by_low = uint32_t(by), by_high = uint32_t(by >> 32);
    return {a.low * by_low, mul_high(a.low, by_low) + a.low * by_high + a.high * by_low};
}

Bits xor_shift_right(const Bits& a, uint32_t bits) {
    return {a.low ^ (a.low >> bits | a.high << (32 - bits)), a.high ^ (a.high >> bits)};
}

Bits mix(const Bits& seed) {
    const Bits first = multiply(xor_shift_right(seed, 30), mix_first);
    return xor_shift_right(multiply(xor_shift_right(first, 27), mix_second), 31);
}

}  // namespace detail

Bits Stream::next() {
    const Bits seed = detail::add({low, high}, gamma);
    low = seed.low;
    high = seed.high;
    return detail::mix(seed);
}

std::array<uint32_t, 4> philox_host(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
    return philox_block(counter, key, [](uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); });
}

std::array<Val<uint32_t>, 4> philox(const std::array<Val<uint32_t>, 4>& counter, const std::array<Val<uint32_t>, 2>& key) {
    return philox_block(counter, key, [](const Val<uint32_t>& a, uint32_t b) { return mul_high(a, b); });
}

Bits Counter::next() {
    const auto block = philox({Val<uint32_t>(drawn), Val<uint32_t>(0u), Val<uint32_t>(0u), Val<uint32_t>(0u)}, key);
    drawn += 1u;
    return {block[0], block[1]};
}

}  // namespace pumice::rng
