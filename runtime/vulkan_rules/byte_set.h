// Byte ranges of buffers that commands have touched, for hazard tracking.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>
#include <utility>

namespace pumice_rt::vulkan {

/// The bytes [begin, end) of a buffer.
struct ByteRange {
    uint64_t buffer;
    int64_t begin, end;
};

/// A set of bytes of buffers, as sorted ranges that neither overlap nor touch. A query is a binary search; adjacent arrays are
/// one range. `Ranges`: a growing array of ByteRange, whose resize() may give false where there is no host memory. `Access`: has
/// the members of a ByteRange.
template <class Ranges> class ByteSet {
public:
    template <class... A> explicit ByteSet(A&&... arguments) : ranges(std::forward<A>(arguments)...) {}

    /// True if the set contains a byte of the range.
    template <class Access> bool meets(const Access& range) const {
        if (range.begin >= range.end) return false;
        // The only candidate is the first range that ends after the other's begin: earlier ranges end before it.
        const size_t at = first_not_before(range.buffer, range.begin + 1);
        return at < ranges.size() && ranges[at].buffer == range.buffer && ranges[at].begin < range.end;
    }
    /// False if there is no host memory; the set is then as before.
    template <class Access> bool add(const Access& range) {
        if (range.begin >= range.end) return true;
        // All ranges that overlap or touch the new one are merged with it.
        const size_t first = first_not_before(range.buffer, range.begin), before = ranges.size();
        ByteRange all{range.buffer, range.begin, range.end};
        size_t last = first;
        for (; last < before && ranges[last].buffer == all.buffer && ranges[last].begin <= all.end; ++last) {
            if (ranges[last].begin < all.begin) all.begin = ranges[last].begin;
            if (ranges[last].end > all.end) all.end = ranges[last].end;
        }
        if (first == last && !resize(before + 1)) return false;
        memmove(ranges.data() + first + 1, ranges.data() + last, (before - last) * sizeof(ByteRange));
        ranges[first] = all;
        return resize(before + 1 - (last - first));
    }
    void clear() { ranges.clear(); }
    bool empty() const { return ranges.size() == 0; }

private:
    /// The first range that ends at or behind `begin` in this buffer, or that is of a later buffer.
    size_t first_not_before(uint64_t buffer, int64_t begin) const {
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
    bool resize(size_t count) {
        if constexpr (std::is_void_v<decltype(std::declval<Ranges&>().resize(count))>)
            return ranges.resize(count), true;
        else
            return ranges.resize(count);
    }

    Ranges ranges;
};

}  // namespace pumice_rt::vulkan
