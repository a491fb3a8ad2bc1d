// Finds and emits loads of several rows of packets together, by transposes in registers.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class TransposedLoads : EmitterPart {
public:
    explicit TransposedLoads(const EmitterPart& all) : EmitterPart(all) {}

    std::vector<ir::InstId> find_transposed_loads(std::span<const ir::InstId> insts) const;
    bool stays_short() const;
    void keep_staging_on_stack();
    bool steps_evenly(const ir::Inst& load) const;
    void fill_transposed(const ir::Inst& load, const std::string& tile, int64_t row_stride,
                         const std::function<std::string(int lane)>& steps = {});

    std::vector<ir::InstId> transposed_loads;  ///< transposed loads of the current rows

    static constexpr int most_bytes = 4;  ///< of an element

private:
    bool is_transposed_load(const ir::Inst& i) const;
    bool only_transposed_loads(ir::MemoryId m) const;
    std::string step_of(ir::Value index, bool wide);
    std::vector<std::string> lane_addresses(const ir::Inst& load, const std::function<std::string(int lane)>& steps);
    std::vector<ir::InstId> executed(std::span<const ir::InstId> insts) const;
};

}  // namespace pumice::cpu
