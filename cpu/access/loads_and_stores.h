// Emits loads and stores: chooses the form of each access.
#pragma once
#include <map>
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

struct Address;

class LoadsAndStores : EmitterPart {
public:
    explicit LoadsAndStores(const EmitterPart& all) : EmitterPart(all) {}

    void load(ir::InstId id);
    void store(ir::InstId id);

    /// Accesses that go to a tile: a ptr to the iteration's vector, with its alignment if that is lower; "" for loads of memory
    /// that is only added to.
    std::map<const ir::Inst*, std::string> in_tiles;

private:
    bool short_packet() const;
    void whole_store(const ir::Inst& i, const std::string& value, const Address& a);
};

}  // namespace pumice::cpu
