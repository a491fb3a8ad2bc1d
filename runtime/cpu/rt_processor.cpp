#include "runtime/cpu/rt_processor.h"

#include <unistd.h>

namespace pumice_rt {

// The levels of x86-64 are those of the psABI (https://gitlab.com/x86-psABIs/x86-64-ABI).
uint32_t native_level() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return 0;
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512cd");
    return uint32_t(v4 ? NativeLevel::x86_64_v4 : v3 ? NativeLevel::x86_64_v3 : NativeLevel::x86_64_v2);
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
