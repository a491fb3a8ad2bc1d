#include "cpu/plan/cpu_rules.h"

#include <algorithm>
#include <string>

#include "core/support/error.h"

namespace pumice::cpu {
namespace {

constexpr RuleText rows[] = {
#define PUMICE_CPU_RULE(name, file, what) {#name, file, what},
#include "cpu/plan/cpu_rules.def"
#undef PUMICE_CPU_RULE
};
static_assert(std::size(rows) <= 64, "Rules has a bit for each");

}  // namespace

std::span<const RuleText> rule_texts() { return rows; }

Rules rules_without(std::string_view list) {
    Rules rules;
    for (std::string_view rest = list; !rest.empty();) {
        const size_t comma = std::min(rest.find(','), rest.size());
        const std::string_view word = rest.substr(0, comma);
        rest.remove_prefix(std::min(comma + 1, rest.size()));
        if (word.empty()) continue;
        bool found = false;
        for (size_t r = 0; r < std::size(rows); ++r)
            if (word == "all" || word == rows[r].name) rules = rules.without(Rule(r)), found = true;
        if (found) continue;
        std::string names;
        for (const RuleText& row : rows) names += text(names.empty() ? "" : ", ", row.name);
        fail("PUMICE_CPU_WITHOUT names \"", word, "\", which is no rule of the device cpu; the rules are ", names,
             ", or all of them by all");
    }
    return rules;
}

}  // namespace pumice::cpu
