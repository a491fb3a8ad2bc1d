#include "cpu/runtime/cache_sizes.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace pumice::cpu {

#ifdef __SSE2__
namespace {
using Part = long long __attribute__((vector_size(16)));

void streaming_store(Part* to, Part value) {
#ifdef __clang__
    __builtin_nontemporal_store(value, to);
#else
    __builtin_ia32_movntdq(to, value);
#endif
}
}  // namespace
#endif

/// The size of the last-level cache. A virtual machine reports its host's, of which it has an unknown part; the limit a core is
/// that of real machines. Too large a limit costs a factor of two beyond the caches; too small a limit costs a quarter.
int64_t bytes_in_caches(int threads) {
    constexpr int64_t most_for_a_core = 32 << 20, unknown = 64 << 20;
#ifdef _SC_LEVEL3_CACHE_SIZE
    static const int64_t last_level = sysconf(_SC_LEVEL3_CACHE_SIZE);
#else
    constexpr int64_t last_level = 0;
#endif
    return last_level > 0 ? std::min(last_level, threads * most_for_a_core) : unknown;
}

int64_t bytes_in_first_cache() {
    constexpr int64_t unknown = 32 << 10;
#ifdef _SC_LEVEL1_DCACHE_SIZE
    static const int64_t first_level = sysconf(_SC_LEVEL1_DCACHE_SIZE);
#else
    constexpr int64_t first_level = 0;
#endif
    return first_level > 0 ? first_level : unknown;
}

void finish_stores() {
#ifdef __SSE__
    __builtin_ia32_sfence();
#endif
}

void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes, bool streaming) {
#ifdef __SSE2__
    constexpr int64_t line = 64;
    if (streaming && bytes >= 2 * line) {
        const int64_t head = -int64_t(reinterpret_cast<uintptr_t>(to)) & (line - 1), end = head + (bytes - head) / line * line;
        std::memcpy(to, from, size_t(head));
        for (int64_t at = head; at < end; at += line) {
            Part parts[line / sizeof(Part)];
            std::memcpy(parts, from + at, line);
            for (size_t p = 0; p < std::size(parts); ++p) streaming_store(reinterpret_cast<Part*>(to + at) + p, parts[p]);
        }
        return void(std::memcpy(to + end, from + end, size_t(bytes - end)));
    }
#endif
    std::memcpy(to, from, size_t(bytes));
}

}  // namespace pumice::cpu
