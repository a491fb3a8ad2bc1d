// Subgroup operations of the reference interpreter. A subgroup is a run of consecutive items of the group.
#include "core/interp/interp_group.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"

namespace pumice::interp {

using namespace ir;

namespace {

uint64_t combine(Op op, Scalar type, uint64_t a, uint64_t b) {
    const uint64_t operands[2] = {a, b};
    uint64_t result = 0;
    if (!evaluate_scalar(op, type, operands, result)) library_bug(text("a subgroup's ", name_of(op), " of ", name_of(type)));
    return result;
}

}  // namespace

uint64_t InterpRun::bits_of(Value v, int item) {
    return with_scalar(k.type_of(v), [&](auto zero) { return to_bits(at<decltype(zero)>(v)[item]); });
}

void InterpRun::set_bits(Value v, int item, uint64_t bits) {
    with_scalar(k.type_of(v), [&](auto zero) { at<decltype(zero)>(v)[item] = from_bits<decltype(zero)>(bits); });
}

/// Calls one_subgroup for the active items of each subgroup.
void InterpRun::subgroup(const Inst& inst, Items items) {
    const int size = program.subgroup_size;
    for (int begin = 0; begin < items.count;) {
        int end = begin + 1;
        while (end < items.count && items.list[end] / size == items.list[begin] / size) ++end;
        one_subgroup(inst, {items.list + begin, end - begin});
        begin = end;
    }
}

void InterpRun::one_subgroup(const Inst& inst, Items active) {
    const Subgroup what = Subgroup(inst.immediate);
    const auto v = k.operands(inst);
    const Value to = k.result(inst);
    const std::span<const uint16_t> list(active.list, size_t(active.count));
    const int size = program.subgroup_size;
    std::vector<uint64_t> x;  // of each active item
    for (const int item : list) x.push_back(v.empty() ? 0 : bits_of(v[0], item));
    const auto all = [&](uint64_t bits) {
        for (const int item : list) set_bits(to, item, bits);
    };
    if (const auto op = combines(what)) {
        uint64_t sum = what < Subgroup::exclusive_add ? x[0] : neutral_element(*op, inst.type);
        for (size_t n = 0; n < x.size(); ++n) {
            if (n > 0 && what < Subgroup::exclusive_add) sum = combine(*op, inst.type, sum, x[n]);
            if (is_scan(what)) set_bits(to, list[n], sum);
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
        case Subgroup::elect: all(0); return set_bits(to, list[0], 1);
        case Subgroup::ballot: {
            uint64_t word = 0;
            for (size_t n = 0; n < x.size(); ++n)
                if (const int lane = list[n] % size; lane / 32 == int(inst.leaf)) word |= x[n] << lane % 32;
            return all(word);
        }
        case Subgroup::broadcast_first: return all(x[0]);
        default: break;
    }
    for (size_t n = 0; n < x.size(); ++n) set_bits(to, list[n], x[size_t(source_of(inst, active, int(n)))]);
}

/// The index, among the active items, of the item whose value the n-th active item takes.
int InterpRun::source_of(const Inst& inst, Items active, int n) {
    const Subgroup what = Subgroup(inst.immediate);
    const int item = active.list[n], own = item % program.subgroup_size;
    const int32_t* named = at<int32_t>(k.operands(inst)[1]);
    const int64_t given = named[item];
    const auto where = [&] { return text(" (", item_text(group, item), ", ", k.where(inst.loc), ")."); };
    int64_t lane = given;
    if (what == Subgroup::shuffle_xor) lane = own ^ given;
    if (what == Subgroup::shuffle_up) lane = own - given;
    if (what == Subgroup::shuffle_down) lane = own + given;
    if ((what == Subgroup::shuffle_up || what == Subgroup::shuffle_down) && given < 0)
        fail("Kernel \"", k.name, "\" shuffles ", what == Subgroup::shuffle_up ? "up" : "down", " by ", given,
             " lanes; it must be at least 0", where());
    if (what == Subgroup::broadcast && given != named[active.list[0]])
        fail("Kernel \"", k.name, "\" broadcasts the value of lane ", named[active.list[0]], " of a subgroup and that of lane ",
             given, " at once; all items must name the same lane", where());
    const bool exists = lane >= 0 && lane < program.subgroup_size;
    if (!exists && what != Subgroup::shuffle && what != Subgroup::broadcast) return n;
    for (int m = 0; m < active.count && exists; ++m)
        if (active.list[m] % program.subgroup_size == lane) return m;
    fail("Kernel \"", k.name, "\" takes the value of lane ", lane, " of a subgroup, which ",
         exists ? "is not active there" : text("has ", program.subgroup_size), where());
}

}  // namespace pumice::interp
