// Narrowing: 32-bit arithmetic of bytes and 16-bit numbers becomes 16-bit arithmetic where no result can leave 16 bits.
// Why: a vector holds twice as many 16-bit lanes as 32-bit ones (cpu/width/choose_wide_packets.cpp), and filters of pictures
// convert bytes to int only because their sums do not fit bytes.
//
//   %1 = cast %a : i32           # %a, %b : u8      |  %1 = cast %a : i16
//   %2 = cast %b : i32                              |  %2 = cast %b : i16
//   %3 = sub %1, %2 : i32        # [-255, 255]      |  %3 = sub %1, %2 : i16
//   %4 = abs %3 : i32                               |  %4 = abs %3 : i16
//   %5 = cast %4 : u8                               |  %5 = cast %4 : u8
//
// An instruction is narrowed if its range and those of its operands fit the 16-bit type of its sign, its operands are narrowed,
// constants, or conversions from at most 16 bits, and all its users are narrowed, comparisons of such values, or conversions to
// at most 16 bits. The set is the largest one with that property: all that fits, less what breaks the rule, until nothing does.
// Cost: linear in the kernel for each round of removals; a chain is removed in a few rounds, as both directions are visited.
// Limits: +, -, *, bits, min, max, abs, select, shifts by constants; no divisions, no values that loops or branches pass on.
// Textbook name: integer narrowing by value ranges (LLVM's minimal bit widths of a vectorised loop).
#include "core/passes/narrow_integers.h"

#include <algorithm>
#include <vector>

#include "core/analysis/uses.h"
#include "core/ir/rewriter.h"
#include "core/ranges/int_range.h"

namespace pumice::ir {
namespace {

constexpr int least_narrowed = 2;  ///< arithmetic instructions; a single one gains nothing

bool is_short(Scalar type) { return (is_int(type) && size_of(type) <= 2) || type == Scalar::boolean; }
Scalar narrowed(Scalar type) { return is_signed_int(type) ? Scalar::i16 : Scalar::u16; }

bool is_comparison(Op op) {
    switch (op) {
        case Op::eq:
        case Op::ne:
        case Op::lt:
        case Op::le:
        case Op::gt:
        case Op::ge: return true;
        default: return false;
    }
}

class NarrowIntegers : public Rewriter {
public:
    explicit NarrowIntegers(const Kernel& kernel)
        : Rewriter(kernel),
          structure(kernel),
          uses(kernel),
          ranges(kernel),
          chosen(kernel.values.size()),
          narrow(kernel.values.size()) {
        choose();
    }
    bool any() const { return std::count(chosen.begin(), chosen.end(), true) >= least_narrowed; }

private:
    void choose() {
        const auto& order = structure.order();
        for (const InstId id : order)
            if (const Inst& i = from[id]; can_be_narrow(i)) chosen[from.result(i).id] = true;
        const auto keep = [&](InstId id) -> bool {
            const Inst& i = from[id];
            if (i.result_count != 1 || !chosen[from.result(i).id] || (has_narrow_operands(i) && has_narrow_users(i))) return true;
            return chosen[from.result(i).id] = false;
        };
        for (bool changed = true; changed;) {
            changed = false;
            for (const InstId id : order) changed |= !keep(id);
            for (size_t n = order.size(); n-- > 0;) changed |= !keep(order[n]);
        }
    }

    bool fits(Value v) {
        const IntRange r = ranges(v), all = range_of(narrowed(from.type_of(v)));
        return r.low >= all.low && r.high <= all.high;
    }
    bool can_be_narrow(const Inst& i) {
        if (i.result_count != 1 || (i.type != Scalar::i32 && i.type != Scalar::u32)) return false;
        const auto o = from.operands(i);
        uint64_t bits = 0;
        switch (i.op) {
            case Op::add:
            case Op::sub:
            case Op::mul:
            case Op::neg:
            case Op::abs:
            case Op::min:
            case Op::max:
            case Op::and_:
            case Op::or_:
            case Op::xor_: break;
            case Op::shl:
            case Op::shr:
                if (!from.constant(o[1], bits) || bits >= 16) return false;
                break;
            case Op::select: return fits(from.result(i)) && fits(o[1]) && fits(o[2]);
            default: return false;
        }
        return fits(from.result(i)) && std::all_of(o.begin(), o.end(), [&](Value v) { return fits(v); });
    }

    /// A conversion from at most 16 bits, which an i16 or u16 can be made of, too.
    bool is_leaf(Value v) {
        const InstId source = from[v].inst;
        return source.id != none && from[source].op == Op::cast && is_short(from.type_of(from.operands(from[source])[0])) &&
               fits(v);
    }
    bool is_narrow(Value v) {
        uint64_t bits = 0;
        return chosen[v.id] || (from.constant(v, bits) ? fits(v) : is_leaf(v));
    }
    bool has_narrow_operands(const Inst& i) {
        const auto o = from.operands(i).subspan(i.op == Op::select ? 1 : 0);
        return std::all_of(o.begin(), o.end(), [&](Value v) { return is_narrow(v); });
    }
    bool has_narrow_users(const Inst& i) {
        const auto users = uses.of(from.result(i));
        return std::all_of(users.begin(), users.end(), [&](InstId user) {
            const Inst& u = from[user];
            if (u.op == Op::cast) return is_short(u.type);
            return is_comparison(u.op) ? compares_narrow(u) : u.result_count == 1 && chosen[from.result(u).id];
        });
    }
    bool compares_narrow(const Inst& i) {
        const auto o = from.operands(i);
        const Scalar type = from.type_of(o[0]);
        return (type == Scalar::i32 || type == Scalar::u32) && is_narrow(o[0]) && is_narrow(o[1]);
    }

    void inst(InstId id) override {
        const Inst& i = from[id];
        const auto o = from.operands(i);
        b.loc = i.loc;
        if (i.result_count == 1 && chosen[from.result(i).id]) {
            Value& made = narrow[from.result(i).id];
            if (i.op == Op::select) {
                const Value first = narrow_form(o[1]), second = narrow_form(o[2]);
                made = b.select(of(o[0]), first, second);
            } else if (o.size() == 1)
                made = b.op(i.op, {narrow_form(o[0])});
            else
                made = b.op(i.op, {narrow_form(o[0]), narrow_form(o[1])});
            return;
        }
        const bool of_chosen = std::any_of(o.begin(), o.end(), [&](Value v) { return chosen[v.id]; });
        if (!of_chosen) return copy(id);
        if (i.op == Op::cast)
            map(from.result(i), b.cast(i.type, narrow_form(o[0])));
        else
            map(from.result(i), b.op(i.op, {narrow_form(o[0]), narrow_form(o[1])}));
    }

    Value narrow_form(Value v) {
        if (chosen[v.id]) return narrow[v.id];
        const Scalar type = narrowed(from.type_of(v));
        if (uint64_t bits = 0; from.constant(v, bits)) return b.constant_int(type, ranges(v).low);
        return b.cast(type, of(from.operands(from[from[v].inst])[0]));
    }

    const Structure structure;
    const Uses uses;
    IntRanges ranges;
    std::vector<bool> chosen;   ///< values of `from` whose instructions are narrowed
    std::vector<Value> narrow;  ///< their 16-bit values
};

}  // namespace

Kernel narrow_integers(const Kernel& kernel) {
    NarrowIntegers pass(kernel);
    return pass.any() ? pass.run() : kernel;
}

}  // namespace pumice::ir
