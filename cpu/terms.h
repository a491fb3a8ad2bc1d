// Sums of indices, taken apart to be compared.
#pragma once
#include <map>
#include <optional>

#include "core/ir.h"

namespace pumice::cpu {

/// A sum, as what it adds up: values so many times, and a constant.
struct Terms {
    std::map<uint32_t, int64_t> counts;
    int64_t constant = 0;

    void add(const ir::Kernel& kernel, ir::Value v, int64_t times, int depth = 0);
    /// Whether only the constant is left.
    bool is_constant() const;
};

/// What `to` is more than `from`.
Terms difference(const ir::Kernel& kernel, ir::Value to, ir::Value from);

/// By how much an index is more than the item's along an axis; none where that is not a constant.
std::optional<int64_t> past_item(const ir::Kernel& kernel, ir::Value index, int axis);

}  // namespace pumice::cpu
