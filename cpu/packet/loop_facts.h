// Facts about loops: trip counts, masked jumps, values that grow by a constant, full unrolling.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class LoopFacts : EmitterPart {
public:
    explicit LoopFacts(const EmitterPart& all) : EmitterPart(all) {}

    std::optional<int64_t> growth(ir::Value v, ir::InstId loop, int bits) const;
    int64_t constant_trips(ir::InstId loop) const;
    bool unrolls(ir::InstId loop) const;
    bool loses(const ir::Inst& i) const;
    bool loop_masks(ir::InstId loop) const;
    bool masked_jump(ir::InstId i) const;
    double iterations_of(ir::InstId loop) const;
};

}  // namespace pumice::cpu
