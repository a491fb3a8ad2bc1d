// Plans and emits adds to the thread's private copies, and deferred horizontal adds.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class PrivateSums : EmitterPart {
public:
    explicit PrivateSums(const EmitterPart& all) : EmitterPart(all) {}

    void plan_private_sums();
    void lane_private_add(const ir::Inst& i);
    void open_deferred_reductions(ir::InstId loop);
    void defer_addend(const ir::Inst& i);
    void next_deferred_iteration(ir::InstId loop);

private:
    void plan_deferred_reductions(ir::InstId loop);
    void lane_private_add_vector(const ir::Inst& i, const std::string& addend, const std::string& address, const std::string& at,
                                 const std::string& mask);
    void add_deferred(const ir::Inst& i);
    std::string transpose_add(const ir::Inst& i);

    /// The addends of an instruction in the iterations since the last horizontal add.
    struct DeferredAddends {
        std::string vectors;  ///< `width` vectors on the stack
        std::string last;     ///< a slot: the address of the last one
        std::string filled;   ///< a slot: the number of vectors that are filled; the same for all of a loop
    };
    std::map<const ir::Inst*, DeferredAddends> deferred_addends;
};

}  // namespace pumice::cpu
