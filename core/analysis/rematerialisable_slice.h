// What another item must know to compute what one computes in a loop.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "core/analysis/uniformity.h"

namespace pumice::codegen {

template <class T>
bool has(const std::vector<T>& all, const T& one) { return std::find(all.begin(), all.end(), one) != all.end(); }

/// What values of a loop's body are made of, as far as it differs from item to item or from iteration to iteration.
class Needs {
public:
    Needs(const ir::Kernel& kernel, const ir::Uniformity& known, ir::InstId of) : k(kernel), uniformity(known), loop(of) {}

    std::vector<ir::Value> anew;         ///< to be computed again, operands first
    std::vector<ir::Value> kept;         ///< values of the kernel's body, which another item must find in local memory
    std::vector<ir::MemoryId> memories;  ///< loaded from; all local
    std::array<bool, 3> axes{};          ///< the local indices among them
    bool index = false;                  ///< the loop's index is among them

    /// Whether another item can have the value.
    bool add(ir::Value v);

private:
    bool again(ir::Value v, bool inside);

    const ir::Kernel& k;
    const ir::Uniformity& uniformity;
    const ir::InstId loop;
};

}  // namespace pumice::codegen
