// Stencils turned around: where items read x[i + c] for several constants c, the adjoint of x[i] is gathered by item i from what
// the items i - c give to it, instead of being scattered by these with atomics.
#pragma once
#include <array>
#include <map>

#include "autodiff/tape.h"

namespace pumice::derive {

/// Which memories of a kernel are gathered. Such a kernel is straight: it reads arrays that it does not write, and writes each
/// differentiated array in one place; so what any item gives can be computed by another.
class Gather {
public:
    using Offset = std::array<int64_t, 3>;  ///< along each axis

    using Loads = std::vector<std::pair<ir::InstId, Offset>>;

    Gather(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis);

    bool any() const { return !loads.empty(); }
    bool has(ir::MemoryId m) const { return loads.count(m.id) > 0; }
    /// The active loads of each gathered memory, with their offsets.
    std::map<uint32_t, Loads> loads;
    static bool alone_beyond(const Loads& list);
    /// Where a value is used so that derivatives flow: the instruction and the operand's position.
    const std::vector<std::pair<ir::InstId, size_t>>& users(ir::Value v) const { return users_of[v.id]; }

private:
    bool straight() const;
    bool offset_of(const ir::Inst& load, Offset& offset, std::vector<int>& axes) const;

    const ir::Kernel& k;
    const ir::Structure& where;
    const Analysis& analysis;
    std::vector<std::vector<std::pair<ir::InstId, size_t>>> users_of;
};

}  // namespace pumice::derive
