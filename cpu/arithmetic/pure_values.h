// Emits pure instructions: indices, arguments, operations; and computes values again where a part needs them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class PureValues : EmitterPart {
public:
    explicit PureValues(const EmitterPart& all) : EmitterPart(all) {}

    void pure_value(const ir::Inst& i);  ///< any pure instruction
    bool is_rematerialisable(ir::Value v, int& steps, bool anywhere = false, ir::Value given = {}) const;
    void rematerialise(ir::Value v);

    /// Of boundary indices by rem: an i32, the first lane's remainder in this packet.
    std::map<uint32_t, std::string> remainders;
    std::map<uint32_t, ValueRep> row_values;        ///< what all packets of the row share, computed before them
    bool all_pass = false;                          ///< all items of the packet pass them
    std::map<uint32_t, ir::Value> interior_values;  ///< in an interior packet: boundary indices with their values in the interior
    std::map<uint32_t, bool> known_conditions;      ///< in an interior packet of a region: their outcomes in all lanes
    bool all_in_range = false;

    void define_condition(ir::Value v, bool holds);

private:
    void in_range(ir::Value v);
    bool passed(ir::Value v);
    bool interior_value(const ir::Inst& i);
};

}  // namespace pumice::cpu
