#include "runtime/cpu/rt_processor.h"

#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace pumice_rt {
#if defined(__x86_64__)
namespace {

constexpr bool has(uint32_t bits, uint32_t all) { return (bits & all) == all; }

// The levels of the psABI (https://gitlab.com/x86-psABIs/x86-64-ABI). libgcc's __builtin_cpu_supports has tables of 4 KB, and
// runs before main.
uint32_t native_level_x86() {
    constexpr uint32_t v2 = bit_SSE3 | bit_SSSE3 | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT;
    constexpr uint32_t v3 = bit_AVX | bit_FMA | bit_F16C | bit_MOVBE | bit_OSXSAVE;
    constexpr uint32_t v3_extended = bit_AVX2 | bit_BMI | bit_BMI2;
    constexpr uint32_t v4 = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
    constexpr uint32_t ymm = 0x6, zmm = 0xe6;  // of XCR0: registers that the system saves
    uint32_t a = 0, b = 0, c = 0, d = 0, extended = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, v2)) return 0;
    if (!has(c, v3) || !__get_cpuid_count(7, 0, &a, &extended, &d, &d) || !has(extended, v3_extended))
        return uint32_t(NativeLevel::x86_64_v2);
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !has(c, bit_LZCNT)) return uint32_t(NativeLevel::x86_64_v2);
    uint32_t saved = 0;
    asm("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    if (!has(saved, ymm)) return uint32_t(NativeLevel::x86_64_v2);
    return uint32_t(has(saved, zmm) && has(extended, v4) ? NativeLevel::x86_64_v4 : NativeLevel::x86_64_v3);
}

}  // namespace
#endif

uint32_t native_level() {
#if defined(__x86_64__)
    return native_level_x86();
#elif defined(__aarch64__)
    return uint32_t(NativeLevel::aarch64);
#elif defined(__riscv) && __riscv_xlen == 64
    return uint32_t(NativeLevel::riscv64);
#else
    return 0;
#endif
}

const char* native_level_name(uint32_t level) {
    switch (NativeLevel(level)) {
        case NativeLevel::x86_64_v2: return "x86-64-v2";
        case NativeLevel::x86_64_v3: return "x86-64-v3";
        case NativeLevel::x86_64_v4: return "x86-64-v4";
        case NativeLevel::aarch64: return "aarch64";
        case NativeLevel::riscv64: return "riscv64";
        case NativeLevel::generic: return "generic";
    }
    return "generic";
}

bool runs_level(uint32_t level) {
    static uint32_t known = 0;  // written with the same value by every thread
    uint32_t own = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (own == 0) {
        own = native_level() + 1;
        __atomic_store_n(&known, own, __ATOMIC_RELAXED);
    }
    --own;
    if (level == uint32_t(NativeLevel::generic)) return true;
    return level <= own && level / 100 == own / 100;
}

int64_t bytes_in_caches(int threads) {
    constexpr int64_t most_for_a_core = 32 << 20, unknown = 64 << 20;
#ifdef _SC_LEVEL3_CACHE_SIZE
    const int64_t last_level = sysconf(_SC_LEVEL3_CACHE_SIZE);
#else
    const int64_t last_level = 0;
#endif
    if (last_level <= 0) return unknown;
    return last_level < threads * most_for_a_core ? last_level : threads * most_for_a_core;
}

void finish_streaming_stores() {
#ifdef __SSE__
    __builtin_ia32_sfence();
#endif
}

}  // namespace pumice_rt
