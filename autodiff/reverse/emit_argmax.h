// The number of the last iteration that attained a maximum or minimum.
#pragma once
#include <unordered_map>

#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

struct KeptValues;

class ArgmaxEmitter : SweepContext {
public:
    ArgmaxEmitter(const SweepContext& context, KeptValues& kept) : SweepContext(context), kept(kept) {}
    void declare_variables();
    /// Before an argmax loop: the counter of its iterations, unless the index counts them.
    void count_iterations(ir::InstId loop);
    /// At the end of an iteration of the primal: notes the number of the iteration, from 0, where x attained m.
    void note_argmax(ir::InstId loop);

private:
    KeptValues& kept;
    std::unordered_map<uint32_t, ir::Value> counters;  ///< of loops
};

}  // namespace pumice::derive
