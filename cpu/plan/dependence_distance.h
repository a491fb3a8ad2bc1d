// Two launches of which the second follows the first through the rows of arrays: it does its own rows as soon as the first is done with
// all that they have to do with, and finds them in the caches. No thread waits for another: it does a piece of the first launch and,
// behind it, what no other piece has to do with; the rows where pieces meet come when the first launch is done.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::cpu {

/// What an item does with an array, whose rows are those along the slowest dimension. An item's place is that along the slowest axis of the
/// range.
struct RowAccess {
    bool touches = false, writes = false;
    bool known = true;                            ///< every index of a row is the item's place and a constant:
    int64_t first = INT64_MAX, last = INT64_MIN;  ///< the least and the largest of these
    int rank = 0;                                 ///< of the array
    int64_t element_bytes = 0;
};

/// One a parameter; scalars are not touched.
std::vector<RowAccess> row_accesses(const ir::Kernel& kernel);

/// An array of a launch, and what the launch does with it.
struct RowsTouched {
    RowAccess access;
    uint64_t begin = 0;  ///< an address
    int64_t bytes = 0, rows = 1;
};

/// Which items of the first launch one of the second has to do with, by their places: both touch a row that one of them writes.
struct Lag {
    int64_t first = 0, last = 0;  ///< more than its own
    int64_t bytes = 0;            ///< of what both launches touch
};
/// None where that is not known, or where the launches have no array in common.
std::optional<Lag> lag_between(std::span<const RowsTouched> before, std::span<const RowsTouched> behind);

}  // namespace pumice::cpu
