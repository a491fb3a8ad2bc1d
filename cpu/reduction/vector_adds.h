// Emits adds to all scalars of an element as one vector.
#pragma once
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

/// Adds to the scalars of one element, delayed until the last of them (vector_adds.cpp).
struct PendingVectorAdd {
    std::vector<const ir::Inst*> all;
    std::vector<std::string> addends;  ///< by leaf
    size_t given = 0;
};

class VectorAdds : EmitterPart {
public:
    explicit VectorAdds(const EmitterPart& all) : EmitterPart(all) {}

    bool adds_vector(const ir::Inst& i);

    std::vector<PendingVectorAdd> pending_adds;

private:
    std::vector<const ir::Inst*> vector_add(const ir::Inst& i) const;
    std::string byte_offsets(const ir::Inst& i);
    void add_vectors(const ir::Inst& i, std::vector<std::string> addends);
};

}  // namespace pumice::cpu
