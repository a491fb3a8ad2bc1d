// Chooses the number of items of a packet.
#pragma once
#include <functional>
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
    int vectors_alive_in_loops() const;

private:
    struct LiveRanges {
        std::vector<int> at, end;   ///< of each instruction, and of the last one inside it
        std::vector<int> from, to;  ///< of each value; to < from: unused
    };
    LiveRanges live_ranges() const;
    bool becomes_fma(ir::Value product) const;
    int most_alive(const LiveRanges& live, int first, int last, int factor, const std::function<bool(ir::Value)>& counts) const;
    bool adds_lane_by_lane() const;
    bool has_long_lanes() const;
    bool waits(std::span<const ir::InstId> insts, int least, int of_an_access, bool floats) const;
    bool loop_waits(int vectors, int spilled) const;
    bool any_loop_waits() const;
    bool branches_either_way(const ir::Inst& branch, std::span<const ir::InstId> loop) const;
    bool innermost_loop_waits(ir::InstId loop) const;
    double longest_chain(ir::InstId loop) const;
    bool gathers(const ir::Inst& i) const;
};

}  // namespace pumice::cpu
