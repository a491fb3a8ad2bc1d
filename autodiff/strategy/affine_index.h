// Affine indices: the position that an index is made of, s * global_index(axis) + o, and what the host knows of its numbers.
#pragma once
#include <optional>
#include <span>
#include <unordered_map>

#include "autodiff/analysis/transform.h"

namespace pumice::derive {

/// The affine value that an index is made of: s * global_index(axis) + o, with s and o the same for all items.
struct AffineBase {
    ir::Value value;
    int axis = -1;           ///< of the primal's range
    bool periodic = false;   ///< an infinite number of parts of the line have one index: value - floor(value) is on the way
    bool reflected = false;  ///< each part is followed by its mirror image
    bool cut = false;        ///< a clamp is on the way: the elements at its ends may have many items
};

/// The base of an i32 index: of operations with known inverses on one affine value and on values that are the same for all items.
/// None where there is no such base.
std::optional<AffineBase> affine_base(const ir::Kernel& k, ir::Value index);

/// A condition that holds, or does not, where the index is used.
struct IndexCondition {
    ir::Value condition;
    bool holds = true;
    bool operator==(const IndexCondition&) const = default;
};
/// One index with this base.
struct IndexTap {
    ir::Value index;
    std::vector<IndexCondition> conditions;
    bool operator==(const IndexTap&) const = default;
};
/// Those of the conditions, or of the operands of their conjunction, that compare a value of which the index is made.
std::vector<IndexCondition> conditions_on(const ir::Kernel& k, ir::Value index, std::span<const IndexCondition> all);

/// A scalar argument, or the extent of an array along an axis, of which indices are made.
struct InputOfIndex {
    size_t parameter;
    int axis;  ///< -1: a scalar
};
std::vector<InputOfIndex> inputs_of(const ir::Kernel& k, std::span<const IndexTap> taps);

// ---- numbers ----

/// The relative error of an operation in this type, at most: 8 units in the last place.
double error_of(Scalar type);
constexpr bool is_wide_float(Scalar type) { return type == Scalar::f32 || type == Scalar::f64; }
inline const ir::Inst* source_of(const ir::Kernel& k, ir::Value v) { return k[v].inst.id == ir::none ? nullptr : &k[k[v].inst]; }

/// Remembers which values are the same for all items, and known to the host.
class Uniform {
public:
    explicit Uniform(const ir::Kernel& kernel) : k(kernel) {}
    const ir::Kernel& k;
    bool has(ir::Value v) const;

private:
    mutable std::unordered_map<uint32_t, bool> known;
};

/// A float that the device computes with at most this error, or an integer.
struct Approximate {
    double value = 0, error = 0;
};
/// Such a value.
Approximate uniform_value(const ir::Kernel& k, ir::Value v, const HostValues& known);

/// scale * index + offset; the device computes it with at most this error. `most`: the largest absolute value in the range.
struct Affine {
    double scale = 0, offset = 0, error = 0, most = 0;
};
class AffineValues {
public:
    /// For items from `start` up to `end`.
    AffineValues(const Uniform& uniform, const HostValues& known, int64_t start, int64_t end)
        : uniform(uniform), known(known), start(double(start)), last(double(end - 1)) {}
    bool overflow = false;  ///< an integer may wrap
    Affine of(ir::Value v);

private:
    Affine finished(Affine a, Scalar type);
    const Uniform& uniform;
    const ir::Kernel& k = uniform.k;
    const HostValues& known;
    const double start, last;
};

/// x, where the value is x - c * floor(x / c) with the period c; none for c = 1.
struct Fraction {
    ir::Value x, period;
};
std::optional<Fraction> fraction(const ir::Kernel& k, const ir::Inst& i);
/// True for floor, ceil and the like.
bool rounds(ir::Op op);

}  // namespace pumice::derive
