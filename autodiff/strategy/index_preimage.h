// Preimages of indices: which values of the affine position have an index that is a given element?
#pragma once
#include <array>
#include <cmath>
#include <limits>

#include "autodiff/strategy/affine_index.h"

namespace pumice::derive {

/// The set of values from slope * t + low to slope * t + high, for the elements t from `first` to `last`; with a period, also
/// those at its multiples.
struct Piece {
    double slope = 1, low = 0, high = 0, period = 0, first = 0, last = 0;
    bool finite() const { return std::isfinite(low) && std::isfinite(high); }
    bool empty() const { return first > last || low > high; }
    void shift(double by) { low += by, high += by; }
    void scale(double by) {
        slope *= by, low *= by, high *= by;
        if (by < 0) std::swap(low, high);
    }
    /// Keeps the elements for which some value lies between the bounds, and of a constant piece these values.
    void restrict_to(double least, double most);
    /// The largest absolute value of an end.
    double largest() const;
};

/// The pieces of the base of indices, one tap after the other.
class Preimage {
public:
    Preimage(const Uniform& uniform, const AffineBase& base, const Affine& affine, const HostValues& known, int64_t start,
             int64_t end);
    std::vector<Piece> pieces;
    bool refused = false;  ///< an operation cannot be inverted, or may wrap
    /// Adds the pieces for which the index of the tap is an element below `elements`.
    void pull(const IndexTap& tap, int64_t elements);

private:
    struct Bounds {
        double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
        double largest() const { return std::fmax(std::abs(least), std::abs(most)); }
    };
    struct Known {
        ir::Value v;
        Bounds bounds;
    };
    double number(ir::Value v) const;
    void assume(ir::Value condition, bool holds);
    Bounds range_of(ir::Value v);
    Bounds selected(const ir::Inst& i, const std::array<Bounds, 3>& r) const;
    bool clamps(const ir::Inst& select, ir::Op by) const;
    void widen(Piece& p, Scalar type) const;
    void pull(ir::Value v, Piece p);
    void pull_clamp(ir::Op op, ir::Value x, ir::Value y, Piece p);
    void pull_select(const ir::Inst& i, const Piece& p);
    void pull_product(const ir::Inst& i, Piece p);

    const Uniform& uniform;
    const ir::Kernel& k = uniform.k;
    const AffineBase& base;
    const HostValues& known;
    Bounds of_base;
    std::vector<Known> bounds;
};

}  // namespace pumice::derive
