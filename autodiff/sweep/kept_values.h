// Values of the primal that the forward sweep keeps for the reverse sweep.
#pragma once
#include <functional>
#include <set>
#include <unordered_map>

#include "core/ir/ir.h"
#include "core/support/error.h"

namespace pumice::derive {

/// All by the id of the value, or of the loop, in the primal.
struct KeptValues {
    const ir::Kernel& from;
    std::function<ir::Value(ir::Value)> copied;  ///< the value in the copy of the primal, in the same kernel
    std::vector<ir::Value> variables = std::vector<ir::Value>(from.values.size());  ///< of values held in one
    std::vector<ir::Value> known = std::vector<ir::Value>(from.values.size());      ///< values that the reverse sweep has
    std::unordered_map<uint32_t, ir::Value> counts = {};                            ///< trip counts of whiles
    std::unordered_map<uint32_t, ir::Value> count_variables = {};                   ///< variables that hold them
    std::unordered_map<uint32_t, ir::Value> last_attained = {};  ///< of argmax loops: a variable, -1 for no iteration
    std::set<uint32_t> ahead = {};                               ///< values that are computed before the loop over items

    /// A value that the reverse sweep has.
    ir::Value provided(ir::Value v) const {
        const ir::Value now = known[v.id];
        if (!now)
            library_bug(
                text("the reverse sweep of kernel \"", from.name, "\" uses value ", v.id, " before it has it\n", print(from)));
        return now;
    }
    std::vector<ir::Value> provided(std::span<const ir::Value> v) const {
        std::vector<ir::Value> all;
        for (const ir::Value one : v) all.push_back(provided(one));
        return all;
    }
};

}  // namespace pumice::derive
