// What transpose asks about local memory: whether items take back themselves what was added up there for them, and whether its rows may
// lie further apart.
#pragma once
#include <optional>
#include <vector>

#include "core/ir/structure.h"

namespace pumice::codegen {

/// The one load of a memory that a loop adds to, and stores that clear behind it what it loaded.
struct OwnPlace {
    ir::InstId load;
    std::vector<ir::InstId> clears;
};

/// A loop from 0 upwards adds to places of local memory, among which the iterations stand where the items of an axis do elsewhere: item n
/// loads, behind a barrier, what iteration n added up for it, and nobody else loads anything. None where that is not so, or where what is
/// loaded might be more than that: all other stores are of zero, and if the loop may come again, one of them follows the load. (What was
/// never stored may not be added to.)
std::optional<OwnPlace> own_place(const ir::Kernel& kernel, const ir::Structure& where, ir::InstId loop, ir::InstId atomic, int axis);

/// Whether local memory has two dimensions of a size that is known, and all that is done with it names both.
bool has_rows(const ir::Kernel& kernel, ir::MemoryId memory);

}  // namespace pumice::codegen
