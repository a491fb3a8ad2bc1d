// Finds the indices that a kernel wraps or clamps at the boundary.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class BoundaryIndices : EmitterPart {
public:
    explicit BoundaryIndices(const EmitterPart& all) : EmitterPart(all) {}

    std::vector<BoundaryIndex> find_boundary_indices() const;
    std::vector<BoundaryIndex> clamped_indices() const;
    const ir::Inst* counted_loop_of(ir::Value v) const;

    static constexpr int64_t most_iterations = 1 << 20;  ///< of a loop whose counter moves an index

private:
    std::optional<BoundaryIndex> boundary_index_of(const ir::Inst& i, std::span<const BoundaryIndex> before) const;
    ir::Value counter_of(ir::Value v) const;
};

}  // namespace pumice::cpu
