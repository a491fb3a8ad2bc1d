// Values and adjoints of the item at other indices.
#pragma once
#include <functional>
#include <map>
#include <unordered_map>

#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

/// An item, and what has been computed of it so far.
struct Elsewhere {
    std::array<ir::Value, 3> indices;
    std::unordered_map<uint32_t, ir::Value> values;
    std::map<std::pair<uint32_t, int>, ir::Value> adjoints;
};

class ElsewhereEmitter : SweepContext {
public:
    explicit ElsewhereEmitter(const SweepContext& context) : SweepContext(context) {}
    /// Counts instructions from here. Beyond `limit` the sweep gives up.
    void begin() { code_begins = to.insts.size(); }
    void begin(size_t limit) { code_begins = to.insts.size(), code_limit = limit; }

    /// Emits code under the conditions under which the item there runs the block. The code for the block `around` already stands.
    void where_it_runs(Elsewhere& there, ir::BlockId block, ir::BlockId around, const std::function<void(Elsewhere&)>& fill);
    /// A value of the primal there.
    ir::Value value(Elsewhere& there, ir::Value v);
    /// The adjoint of a value there. None where nothing flows.
    ir::Value adjoint(Elsewhere& there, ir::Value v, int w);

private:
    bool too_long();
    ir::Value square_of(Elsewhere& there, const ir::Inst& i);
    ir::Value contribution_of(Elsewhere& there, ir::InstId user, size_t o, int w);

    size_t code_begins = 0;    ///< instructions before the code
    size_t code_limit = 6000;  ///< limit of its instructions: beyond it, atomics cost less
};

}  // namespace pumice::derive
