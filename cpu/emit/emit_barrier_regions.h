// Emits groups with barriers: a loop over the packets for each region.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class BarrierRegions : EmitterPart {
public:
    explicit BarrierRegions(const EmitterPart& all) : EmitterPart(all) {}

    void open_slots();
    void group_with_barriers();
    void save_if_live_out(ir::Value v);
    /// Emits a group that lies in the range so that several rows run together (cpu/emit/emit_jammed_rows.cpp), if set.
    std::function<void()> jammed_group;

private:
    void store_alive();
    void packets_of_group(const Body& body, const std::string& row = "");
    void region_block(ir::BlockId b);
    void region(std::span<const ir::InstId> insts, ir::InstId end);
    std::string group_inside();
    void full_and_partial_groups(const Body& whole);
    void restore(ir::Value v);
    void restore_operand(ir::Value v, std::span<const ir::InstId> insts);
    void save_value(ir::Value v, const ValueRep& h, int64_t offset);
    void save_live_outs(ir::InstId end, std::span<const ir::Value> given, bool in_packet);
    std::string outer_scalar(ir::Value v);
    void region_if(ir::InstId id);
    void region_loop(ir::InstId id);
    void region_latch(const ir::Inst& i, const BarrierRegionLoop& l, const Alloca& index, const std::string& step);
    void outer_terminator(ir::InstId id);

    std::vector<Alloca> slots;  ///< by value: of constructs around barriers, and of exported values
};

}  // namespace pumice::cpu
