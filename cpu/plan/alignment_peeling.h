// Legality of alignment peeling: may the packets of a row start early, so that their stores cover whole cache lines?
// cpu/rows/emit_packet_rows.cpp writes the peeled rows; cpu/runtime/launch_alignment.h decides for which launches they pay off.
#pragma once
#include "core/ir/ir.h"

namespace pumice::cpu {

/// True if the result of an item does not depend on which group of the range the item is in. Group borders may then move.
bool movable(const ir::Kernel& kernel);

/// True if the kernel has no loops and an item loads at most `most` array elements per element that it stores.
bool mostly_stores(const ir::Kernel& kernel, int64_t most);

}  // namespace pumice::cpu
