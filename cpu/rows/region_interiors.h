// Emits the packets of barrier regions in two versions: interior and boundary.
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cpu/address/boundary_index.h"
#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

/// When a packet of a region is in the interior, and what is known there.
struct RegionInterior {
    /// `x how limit` in all lanes; x has step 1.
    struct Bound {
        ir::Value x, limit;
        ir::Op how;
    };
    std::vector<Bound> bounds;
    std::vector<ir::Value> flags;             ///< uniform conditions that hold
    std::vector<BoundaryIndex> boundaries;    ///< have their interior values
    std::vector<ir::Value> holding, failing;  ///< conditions that are true, and those that are false, in all lanes
    std::set<uint32_t> own;                   ///< values that the region computes
    bool empty() const { return boundaries.empty() && holding.empty() && failing.empty(); }
};

class RegionInteriors : EmitterPart {
public:
    explicit RegionInteriors(const EmitterPart& all) : EmitterPart(all) {}

    RegionInterior interior_of(std::span<const ir::InstId> insts);
    void versions(const RegionInterior& interior, const Body& body);

private:
    bool is_known(ir::Value v, bool of_item) const;
    std::optional<int64_t> step_along_row(ir::Value v) const;
    bool suits(ir::Value x) const;
    std::optional<RegionInterior::Bound> bound_of(ir::Value condition, bool holds) const;
    bool add_condition(RegionInterior& to, ir::Value condition, bool holds) const;
    bool is_large(const RegionInterior& interior) const;
    std::string is_inside(const RegionInterior& interior);

    std::optional<std::vector<BoundaryIndex>> boundaries;  ///< of the kernel
};

}  // namespace pumice::cpu
