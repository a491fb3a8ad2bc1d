// Emits packets in two versions: interior, where no index is wrapped or clamped, and boundary.
#pragma once
#include <string>
#include <vector>

#include "cpu/address/boundary_index.h"
#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class InteriorVersions : EmitterPart {
public:
    explicit InteriorVersions(const EmitterPart& all) : EmitterPart(all) {}

    std::string are_interior();
    void interior_version(const Body& body);
    void interior_and_boundary_versions(const Body& body);

private:
    std::string is_interior(const BoundaryIndex& b);
    std::string is_interior_now(const BoundaryIndex& b);
};

}  // namespace pumice::cpu
