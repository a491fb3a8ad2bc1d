// Emits rows that run only the items which pass comparisons of their index.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "cpu/arithmetic/pure_values.h"
#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

/// The items of a row that pass its guards: i32s, and an i1 that tells if they are known.
struct PassingItems {
    std::string first, end, exact;
};

class GuardedRows : EmitterPart {
public:
    explicit GuardedRows(const EmitterPart& all) : EmitterPart(all) {}

    std::vector<RowGuard> find_row_guards() const;
    PassingItems passing_items(const std::string& begin, const std::string& end);
    void guarded_row(const std::string& end, const Body& body);

private:
    bool has_effect(const ir::Inst& i) const;
    bool known_in_row(ir::Value v) const;
    bool add_guards(ir::Value condition, bool holds, std::vector<RowGuard>& all) const;
    void add_guards_of(std::span<const ir::InstId> insts, std::vector<RowGuard>& all) const;
};

}  // namespace pumice::cpu
