// Dependence distance between two launches, in rows of arrays: how far behind a producer launch may its consumer run?
// cpu/runtime/launch_fusion.cpp fuses two launches by this distance, so that the consumer finds its operands in the caches.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::cpu {

/// The accesses of an item to one array, by rows. A row is one index of the array's slowest dimension; the position of an item is
/// its index along the slowest axis of the range.
struct RowAccess {
    bool touches = false, writes = false;
    bool known = true;                            ///< every row index is the item's position plus a constant:
    int64_t first = INT64_MAX, last = INT64_MIN;  ///< the least and the largest of these constants
    int rank = 0;                                 ///< of the array
    int64_t element_bytes = 0;
};

/// One per kernel parameter; for scalar parameters `touches` stays false.
std::vector<RowAccess> row_accesses(const ir::Kernel& kernel);

/// An array argument of a launch, with the accesses of the launch to it.
struct RowsTouched {
    RowAccess access;
    uint64_t begin = 0;  ///< address of the first byte
    int64_t bytes = 0, rows = 1;
};

/// The dependence distance: an item of the second launch at position p depends on items of the first launch at positions
/// p + first to p + last, because both touch a row that at least one of them writes.
struct DependenceDistance {
    int64_t first = 0, last = 0;  ///< relative to the position of the second launch's item
    int64_t bytes = 0;            ///< of all arrays that either launch touches, each counted once
};
/// Empty if a distance is unknown, or if the launches have no array in common.
std::optional<DependenceDistance> distance_between(std::span<const RowsTouched> before, std::span<const RowsTouched> after);

}  // namespace pumice::cpu
