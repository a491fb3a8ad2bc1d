#include "core/ir/ir.h"

#include <algorithm>

namespace pumice::ir {

std::optional<Op> combines(Subgroup what) {
    constexpr Op ops[] = {Op::add, Op::mul, Op::min, Op::max, Op::and_, Op::or_, Op::xor_};
    if (what > Subgroup::exclusive_xor) return std::nullopt;
    return ops[size_t(what) % std::size(ops)];
}

bool contains_barrier(const Kernel& k, const Inst& i) {
    if (is_barrier(i.op)) return true;
    for (const BlockId block : i.blocks) {
        if (block.id == none) continue;
        const auto& insts = k[block].insts;
        if (std::any_of(insts.begin(), insts.end(), [&](InstId id) { return contains_barrier(k, k[id]); })) return true;
    }
    return false;
}

std::string Kernel::where(Loc loc) const {
    if (loc.line == 0 || loc.file >= files.size()) return "?";
    const std::string& file = files[loc.file];
    const size_t slash = file.find_last_of("/\\");
    return (slash == std::string::npos ? file : file.substr(slash + 1)) + ":" + std::to_string(loc.line);
}

}  // namespace pumice::ir
