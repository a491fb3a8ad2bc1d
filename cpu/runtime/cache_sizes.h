// Cache sizes, and copies that bypass the caches.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pumice::cpu {

/// Bytes of arrays in all, above which threads do not find them in the caches again.
int64_t bytes_in_caches(int threads);

/// Bytes of a core's first-level cache.
int64_t bytes_in_first_cache();

/// memcpy. With `streaming`, non-temporal: the destination is not read first and does not evict other data; other threads see
/// it after finish_stores().
void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes, bool streaming);

/// Fence: makes this thread's non-temporal stores visible to others. Other stores are ordered without it.
void finish_stores();

}  // namespace pumice::cpu
