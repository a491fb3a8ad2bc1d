// Sums of indices, taken apart to be compared.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::cpu {

/// A sum of products, as what it adds up: products of values so many times, and a constant. What is computed in n bits is that sum modulo
/// 2^n; sums in less than 32 bits are taken for one value.
struct Terms {
    using Product = std::vector<uint32_t>;  ///< of one value or more, in order
    std::map<Product, int64_t> counts;
    int64_t constant = 0;

    void add(const ir::Kernel& kernel, ir::Value v, int64_t times, int depth = 0);
    /// Numbers from -2^(bits - 1) on and below 2^(bits - 1) that are the same modulo 2^bits, without terms that then are none.
    void cut(int bits);
    /// True where only the constant is left after the cut.
    bool is_constant() const;
    /// The axis of the range along which items are apart by a product, or by 1 where it is empty: its product with the item's place along
    /// that axis is a term. -1 where there is no such axis, or several are.
    int axis_of(const ir::Kernel& kernel, const Product& step) const;
};

/// Those of an integer, cut to its bits.
Terms terms_of(const ir::Kernel& kernel, ir::Value v);

/// `to` - `from`, cut to the bits of both.
Terms difference(const ir::Kernel& kernel, ir::Value to, ir::Value from);

/// By how much an index is more than the item's along an axis; none where that is not a constant.
std::optional<int64_t> past_item(const ir::Kernel& kernel, ir::Value index, int axis);

}  // namespace pumice::cpu
