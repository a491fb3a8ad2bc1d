// Linear index analysis: integers as affine functions of the item's indices, sum of coefficient * index + uniform remainder.
// Why: a step of 1 from item to item makes an access contiguous, 0 makes it uniform, and other steps keep items' places
// disjoint.
//
//   %0 = argument arg2 : i32
//   %1 = global_index 0 : i32            # form: g0
//   %4 = mul %1, %0 : i32                # form: g0*%0                      step(32): none, %0 is no constant
//   %5 = add %4, %3 : i32                # form: g0*%0 + 3                  (%3 = constant 3)
//   %6 = mul %1, %3 : i32                # form: 3*g0                       step(32) = 3
//   %7 = rem %1, %3 : i32                # form: none
//
// Method: optimistic fixpoint. A carried value takes the form of its first source until another one contradicts; a base that
// differs then becomes `composed`, a coefficient that differs makes the form unknown. Forms hold modulo 2^bits, since
// arithmetic wraps.
// Cost: the rounds are linear in the kernel. A form changes a few times at most (fewer bits, composed, unknown).
// Limits: coefficients are constants, or a constant times one uniform value; no division, min, max or select by item, and
// remainders and bit operations only where packets are aligned (packet_steps.h); sums of two uniform values have no base.
// Uniformity comes first.
// Textbook name: affine divergence analysis (Sampaio et al., "Divergence analysis with affine constraints", SBAC-PAD 2012).
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "core/analysis/uniformity.h"
#include "core/ir/ir.h"

namespace pumice::ir {

/// factor * times, where `times` is a uniform value; factor alone if `times` is none.
struct Coefficient {
    int64_t factor = 0;
    Value times;
    bool operator==(const Coefficient&) const = default;
    bool constant() const { return !times; }
    bool zero() const { return factor == 0; }
};

/// value = sum over axes of local[axis] * local_index(axis) + global[axis] * global_index(axis), + remainder, modulo 2^bits.
/// The remainder is base + offset unless `composed`, and in any case uniform in the scope `rest`.
///
/// `bits` is 64 if the value equals the form as an integer: neither the value nor its operands can wrap, as is true of the
/// range's indices. A sum or product of an n-bit type wraps, so it equals the form modulo 2^n only, and still does after a cast
/// to a wider type. A form modulo 2^8 says nothing about a place in an array, so each user of a form asks for the bits that it
/// needs: `step(bits)`.
///
/// Two items in the same iterations of the loops have the same base. To compare items in different iterations, the base must be
/// the same all over the launch: autodiff/analysis/item_disjointness.cpp has a form of that kind.
struct AffineForm {
    bool known = false;  ///< if false, the other members have no meaning
    std::array<Coefficient, 3> local, global;
    Scope rest = Scope::launch;  ///< never item
    bool composed = false;       ///< the remainder is uniform, but no value of the kernel equals it
    Value base;                  ///< unless composed; none stands for 0
    int64_t offset = 0;
    int bits = 64;
    bool exact = true;  ///< the value, and each value it is computed from, equals its form in all bits of its type
    bool operator==(const AffineForm&) const = default;
    bool uniform() const;  ///< all coefficients are zero
    /// The constant difference, modulo 2^modulo, between adjacent items along an axis, at least -2^(modulo - 1) and below
    /// 2^(modulo - 1). None if the difference is not constant, or if the form holds in fewer bits.
    std::optional<int64_t> step(int modulo, size_t axis = 0) const;
};

/// The forms of a kernel's integers. A carried value has a form if each iteration adds a uniform amount to it.
class LinearIndex {
public:
    LinearIndex(const Kernel& kernel, const Uniformity& uniformity);
    const AffineForm& of(Value v) const { return forms[v.id]; }

private:
    enum class State : uint8_t { unset, affine, other };
    void walk(BlockId block);
    void visit(InstId i);
    void columns(InstId i);
    void update(Value v, AffineForm f);
    AffineForm form_of(const Inst& i) const;
    AffineForm in_packet(const Inst& i) const;
    AffineForm remainder(Value v) const;
    AffineForm converted(Scalar from, AffineForm f, Scalar to) const;
    AffineForm sum(const AffineForm& a, const AffineForm& b, int64_t sign) const;
    AffineForm product(const AffineForm& a, const AffineForm& b) const;

    const Kernel& k;
    const Uniformity& uniformity;
    std::vector<AffineForm> forms;
    std::vector<State> states;
    bool changed = false;
};

}  // namespace pumice::ir
