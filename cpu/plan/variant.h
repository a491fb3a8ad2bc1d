// Target and Variant: the machine and the properties of a launch that compiled code is specialised for.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <tuple>

#include "core/ir/type.h"
#include "cpu/plan/cpu_rules.h"

namespace pumice::cpu {

/// The vector instruction set of a machine, as far as the LLVM text depends on it.
enum class Isa { none, sse2, sse4, avx2, avx512, neon };

/// The program that calls the code.
enum class CodeUse : uint8_t {
    launch,    ///< launches in this process: the functions of cpu/native/host_function.h and of SLEEF can be called
    object,    ///< an object file of another program, which has the C library
    function,  ///< the same, and all functions of the code are inlined into one
};

struct Target {
    int width = 1;  ///< items of a packet before choose_width changes it, and the subgroup's size: 1, 2, 4, 8 or 16
    Isa isa = Isa::none;
    /// The processor runs the widest vectors in two passes, which hides half of the latency already.
    bool splits_vectors = false;
    bool fast_gathers = false;  ///< LLVM takes the gathers of AVX2 or AVX-512 for this processor
    bool sleef = false;         ///< SLEEF's vector functions for `isa` can be called
    std::string triple;         ///< of the module; "" leaves it out
    Rules rules;                ///< the optimisations that are on
    CodeUse use = CodeUse::launch;
    bool counts_zeros = true;    ///< LLVM has code for clz and ctz (for BPF: none, or with a table in memory)
    bool divides_signed = true;  ///< the processor divides signed integers (BPF does not before its version 4)
};

/// How reductions into arrays are privatised (cpu/plan/reduction_privatisation.h).
enum class Privatisation : uint8_t {
    none,    ///< not: atomics on the array
    copies,  ///< one private copy of the array for each thread
    lanes,   ///< one private copy for each thread, in which an element may have a place for each lane
};

/// A privatised array in compiled code. `lanes`: adjacent places of one element in a copy.
struct PrivatisedArray {
    int argument = 0;
    Scalar type = Scalar::f32;
    int lanes = 1;
};

/// Alignment peeling: a row starts early by fewer than this number of items.
inline constexpr int most_peeled = 16;

/// The properties of a launch that code is specialised for. A launch with other values needs another variant.
struct Variant {
    std::array<int64_t, 3> group{1, 1, 1};  ///< group size: items along each axis
    bool wide_offsets = false;              ///< 64-bit offsets: an array has 2^31 elements or more
    bool full = false;                      ///< the range is a multiple of the group size: there is no tail
    Privatisation sums = Privatisation::none;
    uint64_t atomic_sums = 0;  ///< bit n: argument n is reduced by atomics all the same
    bool streaming = false;    ///< the arrays exceed the cache: streaming stores for what is only written, prefetch
    bool peeled = false;       ///< alignment peeling: rows start up to most_peeled - 1 items early
    bool aligned = false;      ///< in kernels with barriers: the range begins at a multiple of 16 items along axis 0
    bool operator==(const Variant&) const = default;

    /// True if a reduction into this argument goes to private copies.
    bool privatises(int argument) const {
        return sums != Privatisation::none && (argument >= 64 || !(atomic_sums >> argument & 1));
    }
};

// All fields, for cache keys (core/ir/cache_key.h). A new field does not compile until it is listed here.
inline auto key_parts(const Target& t) {
    const auto& [width, isa, splits_vectors, fast_gathers, sleef, triple, rules, use, counts_zeros, divides_signed] = t;
    return std::tie(width, isa, splits_vectors, fast_gathers, sleef, triple, rules, use, counts_zeros, divides_signed);
}
inline auto key_parts(const Variant& v) {
    const auto& [group, wide_offsets, full, sums, atomic_sums, streaming, peeled, aligned] = v;
    return std::tie(group, wide_offsets, full, sums, atomic_sums, streaming, peeled, aligned);
}

}  // namespace pumice::cpu
