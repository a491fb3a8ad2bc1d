// Values as affine functions of the item's indices: what makes an access contiguous, and items' places disjoint.
#pragma once
#include <array>
#include <vector>

#include "core/ir.h"
#include "core/uniformity.h"

namespace pumice::ir {

/// factor * times, where `times` is a value of the remainder's kind; factor alone where there is none.
struct Coefficient {
    int64_t factor = 0;
    Value times;
    bool operator==(const Coefficient&) const = default;
    bool constant() const { return !times; }
    bool zero() const { return factor == 0; }
};

/// value = sum over axes of local[axis] * local_index(axis) + global[axis] * global_index(axis), + remainder, modulo 2^bits of
/// the value's type. The remainder is base + offset where it is known, and the same for all items of `rest` in any case.
struct AffineForm {
    bool known = false;              ///< else none of the rest means anything
    std::array<Coefficient, 3> local, global;
    Scope rest = Scope::launch;      ///< subgroup at most
    bool composed = false;           ///< the remainder is a uniform value that no instruction of the kernel has computed
    Value base;                      ///< where not composed; none: 0
    int64_t offset = 0;
    bool exact = true;               ///< false: an integer was widened that is taken not to have wrapped (as an index inside
                                     ///< its array has not)
    bool operator==(const AffineForm&) const = default;
    bool uniform() const;            ///< no index takes part
    /// The constant by which the value grows from one item to the next along axis 0, if there is one: sets `step`.
    bool step(int64_t& step) const;
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
    void update(Value v, const AffineForm& f);
    AffineForm form_of(const Inst& i) const;
    AffineForm remainder(Value v) const;
    AffineForm sum(const AffineForm& a, const AffineForm& b, int64_t sign) const;
    AffineForm product(const AffineForm& a, const AffineForm& b) const;

    const Kernel& k;
    const Uniformity& uniformity;
    std::vector<AffineForm> forms;
    std::vector<State> states;
    bool changed = false;
};

}  // namespace pumice::ir
