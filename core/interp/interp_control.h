// One launch on the reference interpreter: one group after another, each in lockstep over its work-items.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/interp/interp_group.h"

namespace pumice::interp {

class InterpRun {
public:
    /// `views` has one entry for each memory of the kernel; those of arrays are filled in.
    InterpRun(const InterpProgram& program, const Launch& launch, std::vector<View> views, Scratch& scratch);
    /// Executes every group. Throws Error at the first fault; what was written until then stays.
    void all_groups();
    /// Counts the executions of each instruction over the items, if it is set: one number an instruction.
    uint64_t* executions = nullptr;

private:
    struct Enclosing {
        const ir::Inst* inst = nullptr;
        ir::BlockId block;   ///< the block whose parameters are the carried values
        uint32_t first = 0;  ///< index of the first carried parameter: 1 after a for's index
    };

    void one_group();
    void execute(ir::BlockId block, Items& items);
    void execute(const ir::Inst& inst, uint32_t id, Items& items);
    void if_(const ir::Inst& inst, Items& items);
    void for_(const ir::Inst& inst, Items& items);
    void while_(const ir::Inst& inst, Items& items);
    void end_loop(Items& items, const Enclosing& outer, uint16_t* mark);
    void leave(const ir::Inst& terminator, Fate fate, Items& items);
    void uniform(const ir::Inst& inst, Items items);
    void barrier(const ir::Inst& inst, Items items);
    void copy(ir::Value to, ir::Value from, Items items);
    void carry(std::span<const ir::Value> from, ir::BlockId to, uint32_t first, Items items);
    void to_results(const ir::Inst& inst, std::span<const ir::Value> from, Items items);
    Items take(Items items);
    void rejoin(Items& items);
    const ir::Inst& terminator(ir::BlockId block) const { return k[k[block].insts.back()]; }

    InterpGroup group;
    const ir::Kernel& k;
    Enclosing loop;                 ///< the innermost
    uint16_t* free_list = nullptr;  ///< the top of the stack of lists
};

}  // namespace pumice::interp
