// The work-items that an instruction of the reference interpreter acts on.
#pragma once
#include <cstdint>

namespace pumice::interp {

/// Work-items of one group by their linear index in the group, ascending. Each nested construct owns its list and may shorten it.
struct Items {
    uint16_t* list = nullptr;
    int count = 0;

    bool empty() const { return count == 0; }
    /// True if the items are list[0], list[0] + 1, ...: loops over them then need no look-up, and the compiler vectorises them.
    bool contiguous() const { return count == 0 || list[count - 1] - list[0] + 1 == count; }
};

/// Calls f(item) for each item, in order.
template <class F> inline __attribute__((always_inline)) void each(Items items, F&& f) {
    if (items.contiguous()) {
        const int first = items.count ? items.list[0] : 0, end = first + items.count;
        for (int item = first; item < end; ++item) f(item);
    } else {
        for (int n = 0; n < items.count; ++n) f(items.list[n]);
    }
}

/// Keeps the items for which keep(item) holds.
template <class F> void keep_if(Items& items, F&& keep) {
    int kept = 0;
    for (int n = 0; n < items.count; ++n) {
        const uint16_t item = items.list[n];
        items.list[kept] = item;
        kept += keep(item) ? 1 : 0;
    }
    items.count = kept;
}

}  // namespace pumice::interp
