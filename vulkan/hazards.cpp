#include "vulkan/hazards.h"

#include <tuple>

namespace pumice::vulkan {

bool Bytes::meets(const Access& access) const {
    if (access.begin >= access.end) return false;
    // The first range that ends behind the access's begin is the only one that can be the first to meet it.
    const auto at = std::partition_point(ranges.begin(), ranges.end(), [&](const Range& r) {
        return std::tie(r.buffer, r.end) <= std::tie(access.buffer, access.begin);
    });
    return at != ranges.end() && at->buffer == access.buffer && at->begin < access.end;
}

void Bytes::add(const Access& access) {
    if (access.begin >= access.end) return;
    // All that overlap or touch become one.
    const auto first = std::partition_point(ranges.begin(), ranges.end(), [&](const Range& r) {
        return std::tie(r.buffer, r.end) < std::tie(access.buffer, access.begin);
    });
    auto last = first;
    Range all{access.buffer, access.begin, access.end};
    for (; last != ranges.end() && last->buffer == all.buffer && last->begin <= all.end; ++last) {
        all.begin = std::min(all.begin, last->begin);
        all.end = std::max(all.end, last->end);
    }
    if (first == last) {
        ranges.insert(first, all);
    } else {
        *first = all;
        ranges.erase(first + 1, last);
    }
}

bool Hazards::needs_barrier(std::span<const Access> accesses) const {
    for (const Access& next : accesses)
        if (written.meets(next) || (next.write && read.meets(next))) return true;
    return false;
}

void Hazards::add(std::span<const Access> accesses) {
    for (const Access& next : accesses) (next.write ? written : read).add(next);
}

}  // namespace pumice::vulkan
