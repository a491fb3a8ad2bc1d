// Random numbers: SplitMix64 with splitting, and the counter-based Philox 4x32-10. Draws are equal on the host, on every device,
// and for every group size.
//
// Kernels do the 64-bit arithmetic of SplitMix64 on pairs of 32-bit words, so that they need no 64-bit integers.
#pragma once
#include <array>
#include <vector>

#include "core/language/control.h"
#include "core/language/functions.h"

namespace pumice::rng {

/// The state of a SplitMix64 stream: a 64-bit seed and the odd 64-bit gamma that every draw adds to it, as 32-bit words.
struct State {
    uint32_t seed_low = 0, seed_high = 0, gamma_low = 0, gamma_high = 0;
    State() = default;
    State(uint64_t seed, uint64_t gamma)
        : seed_low(uint32_t(seed)),
          seed_high(uint32_t(seed >> 32)),
          gamma_low(uint32_t(gamma)),
          gamma_high(uint32_t(gamma >> 32)) {}
    uint64_t seed() const { return uint64_t(seed_high) << 32 | seed_low; }
    uint64_t gamma() const { return uint64_t(gamma_high) << 32 | gamma_low; }
    bool operator==(const State&) const = default;
};

/// A splittable generator on the host. Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014 (SplitMix64).
class Splittable {
public:
    /// `seed` is the raw 64-bit state; gamma is the golden ratio's.
    explicit Splittable(uint64_t seed) : current(seed), gamma(0x9e3779b97f4a7c15u) {}
    explicit Splittable(const State& state) : current(state.seed()), gamma(state.gamma()) {}
    /// 64 random bits.
    uint64_t next();
    /// A generator independent of this one.
    Splittable split();
    /// The states of n independent streams, for Stream in kernels. Errors: n is negative.
    std::vector<State> split(int n);
    State state() const { return {current, gamma}; }

private:
    uint64_t next_seed() { return current += gamma; }
    uint64_t current, gamma;
};

}  // namespace pumice::rng
PUMICE_STRUCT(pumice::rng::State, seed_low, seed_high, gamma_low, gamma_high);

namespace pumice::rng {

/// 64 bits in a kernel.
struct Bits {
    Val<uint32_t> low, high;
};

namespace detail {
/// 64-bit arithmetic on two 32-bit words: only the operations of SplitMix64.
Bits add(const Bits& a, const Bits& b);
/// The low 64 bits of the product with a constant.
Bits multiply(const Bits& a, uint64_t by);
/// a ^ (a >> bits), 0 < bits < 32.
Bits xor_shift_right(const Bits& a, uint32_t bits);
Bits mix(const Bits& seed);
}  // namespace detail

// Draws from random bits: uniform in [0, 1), from the highest 24 bits (float) or 53 bits (double).
template <class T> Val<T> uniform_of(const Bits& bits) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "pumice: uniform<T>() takes float or double");
    if constexpr (std::is_same_v<T, float>)
        return cast<float>(bits.high >> 8u) * 0x1p-24f;
    else
        return (cast<double>(bits.high) * 0x1p21 + cast<double>(bits.low >> 11u)) * 0x1p-53;
}
/// Standard normal from two uniforms in [0, 1). Source: G. Box, M. Muller, "A note on the generation of random normal deviates",
/// 1958.
template <class T> Val<T> normal_of(const Val<T>& u, const Val<T>& v) {
    return sqrt(T(-2) * log(T(1) - u)) * cos(T(6.283185307179586476925) * v);
}

/// Draws from `next`, a generator of 64 random bits. In kernels only.
template <class Generator> class Draws {
public:
    /// Uniform in [0, 1), in multiples of 2^-24 (float) or 2^-53 (double).
    template <class T> Val<T> uniform() { return uniform_of<T>(bits()); }
    /// Normal with mean 0 and variance 1; takes two draws.
    template <class T> Val<T> normal() {
        const Val<T> u = uniform<T>(), v = uniform<T>();
        return normal_of<T>(u, v);
    }
    /// An integer in [0, n), n > 0: the high word of 32 random bits times n. The relative error of each probability is at most n
    /// / 2^32.
    Val<int> integer(const Val<int>& n) { return cast<int>(device_math::mul_high(bits().high, cast<uint32_t>(n))); }

private:
    Bits bits() { return static_cast<Generator&>(*this).next(); }
};

/// A work-item's own copy of a SplitMix64 stream: the stored state never advances. Draws equal those of Splittable(state).
class Stream : public Draws<Stream> {
public:
    explicit Stream(const Val<State>& state)
        : low(state.seed_low), high(state.seed_high), gamma{state.gamma_low, state.gamma_high} {}
    /// 64 random bits.
    Bits next();

private:
    Var<uint32_t> low, high;
    Bits gamma;
};

/// Philox 4x32 with 10 rounds: 128 random bits, a pure function of counter and key, so that streams need no state. Source:
/// J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
std::array<uint32_t, 4> philox_host(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);
/// The same in kernels. It has another name since braced numbers would match both.
std::array<Val<uint32_t>, 4> philox(const std::array<Val<uint32_t>, 4>& counter, const std::array<Val<uint32_t>, 2>& key);

/// A stream of Philox draws: the key is (seed, stream), the counter advances. Streams of different numbers are independent; give
/// each work-item its own, such as its global index. Each draw computes a block and uses 64 bits of it.
class Counter : public Draws<Counter> {
public:
    Counter(const Val<uint32_t>& seed, const Val<uint32_t>& stream) : key{seed, stream}, drawn(0u) {}
    /// 64 random bits. A stream repeats itself after 2^32 draws.
    Bits next();

private:
    std::array<Val<uint32_t>, 2> key;
    Var<uint32_t> drawn;
};

}  // namespace pumice::rng
