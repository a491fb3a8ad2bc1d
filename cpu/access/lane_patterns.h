// Emits accesses whose lanes lie at distances from the first one that are constants.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class LanePatterns : EmitterPart {
public:
    /// Lanes that lie side by side: the first one, and their number.
    using Run = std::pair<int, int>;

    explicit LanePatterns(const EmitterPart& all) : EmitterPart(all) {}

    std::optional<std::vector<int64_t>> distances(const ir::Inst& i) const;
    static std::vector<Run> runs_of(const std::vector<int64_t>& distances, int first, int lanes);
    bool moves_by_pattern(const ir::Inst& i) const;
    std::string load_pattern(const ir::Inst& i);
    void store_pattern(const ir::Inst& i, const std::string& value);

private:
    std::string address_of_first_lane(const ir::Inst& i);
};

}  // namespace pumice::cpu
