// Emits reductions and scans over the items of a group.
#pragma once
#include <map>
#include <span>
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class GroupOperations : EmitterPart {
public:
    explicit GroupOperations(const EmitterPart& all) : EmitterPart(all) {}

    std::string operand_or_neutral(ir::Value given, ir::Op op);
    std::string reduced(ir::Op op, Scalar type, std::string value);
    std::string moved_up(ir::Op op, Scalar type, const std::string& x, int by);
    std::string scanned(ir::Op op, Scalar type, std::string value);
    void open_group_operations(std::span<const ir::InstId> insts);
    void group_operation(const ir::Inst& i);
    void close_group_operation(const ir::Inst& i);

private:
    std::map<const ir::Inst*, std::string> accumulators;  ///< of group operations: slots
};

}  // namespace pumice::cpu
