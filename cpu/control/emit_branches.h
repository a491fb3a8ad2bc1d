// Emits ifs: as branches, under masks, or as selects.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

/// An if with masked arms (emit_branches.cpp).
struct Arm {
    const ir::Inst* inst = nullptr;
    std::vector<Alloca> results;
    Mask only;  ///< the items whose results are written
};

class Branches : EmitterPart {
public:
    explicit Branches(const EmitterPart& all) : EmitterPart(all) {}

    void if_(ir::InstId id);

    std::vector<Arm> arms;

private:
    void divergent_if(ir::InstId id);
    void chosen(const ir::Inst& i, const std::string& condition);
    bool worth_together(const ir::Inst& i) const;
    ir::Value replaced_by(const ir::Inst& store, ir::InstId around) const;
    bool blends_stores(ir::InstId id) const;
    void blended_if(ir::InstId id, const std::string& condition);
    std::string holds_for_all(ir::Value condition);
};

}  // namespace pumice::cpu
