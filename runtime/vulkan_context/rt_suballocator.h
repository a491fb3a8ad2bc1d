// Best-fit suballocator: ranges within one large block of memory, as a pure data structure.
#pragma once
#include "runtime/support/hook_memory.h"

namespace pumice_rt::vulkan {

/// Allocates ranges of [0, size) by best fit and merges released ranges. Callers round sizes up to one granularity, which is then
/// the alignment of every offset, too. Free ranges are a list sorted by offset: an allocation is linear in their number.
class Suballocator {
public:
    Suballocator(const pumice_hooks& hooks, int64_t size) : ranges(hooks), size(size), free_bytes(size) {}
    /// False if there is no host memory. To be called once.
    bool start() { return ranges.push({0, size}); }
    /// The offset of `bytes` > 0 bytes, or -1 if no free range is large enough. Host memory is reserved for the release.
    int64_t allocate(int64_t bytes);
    /// Releases exactly one range that allocate returned.
    void release(int64_t offset, int64_t bytes);
    bool empty() const { return free_bytes == size; }

private:
    struct ByteRange {
        int64_t offset, bytes;
    };
    List<ByteRange> ranges;  // free ones, by offset; no two adjoin
    int64_t size, free_bytes;
    size_t allocated = 0;  // ranges in use
};

}  // namespace pumice_rt::vulkan
