#include "core/ir/evaluate.h"

#include "core/ir/builder.h"
#include "core/ir/ops.h"

namespace pumice::ir {

bool evaluate(const Inst& inst, Scalar operand_type, std::span<const uint64_t> operands, uint64_t& result) {
    switch (inst.op) {
        case Op::select: result = operands[0] ? operands[1] : operands[2]; return true;
        case Op::cast: result = cast_bits(operand_type, inst.type, operands[0]); return true;
        case Op::bitcast: result = operands[0]; return true;
        default: return is_scalar_op(inst.op) && evaluate_scalar(inst.op, operand_type, operands.data(), result);
    }
}

}  // namespace pumice::ir
