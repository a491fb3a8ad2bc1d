// Emits loads and stores under a mask, gathers and scatters.
#pragma once
#include <string>

#include "cpu/address/addresses.h"
#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class MaskedAccesses : EmitterPart {
public:
    explicit MaskedAccesses(const EmitterPart& all) : EmitterPart(all) {}

    std::string masked_load(const ir::Inst& i, const Address& a);
    std::string masked_read(const std::string& element, const Address& a, const std::string& mask);
    void masked_write(const std::string& element, const std::string& value, const Address& a, const std::string& mask);
    void masked_store(const ir::Inst& i, const std::string& value, const Address& a);
    bool scalarises(const ir::Inst& i, const Address& a);
    std::string load_by_lanes(ir::InstId id);

private:
    std::string masked_function(const std::string& element, const Address& a, bool stores) const;
    std::string masked_call(const std::string& element, const Address& a, const std::string& mask, const std::string& value = "");
    bool is_scalarised(const ir::Inst& i, const Address& a) const;
    bool loads_without_branches(const ir::Inst& i, const Address& a) const;
    std::string where_active(const Address& a);
    bool gathers_words(const ir::Inst& i, const Address& a) const;
    std::string gathered_words(const ir::Inst& i, const Address& a);
    bool is_outlined(const ir::Inst& i, const Address& a);
    std::string index_row(ir::InstId gather) const;
    std::string masked_access(const ir::Inst& i, const Address& a, const std::string& element, const std::string& value = "");

    std::string nowhere;       ///< the address of a zero, which inactive lanes load; "" until one does
    int scalarised_lanes = 0;  ///< of the accesses so far that LLVM takes apart
};

}  // namespace pumice::cpu
