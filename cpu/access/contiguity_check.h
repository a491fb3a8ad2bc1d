// Emits accesses whose lanes lie side by side in most packets.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class ContiguityChecks : EmitterPart {
public:
    explicit ContiguityChecks(const EmitterPart& all) : EmitterPart(all) {}

    std::optional<int64_t> probable_step(ir::Value v, bool narrow, int depth = 0) const;
    bool checks_contiguity(const ir::Inst& i) const;
    void checked_store(const ir::Inst& i, const std::string& whole, const std::string& value);
    void prefetch(const ir::Inst& i, const std::string& begin);
    std::string checked_load(const ir::Inst& i, const std::string& whole);

private:
    struct RowTest {
        std::string holds;  ///< an i1
        std::string first;  ///< the first lane's index
    };
    bool permutes_window(const ir::Inst& i) const;
    std::optional<std::pair<std::string, std::string>> ends_of(ir::Value v, int depth = 0);
    RowTest test_of_row(ir::Value index);
    std::string apart(const std::string& index, const std::string& first);
};

}  // namespace pumice::cpu
