// Emits atomic operations.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "cpu/address/addresses.h"
#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class Atomics : EmitterPart {
public:
    struct Lanes {
        std::string type, vector;
    };
    using LaneBody = std::function<void(const std::string& lane, const std::vector<std::string>& own)>;

    explicit Atomics(const EmitterPart& all) : EmitterPart(all) {}

    void atomic(const ir::Inst& i);
    void side_by_side(const ir::Inst& i, const Address& a);
    void each_lane(const std::vector<Lanes>& vectors, bool branch_free, const LaneBody& emit);

private:
    void reduced_atomic(const ir::Inst& i, const std::string& pointer);
    std::string exchanged_until_same(const ir::Inst& i, const std::string& pointer, const std::string& operand);
    std::string scalar_atomic(const ir::Inst& i, const std::string& pointer, const std::vector<std::string>& operands);
};

}  // namespace pumice::cpu
