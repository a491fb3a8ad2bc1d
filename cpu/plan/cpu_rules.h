// The rules of the CPU back end: optimisations by name, each of which can be turned off.
//
// Why: a wrong result that goes away without one rule is a defect of that rule, and the gain of a rule is the time without it
// over the time with it (`bench rules`, docs/optimisations.md).
//
//     PUMICE_CPU_WITHOUT=row_tiles,software_prefetch     a device opened now makes code without these two
//     if (!target.rules.has(Rule::row_tiles)) return {}; in the function that decides
//
// The rules are a field of Target, and so of the keys of compiled code. Cost: one test of a bit for each decision of the emitter.
// Limits: at most 64 rules; one device has one set, read when it is opened.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

namespace pumice::cpu {

enum class Rule : uint8_t {
#define PUMICE_CPU_RULE(name, file, what) name,
#include "cpu/plan/cpu_rules.def"
#undef PUMICE_CPU_RULE
};

struct RuleText {
    std::string_view name;
    std::string_view file;  ///< of the repository: what the rule is made of, in whole or in part
    std::string_view what;
};
/// The rows of cpu_rules.def, in their order.
std::span<const RuleText> rule_texts();

/// The rules that are on: all but those whose bits are set.
struct Rules {
    uint64_t off = 0;
    bool has(Rule rule) const { return !(off >> int(rule) & 1); }
    Rules without(Rule rule) const { return {off | uint64_t(1) << int(rule)}; }
};
inline auto key_parts(const Rules& r) {
    const auto& [off] = r;
    return std::tie(off);
}

/// All rules but those that a list names, as "streaming_stores,software_prefetch" or "all". Throws Error with the names there are
/// if it names another.
Rules rules_without(std::string_view list);

}  // namespace pumice::cpu
