// Wide packets: packets of more items for narrow elements.
#pragma once
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

/// Chooses how many times as many items a wide packet has.
class WidePackets : EmitterPart {
public:
    explicit WidePackets(const EmitterPart& all) : EmitterPart(all) {}

    int lane_bytes(const ir::Inst& i) const;
    int choose_wide() const;

private:
    bool whole_in_wide_packets(const ir::Inst& i) const;
    double vector_instructions(const std::vector<bool>& needed, int factor) const;
    std::vector<bool> needed_by_effects() const;
};

}  // namespace pumice::cpu
