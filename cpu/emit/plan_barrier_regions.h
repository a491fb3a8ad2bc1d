// Plans the regions between barriers, and what packets save from one to the next.
#pragma once
#include <span>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class RegionPlanner : EmitterPart {
public:
    explicit RegionPlanner(const EmitterPart& all) : EmitterPart(all) {}

    void plan_regions();
    bool recomputable(ir::Value v) const;

private:
    void plan_block(ir::BlockId b, int& region);
    void plan_uses(std::span<const ir::Value> v, int region);
    void plan_columns(ir::InstId construct);
    void share_columns();
    int64_t spill_offset(ir::Value v);
};

}  // namespace pumice::cpu
