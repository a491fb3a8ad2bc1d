#include "core/ir/ir.h"

#include <algorithm>

namespace pumice::ir {

bool is_given(Op op) {
    switch (op) {
        case Op::argument:
        case Op::global_index:
        case Op::global_size:
        case Op::local_index:
        case Op::group_index:
        case Op::group_size:
        case Op::group_count:
        case Op::subgroup_size:
        case Op::subgroup_lane:
        case Op::subgroup_index:
        case Op::subgroup_count:
        case Op::in_range:
        case Op::extent: return true;
        default: return false;
    }
}

bool is_pure(Op op) {
    return is_scalar_op(op) || is_given(op) || op == Op::constant || op == Op::select || op == Op::cast || op == Op::bitcast;
}

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
