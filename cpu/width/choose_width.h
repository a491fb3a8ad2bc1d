// Chooses the number of items of a packet.
#pragma once
#include <span>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class WidthChoice : EmitterPart {
public:
    explicit WidthChoice(const EmitterPart& all) : EmitterPart(all) {}

    void choose_width();
    bool lane_by_lane(const ir::Inst& i) const;
    int vectors_alive(int factor = 1) const;

private:
    bool adds_lane_by_lane() const;
    bool has_long_lanes() const;
    bool waits(std::span<const ir::InstId> insts, int least, int of_an_access, bool floats) const;
    bool loop_waits(int vectors, int spilled) const;
    bool any_loop_waits() const;
    bool branches_either_way(const ir::Inst& branch, std::span<const ir::InstId> loop) const;
    bool waits(ir::InstId loop) const;
    double longest_chain(ir::InstId loop) const;
    bool gathers(const ir::Inst& i) const;
};

}  // namespace pumice::cpu
