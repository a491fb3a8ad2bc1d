// What is larger than the caches: how much that is, and bytes that are moved past them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pumice::cpu {

/// Arrays of more bytes than these, together, are not in the caches any more when so many threads use them again.
int64_t bytes_in_caches(int threads);

/// Those of a core's first-level cache.
int64_t bytes_in_first_cache();

/// memcpy. With `past_caches`, what is written is not read before, leaves the caches to others, and is
/// there for other threads behind finish_stores().
void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes, bool past_caches);

/// What this thread has stored past the caches is where others look for it. Other stores are in order by themselves.
void finish_stores();

}  // namespace pumice::cpu
