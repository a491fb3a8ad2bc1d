// Best-fit suballocator with coalescing.
//
//   size 100: allocate 30 -> 0, allocate 20 -> 30, release(0, 30), allocate 10 -> 0 (best fit: 30 < 50)
#include "runtime/vulkan_context/rt_suballocator.h"

namespace pumice_rt::vulkan {

int64_t Suballocator::allocate(int64_t bytes) {
    size_t best = ranges.size();
    for (size_t i = 0; i < ranges.size(); ++i)
        if (ranges[i].bytes >= bytes && (best == ranges.size() || ranges[i].bytes < ranges[best].bytes)) best = i;
    // There is at most one free range more than ranges in use, so that no release needs memory.
    if (best == ranges.size() || !ranges.reserve(allocated + 2)) return -1;
    ByteRange& range = ranges[best];
    const int64_t offset = range.offset;
    range.offset += bytes;
    range.bytes -= bytes;
    if (range.bytes == 0) {
        memmove(&range, &range + 1, (ranges.size() - best - 1) * sizeof(ByteRange));
        ranges.resize(ranges.size() - 1);
    }
    free_bytes -= bytes;
    ++allocated;
    return offset;
}

void Suballocator::release(int64_t offset, int64_t bytes) {
    size_t at = 0;
    for (size_t end = ranges.size(); at < end;) {  // the first free range behind the released one
        const size_t middle = (at + end) / 2;
        if (ranges[middle].offset < offset)
            at = middle + 1;
        else
            end = middle;
    }
    free_bytes += bytes;
    --allocated;
    const bool joins_before = at > 0 && ranges[at - 1].offset + ranges[at - 1].bytes == offset;
    const bool joins_after = at < ranges.size() && offset + bytes == ranges[at].offset;
    if (joins_before) {
        ranges[at - 1].bytes += bytes;
        if (!joins_after) return;
        ranges[at - 1].bytes += ranges[at].bytes;
        memmove(&ranges[at], &ranges[at] + 1, (ranges.size() - at - 1) * sizeof(ByteRange));
        ranges.resize(ranges.size() - 1);
    } else if (joins_after) {
        ranges[at].offset = offset;
        ranges[at].bytes += bytes;
    } else {
        ranges.resize(ranges.size() + 1);
        memmove(&ranges[at] + 1, &ranges[at], (ranges.size() - at - 1) * sizeof(ByteRange));
        ranges[at] = {offset, bytes};
    }
}

}  // namespace pumice_rt::vulkan
