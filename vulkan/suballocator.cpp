// Best-fit suballocator with coalescing: ranges of one large driver allocation, as a pure data structure.
//
// Free ranges are kept in two trees, by offset and by size. An allocation takes the smallest range that is large enough, and
// splits it; a release merges the range with its free neighbours.
//
//   size 100: allocate 30 -> 0, allocate 20 -> 30, release(0, 30), allocate 10 -> 0 (best fit: 30 < 50)
//
// Cost: logarithmic in the number of free ranges. Limits: no alignment of its own: callers round sizes up to one granularity,
// which is then the alignment of all offsets. Giving a range back twice is a library bug. Textbook: Knuth, TAOCP 1, section 2.5.
#include "vulkan/suballocator.h"

#include "core/support/error.h"

namespace pumice::vulkan {

Suballocator::Suballocator(int64_t bytes) : size(bytes), free_bytes(bytes) {
    if (bytes > 0) insert(0, bytes);
}

std::optional<int64_t> Suballocator::allocate(int64_t bytes) {
    const auto best = by_size.lower_bound({bytes, 0});
    if (best == by_size.end()) return std::nullopt;
    const auto [range_bytes, offset] = *best;
    erase(by_offset.find(offset));
    if (range_bytes > bytes) insert(offset + bytes, range_bytes - bytes);
    free_bytes -= bytes;
    return offset;
}

void Suballocator::release(int64_t offset, int64_t bytes) {
    free_bytes += bytes;
    const auto after = by_offset.lower_bound(offset);
    if (after != by_offset.end() && after->first < offset + bytes)
        library_bug(text("the range at ", offset, " of ", bytes, " bytes is given back twice"));
    int64_t begin = offset, end = offset + bytes;
    if (after != by_offset.begin()) {
        const auto before = std::prev(after);
        if (before->first + before->second > offset)
            library_bug(text("the range at ", offset, " of ", bytes, " bytes is given back twice"));
        if (before->first + before->second == offset) {
            begin = before->first;
            erase(before);
        }
    }
    if (after != by_offset.end() && after->first == end) {
        end += after->second;
        erase(after);
    }
    insert(begin, end - begin);
}

void Suballocator::insert(int64_t offset, int64_t bytes) {
    by_offset.emplace(offset, bytes);
    by_size.emplace(bytes, offset);
}

void Suballocator::erase(std::map<int64_t, int64_t>::iterator range) {
    by_size.erase({range->second, range->first});
    by_offset.erase(range);
}

}  // namespace pumice::vulkan
