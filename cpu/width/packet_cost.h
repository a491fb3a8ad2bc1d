// Compares the time of items in packets with that of items alone.
#pragma once
#include <set>

#include "cpu/access/interleaved_group.h"
#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

/// Cycles of an item: as a lane of a packet, and alone (packet_cost.cpp).
struct ItemTime {
    double in_packet = 0, alone = 0;
    ItemTime& operator+=(const ItemTime& other) {
        in_packet += other.in_packet, alone += other.alone;
        return *this;
    }
    ItemTime operator*(double times) const { return {in_packet * times, alone * times}; }
};

class PacketCost : EmitterPart {
public:
    explicit PacketCost(const EmitterPart& all) : EmitterPart(all) {}

    bool gains_by_scalar_items() const;

private:
    ItemTime time_of_arithmetic(const ir::Inst& i) const;
    ItemTime time_of_access(const ir::Inst& i, bool in_row, bool masked) const;
    bool has_loaded_bounds(const ir::Inst& i) const;
    double time_of_lane_rows(const InterleavedGroup& rows) const;
    ItemTime time_of(ir::BlockId b, const std::set<uint32_t>& in_rows, bool masked) const;
};

}  // namespace pumice::cpu
