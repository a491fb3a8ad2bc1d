// Emits subgroup operations, whose subgroup is the packet, and reports.
#pragma once
#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class PacketSubgroup : EmitterPart {
public:
    explicit PacketSubgroup(const EmitterPart& all) : EmitterPart(all) {}

    void subgroup(const ir::Inst& i);
    void report(const ir::Inst& i);

private:
    void combine(const ir::Inst& i, ir::Op op, ir::Subgroup what);
};

}  // namespace pumice::cpu
