#include "cpu/terms.h"

#include <algorithm>

namespace pumice::cpu {

namespace {
constexpr int most_depth = 8;  ///< of sums of sums
}

void Terms::add(const ir::Kernel& k, ir::Value v, int64_t times, int depth) {
    const ir::InstId source = k[v].inst;
    uint64_t bits = 0;
    if (k.constant(v, bits)) {
        constant += times * (size_of(k.type_of(v)) == 4 ? int64_t(int32_t(bits)) : int64_t(bits));
    } else if (source.id != ir::none && (k[source].op == ir::Op::add || k[source].op == ir::Op::sub) && depth < most_depth) {
        add(k, k.operands(k[source])[0], times, depth + 1);
        add(k, k.operands(k[source])[1], k[source].op == ir::Op::add ? times : -times, depth + 1);
    } else {
        counts[v.id] += times;
    }
}

bool Terms::is_constant() const {
    return std::all_of(counts.begin(), counts.end(), [](const auto& term) { return term.second == 0; });
}

Terms difference(const ir::Kernel& k, ir::Value to, ir::Value from) {
    Terms apart;
    apart.add(k, to, 1);
    apart.add(k, from, -1);
    return apart;
}

std::optional<int64_t> past_item(const ir::Kernel& k, ir::Value index, int axis) {
    Terms terms;
    terms.add(k, index, 1);
    std::erase_if(terms.counts, [](const auto& term) { return term.second == 0; });
    if (terms.counts.size() != 1 || terms.counts.begin()->second != 1) return std::nullopt;
    const ir::InstId source = k[ir::Value{terms.counts.begin()->first}].inst;
    const bool item = source.id != ir::none && k[source].op == ir::Op::global_index && int(k[source].immediate) == axis;
    return item ? std::optional(terms.constant) : std::nullopt;
}

}  // namespace pumice::cpu
