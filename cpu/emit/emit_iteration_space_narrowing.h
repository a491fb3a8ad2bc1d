// Regions in which only the first items of each row are active.
#pragma once
#include <span>
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

/// Finds regions that do something for the first items of each row alone, and how many those are.
class IterationSpaceNarrowing : EmitterPart {
public:
    explicit IterationSpaceNarrowing(const EmitterPart& all) : EmitterPart(all) {}

    ir::Value bound_of(std::span<const ir::InstId> insts) const;
    std::string bounded_row(ir::Value bound);

private:
    ir::Value bound_in(ir::Value condition) const;
};

}  // namespace pumice::cpu
