// Emits accesses to adjacent words of rows that lie anywhere.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cpu/access/interleaved_group.h"
#include "cpu/address/addresses.h"
#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class LaneRows : EmitterPart {
public:
    explicit LaneRows(const EmitterPart& all) : EmitterPart(all) {}

    bool may_lie_in_lane_rows(const ir::Inst& i) const;
    std::optional<InterleavedGroup> lane_rows(ir::InstId id) const;
    std::vector<std::string> addresses_of_rows(const InterleavedGroup& s, const Address& a);
    void load_lane_rows(ir::InstId id, const InterleavedGroup& s);
    void store_lane_rows(const PendingGroupStore& pending);
};

}  // namespace pumice::cpu
