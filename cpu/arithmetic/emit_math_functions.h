// Emits mathematical functions of vectors of floats inline.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class MathFunctions : EmitterPart {
public:
    explicit MathFunctions(const EmitterPart& all) : EmitterPart(all) {}

    bool writes_out(ir::Op op) const;
    std::vector<std::string> mathematics(const std::vector<ir::Op>& ops, const std::string& x);
    ir::Value partner(const ir::Inst& i) const;
    std::string estimated_rsqrt(const std::string& x);
    std::string estimated_sqrt(const std::string& x);
    std::string estimated_quotient(const std::string& x, const std::string& y);

private:
    class Floats;
    std::vector<std::string> written_out(const std::vector<ir::Op>& ops, const std::string& x);
    std::string outlined_mathematics(const std::string& function, const std::string& result, const std::vector<ir::Op>& ops);
    std::string exponential(ir::Op op, const std::string& x);
    std::string logarithm(ir::Op op, const std::string& x);
    std::string near_sine(ir::Op op, const std::string& x);
    std::vector<std::string> sines(const std::vector<ir::Op>& ops, const std::string& x);

    int inlined_functions = 0;                 ///< mathematical functions so far
    std::set<std::string> outlined_functions;  ///< names of mathematical functions that the module defines
};

}  // namespace pumice::cpu
