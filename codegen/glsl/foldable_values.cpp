// Foldable values: an upper bound of what a driver's compiler folds to constants.
//
//   %2 = load arg1[%1]                    unknown
//   %4 = for %3 = 0 to 2 carry (%5 = 0)   %5 is 0 in the first iteration, which a driver may unroll: foldable
//   %6 = mul %5, %2                       unknown, unless the driver folds products with zero
//   %7 = select (lt %2, %2), %2, 0        the driver knows that %2 < %2 is false: foldable
//
// Why: a driver may compute wrongly with constants (Options::folded_zeros), also with those that Pumice's own passes have not
// found. Legality: true is always right, and costs an instruction at each use that cares. Parameters of blocks, results of
// control flow and loads from private memory are true. An operation is true if all its operands are, if one of them may absorb
// the others, as 0 does in a product of integers, or if both are the same value (x - x). Cost: linear. Limits: ranges are not
// looked at: a compiler that knew that an index is not negative could fold its minimum with 0.
// Textbook name: binding-time analysis (static and dynamic values).
#include "codegen/glsl/foldable_values.h"

#include <algorithm>

#include "core/ir/structure.h"

namespace pumice::codegen {

using namespace ir;

namespace {

/// True if the operation of integers may have a constant result for one constant operand.
bool absorbs(const Kernel& k, const Inst& i) {
    return !is_float(i.type) && i.op != Op::add && i.op != Op::sub && i.op != Op::cast && i.operand_count > 1 &&
           !is_float(k.type_of(k.operands(i)[0]));
}

bool is_foldable(const Kernel& k, const Inst& i, const std::vector<bool>& foldable) {
    const auto operands = k.operands(i);
    const auto is = [&](Value v) { return bool(foldable[v.id]); };
    switch (i.op) {
        case Op::constant:
        case Op::group_size:
        case Op::group_count:
        case Op::global_size: return true;
        case Op::select: return is(operands[1]) || is(operands[2]);
        case Op::load: return k[i.memory].kind == MemoryKind::private_;
        default: break;
    }
    if (!is_pure(i.op)) return is_control(i.op) || i.op == Op::call;
    if (is_given(i.op) || operands.empty()) return false;
    if (operands.size() == 2 && operands[0] == operands[1]) return true;
    uint64_t bits = 0;
    if (absorbs(k, i) && std::ranges::any_of(operands, [&](Value v) { return is(v) && (!k.constant(v, bits) || bits == 0); }))
        return true;
    return std::ranges::all_of(operands, is);
}

}  // namespace

std::vector<bool> foldable_values(const Kernel& k) {
    std::vector<bool> foldable(k.values.size(), true);  // parameters of blocks stay so
    const Structure structure(k);
    for (const auto* const order : {&structure.function_order(), &structure.order()})
        for (const InstId id : *order) {
            const Inst& i = k[id];
            const bool is = is_foldable(k, i, foldable);
            for (int r = 0; r < i.result_count; ++r) foldable[k.result(i, r).id] = is;
        }
    return foldable;
}

}  // namespace pumice::codegen
