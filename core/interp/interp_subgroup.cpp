// Subgroup operations of the reference interpreter. A subgroup is a run of consecutive items of the group.
#include "core/interp/interp_fault.h"
#include "core/interp/interp_group.h"
#include "core/interp/interp_instructions.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/support/error.h"

namespace pumice::interp {

using namespace ir;

namespace {

uint64_t combine(Op op, Scalar type, uint64_t a, uint64_t b) {
    const uint64_t operands[2] = {a, b};
    uint64_t result = 0;
    if (!evaluate_scalar(op, type, operands, result)) library_bug(text("a subgroup's ", name_of(op), " of ", name_of(type)));
    return result;
}

/// The index, among the active items, of the item whose value the n-th active item takes.
int source_of(InterpGroup& group, const Inst& inst, Items active, int n) {
    const Subgroup what = Subgroup(inst.immediate);
    const int item = active.list[n], own = item % group.program.subgroup_size;
    const int32_t* named = group.at<int32_t>(group.k.operands(inst)[1]);
    const int64_t given = named[item];
    const auto where = [&] {
        return text(" (", fault::item_text(group, group.group_index, item), ", ", group.k.where(inst.loc), ").");
    };
    int64_t lane = given;
    if (what == Subgroup::shuffle_xor) lane = own ^ given;
    if (what == Subgroup::shuffle_up) lane = own - given;
    if (what == Subgroup::shuffle_down) lane = own + given;
    if ((what == Subgroup::shuffle_up || what == Subgroup::shuffle_down) && given < 0)
        fail("Kernel \"", group.k.name, "\" shuffles ", what == Subgroup::shuffle_up ? "up" : "down", " by ", given,
             " lanes; it must be at least 0", where());
    if (what == Subgroup::broadcast && given != named[active.list[0]])
        fail("Kernel \"", group.k.name, "\" broadcasts the value of lane ", named[active.list[0]],
             " of a subgroup and that of lane ", given, " at once; all items must name the same lane", where());
    const bool exists = lane >= 0 && lane < group.program.subgroup_size;
    if (!exists && what != Subgroup::shuffle && what != Subgroup::broadcast) return n;
    for (int m = 0; m < active.count && exists; ++m)
        if (active.list[m] % group.program.subgroup_size == lane) return m;
    fail("Kernel \"", group.k.name, "\" takes the value of lane ", lane, " of a subgroup, which ",
         exists ? "is not active there" : text("has ", group.program.subgroup_size), where());
}

void one_subgroup(InterpGroup& group, const Inst& inst, Items active) {
    const Subgroup what = Subgroup(inst.immediate);
    const auto v = group.k.operands(inst);
    const Value to = group.k.result(inst);
    const std::span<const uint16_t> list(active.list, size_t(active.count));
    const int size = group.program.subgroup_size;
    std::vector<uint64_t> x;  // of each active item
    for (const int item : list) x.push_back(v.empty() ? 0 : group.bits_of(v[0], item));
    const auto all = [&](uint64_t bits) {
        for (const int item : list) group.set_bits(to, item, bits);
    };
    if (const auto op = combines(what)) {
        uint64_t sum = what < Subgroup::exclusive_add ? x[0] : neutral_element(*op, inst.type);
        for (size_t n = 0; n < x.size(); ++n) {
            if (n > 0 && what < Subgroup::exclusive_add) sum = combine(*op, inst.type, sum, x[n]);
            if (is_scan(what)) group.set_bits(to, list[n], sum);
            if (what >= Subgroup::exclusive_add) sum = n > 0 ? combine(*op, inst.type, sum, x[n]) : x[0];
        }
        if (!is_scan(what)) all(sum);
        return;
    }
    uint64_t votes = 0;
    for (const uint64_t bits : x) votes += bits;
    switch (what) {
        case Subgroup::any: return all(votes != 0);
        case Subgroup::all: return all(votes == x.size());
        case Subgroup::elect: all(0); return group.set_bits(to, list[0], 1);
        case Subgroup::ballot: {
            uint64_t word = 0;
            for (size_t n = 0; n < x.size(); ++n)
                if (const int lane = list[n] % size; lane / 32 == int(inst.leaf)) word |= x[n] << lane % 32;
            return all(word);
        }
        case Subgroup::broadcast_first: return all(x[0]);
        default: break;
    }
    for (size_t n = 0; n < x.size(); ++n) group.set_bits(to, list[n], x[size_t(source_of(group, inst, active, int(n)))]);
}

}  // namespace

void subgroup(InterpGroup& group, const Inst& inst, Items items) {
    const int size = group.program.subgroup_size;
    for (int begin = 0; begin < items.count;) {
        int end = begin + 1;
        while (end < items.count && items.list[end] / size == items.list[begin] / size) ++end;
        one_subgroup(group, inst, {items.list + begin, end - begin});
        begin = end;
    }
}

}  // namespace pumice::interp
