// Emits accesses whose lanes all lie at one distance, which only the launch knows.
#pragma once
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class StridedLanes : EmitterPart {
public:
    explicit StridedLanes(const EmitterPart& all) : EmitterPart(all) {}

    bool may_take_strided_lanes(const ir::Inst& i) const;
    std::vector<std::string> strided_lanes(const ir::Inst& i);
    std::string load_lanes(const ir::Inst& i, const std::vector<std::string>& lanes);
    void store_lanes(const ir::Inst& i, const std::string& value, const std::vector<std::string>& lanes);

private:
    std::string elements_between_lanes(const ir::Inst& i);
    std::string address_of_first_lane(const ir::Inst& i);
};

}  // namespace pumice::cpu
