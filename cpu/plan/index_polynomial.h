// Index polynomials: integer indices as sums of products of values, so that two indices can be compared symbolically.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::cpu {

/// A polynomial: `coefficients` maps each product of values to its integer coefficient; `constant` is the term without values.
/// An index of n bits equals its polynomial modulo 2^n. A sum computed in fewer than 32 bits is one opaque value.
struct IndexPolynomial {
    using Product = std::vector<uint32_t>;  ///< ids of its factors, at least one, sorted
    std::map<Product, int64_t> coefficients;
    int64_t constant = 0;

    void add(const ir::Kernel& kernel, ir::Value v, int64_t times, int depth = 0);
    /// Reduces coefficients and constant modulo 2^bits into [-2^(bits - 1), 2^(bits - 1)), and drops terms whose coefficient is
    /// 0.
    void cut(int bits);
    /// True if no product is left after cut().
    bool is_constant() const;
    /// The axis of the range whose stride is the product `step` (an empty product is stride 1): step * global_index(axis) is a
    /// term with coefficient 1. -1 if no axis or more than one has this stride.
    int axis_of(const ir::Kernel& kernel, const Product& step) const;
};

/// The polynomial of an integer value, reduced to the bits of its type.
IndexPolynomial polynomial_of(const ir::Kernel& kernel, ir::Value v);

/// The polynomial `to` - `from`, reduced to the bits of the narrower type.
IndexPolynomial difference(const ir::Kernel& kernel, ir::Value to, ir::Value from);

/// Bit set of the axes on whose global index, or with `groups` group index, a value depends by at most 8 nested instructions.
uint32_t axes_of(const ir::Kernel& kernel, ir::Value v, bool groups = true, int depth = 0);

/// The constant c of an index of the form global_index(axis) + c; empty for other indices.
std::optional<int64_t> offset_from_item(const ir::Kernel& kernel, ir::Value index, int axis);

}  // namespace pumice::cpu
