// Emits the operations of ops.def, on scalars and vectors.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class ScalarOps : EmitterPart {
public:
    explicit ScalarOps(const EmitterPart& all) : EmitterPart(all) {}

    void pure(const ir::Inst& i);
    std::string operation(ir::Op op, Scalar type, std::vector<std::string> operands, bool vector, bool constant_divisor);
    std::string expanded(std::string_view text, Scalar type, const std::vector<std::string>& operands, bool vector);
    std::string called(ir::Op op, Scalar type, const std::vector<std::string>& operands, bool vector);
    std::string in_parts(int lanes, const std::string& scalar, const std::vector<std::string>& operands,
                         const std::string& result, const std::function<std::string(const std::vector<std::string>&)>& function);

private:
    bool is_extreme_of_quiet(const ir::Inst& i) const;
    std::string quiet_extreme(ir::Op op, Scalar type, const std::vector<std::string>& operands);
    std::string instruction_text(std::string_view text, Scalar type, const std::vector<std::string>& operands, bool vector,
                                 const std::map<std::string, std::string>& locals);
    std::string named_constant(std::string_view what, Scalar type, bool vector) const;
    std::string divide(const std::string& op, Scalar type, const std::vector<std::string>& operands, bool vector,
                       bool constant_divisor);
    std::string counted_zeros(ir::Op op, Scalar type, const std::string& x, bool vector);
    std::string maths(ir::Op op, Scalar type, const std::vector<std::string>& operands, bool vector);
    std::string host_call(ir::Op op, Scalar type, const std::vector<std::string>& operands, bool vector);
    std::string library_call(ir::Op op, Scalar type, const std::vector<std::string>& operands, bool vector);
};

}  // namespace pumice::cpu
