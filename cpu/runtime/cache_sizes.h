// Cache sizes, and copies that bypass the caches.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pumice::cpu {

/// Bytes of arrays in all, above which threads do not find them in the caches again.
int64_t bytes_in_caches(int threads);

/// Bytes of a core's first-level cache.
int64_t bytes_in_first_cache();

/// memcpy. With `streaming`, a copy of at least 128 bytes stores its whole cache lines non-temporally: they are not read first
/// and evict no other data. Other threads see them once the thread that copies has called finish_stores().
void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes, bool streaming);

/// Fence: makes this thread's non-temporal stores visible to others. Other stores are ordered without it.
void finish_stores();

}  // namespace pumice::cpu
