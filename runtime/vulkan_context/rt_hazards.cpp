// Hazard tracking for automatic barriers: read-after-write, write-after-read and write-after-write, by byte ranges of buffers.
//
//   fill a[0, 64)              written = {a[0, 64)}
//   read a[0, 64), write b     conflict: barrier, sets cleared; then read = {a[0, 64)}, written = {b}
//   read a[32, 64)             two reads: no barrier
//
// A query is a binary search. Ranges are merged, so that adjacent arrays are one range.
#include "runtime/vulkan_context/rt_hazards.h"

namespace pumice_rt::vulkan {

/// The first range that ends at or behind `begin` in this buffer, or that is of a later buffer.
size_t Bytes::first_not_before(uint64_t buffer, int64_t begin) const {
    size_t at = 0;
    for (size_t end = ranges.size(); at < end;) {
        const size_t middle = (at + end) / 2;
        const ByteRange& r = ranges[middle];
        if (r.buffer < buffer || (r.buffer == buffer && r.end < begin))
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

bool Bytes::meets(const BufferAccess& access) const {
    if (access.begin >= access.end) return false;
    const size_t at = first_not_before(access.buffer, access.begin + 1);
    return at < ranges.size() && ranges[at].buffer == access.buffer && ranges[at].begin < access.end;
}

bool Bytes::add(const BufferAccess& access) {
    if (access.begin >= access.end) return true;
    // All ranges that overlap or touch the new one are merged with it.
    const size_t first = first_not_before(access.buffer, access.begin);
    ByteRange all{access.buffer, access.begin, access.end};
    size_t last = first;
    for (; last < ranges.size() && ranges[last].buffer == all.buffer && ranges[last].begin <= all.end; ++last) {
        if (ranges[last].begin < all.begin) all.begin = ranges[last].begin;
        if (ranges[last].end > all.end) all.end = ranges[last].end;
    }
    const size_t before = ranges.size();
    if (first == last && !ranges.resize(before + 1)) return false;
    memmove(ranges.data() + first + 1, ranges.data() + last, (before - last) * sizeof(ByteRange));
    ranges[first] = all;
    ranges.resize(before + 1 - (last - first));
    return true;
}

bool Hazards::needs_barrier(const BufferAccess* accesses, uint32_t count, bool indirect) const {
    if (overflown || (indirect && (hidden || !written.empty()))) return true;
    for (uint32_t i = 0; i < count; ++i)
        if (written.meets(accesses[i]) || (accesses[i].write && read.meets(accesses[i]))) return true;
    return false;
}

void Hazards::add(const BufferAccess* accesses, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        if (!(accesses[i].write ? written : read).add(accesses[i])) overflown = true;
}

}  // namespace pumice_rt::vulkan
