// Best-fit suballocator: ranges within one large block, as a pure data structure.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace pumice::vulkan {

/// Allocates ranges of [0, size) by best fit and merges released ranges. Callers round sizes up to one granularity, which is then
/// the alignment of every offset, too.
class Suballocator {
public:
    explicit Suballocator(int64_t size);
    /// Allocates `bytes` > 0 bytes: the offset, or nullopt if no free range is large enough.
    std::optional<int64_t> allocate(int64_t bytes);
    /// Releases exactly one range that allocate returned.
    void release(int64_t offset, int64_t bytes);
    bool empty() const { return free_bytes == size; }
    int64_t free() const { return free_bytes; }
    /// Bytes of the largest free range.
    int64_t largest() const { return by_size.empty() ? 0 : by_size.rbegin()->first; }

private:
    void insert(int64_t offset, int64_t bytes);
    void erase(std::map<int64_t, int64_t>::iterator range);

    int64_t size = 0, free_bytes = 0;
    std::map<int64_t, int64_t> by_offset;           // free ranges, offset -> bytes; no two adjoin
    std::set<std::pair<int64_t, int64_t>> by_size;  // the same, (bytes, offset)
};

}  // namespace pumice::vulkan
