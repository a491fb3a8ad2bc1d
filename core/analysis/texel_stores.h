// Stores of the channels of one texel, as groups.
#pragma once
#include <unordered_map>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

/// The store of a whole texel or of some of its channels, at the place of the last of its stores.
struct TexelStore {
    std::vector<Value> channels;  ///< by leaf; none: the channel keeps its value
};

/// The stores to images in a block, grouped: stores with the same index values between which nothing accesses the image. Each
/// group is found by its last store; the others are in `merged`.
struct TexelStores {
    std::unordered_map<uint32_t, TexelStore> last;  ///< by id of the instruction
    std::vector<bool> merged;                       ///< by id of the instruction
};
/// Of all blocks of a kernel.
TexelStores texel_stores(const Kernel& kernel);

}  // namespace pumice::ir
