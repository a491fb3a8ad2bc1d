// Emits loads from short rows of local memory.
#pragma once
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class RowLookups : EmitterPart {
public:
    explicit RowLookups(const EmitterPart& all) : EmitterPart(all) {}

    bool looks_up(const ir::Inst& i) const;
    std::string load(const ir::Inst& i);

private:
    int64_t row_of(const ir::Inst& i) const;
};

}  // namespace pumice::cpu
