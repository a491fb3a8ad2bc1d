// Values as affine functions of the item's indices: what makes an access contiguous, and items' places disjoint.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "core/analysis/uniformity.h"
#include "core/ir/ir.h"

namespace pumice::ir {

/// factor * times, where `times` is a value of the remainder's kind; factor alone where there is none.
struct Coefficient {
    int64_t factor = 0;
    Value times;
    bool operator==(const Coefficient&) const = default;
    bool constant() const { return !times; }
    bool zero() const { return factor == 0; }
};

/// value = sum over axes of local[axis] * local_index(axis) + global[axis] * global_index(axis), + remainder, modulo 2^bits. The
/// remainder is base + offset where it is known, and the same for all items of `rest` in any case.
///
/// `bits` is 64 where the value, as an integer, is the form: it and all that it is made of cannot wrap, as indices of the range do not.
/// Arithmetic wraps, so that a sum or product of n bits is the form modulo 2^n. What is widened then keeps its n bits: that of 8 bits says
/// nothing about a place in an array. So each user of a form asks for the bits that it needs: `step(bits)`.
struct AffineForm {
    bool known = false;              ///< else none of the rest means anything
    std::array<Coefficient, 3> local, global;
    Scope rest = Scope::launch;      ///< subgroup at most
    bool composed = false;           ///< the remainder is a uniform value that no instruction of the kernel has computed
    Value base;                      ///< where not composed; none: 0
    int64_t offset = 0;
    int bits = 64;
    bool exact = true;               ///< the value, and each one that it is computed from, is its form in all bits of its type
    bool operator==(const AffineForm&) const = default;
    bool uniform() const;            ///< no index takes part
    /// The constant by which the value grows, modulo 2^modulo, from one item to the next along an axis: from -2^(modulo - 1) on and below
    /// 2^(modulo - 1). None where it is no constant, or the form does not hold in so many bits.
    std::optional<int64_t> step(int modulo, size_t axis = 0) const;
};

/// The forms of a kernel's integers. A loop's carried value has one where each iteration adds the same for all items.
class Affine {
public:
    Affine(const Kernel& kernel, const Uniformity& uniformity);
    const AffineForm& of(Value v) const { return forms[v.id]; }

private:
    enum class State : uint8_t { unset, affine, other };
    void walk(BlockId block);
    void visit(InstId i);
    void columns(InstId i);
    void update(Value v, AffineForm f);
    AffineForm form_of(const Inst& i) const;
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
