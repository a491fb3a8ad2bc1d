// Facts about loops: trip counts, masked jumps, values that grow by a constant, full unrolling.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

/// The addends of one instruction in the last iterations of an unrolled loop, to adjacent elements: a vector each
/// (emit_private_sums.cpp).
struct DeferredReduction {
    ir::InstId loop;
    int64_t step = 0;                   ///< step of the address, in elements an iteration: 1 or -1
    std::string vectors, last, filled;  ///< `width` vectors; the last address; the number of vectors filled (in the loop)
};

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

    std::map<const ir::Inst*, DeferredReduction> deferred_reductions;
};

}  // namespace pumice::cpu
