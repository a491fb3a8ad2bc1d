// Static upper bounds of the size of the tape: how many elements one item pushes at most, by the trip counts of nested loops.
//
// The bound decides where the tape lives (emit_tape.cpp). A small constant becomes private memory of the item, a larger one or a
// function of the launch's arguments a device buffer of that many elements an item. Without a bound a counting kernel runs first.
// The bound of a block is the number of values that it pushes, plus the bounds of its constructs; a loop multiplies by its trip
// count. Scalar expressions of constants, arguments and extents are evaluated by the host at the launch.
//
//     for %k = 0 to 100 { push 1 }                     number = 100, exact
//     for %k = 0 to %n { push 1 }                      more   = max(%n, 1)      (%n an argument or an extent)
//     while %k < 50 { push 1; %k = %k + 1 }            number = 50, not exact   (other conditions may end it earlier)
//     for %k = 0 to %n { if %c { push 1 } }            none: counted            (a bound by arguments would be wasteful)
//     for %k = 0 to %m { push 1 }, %m = load ...       none: counted
//     for %k = 0 to 1000000 { push 1; if %c break }    none: counted            (a break may end it long before)
//
// Cost: one traversal a type; the host evaluates an expression tree a launch.
// Limits: bounds above 2^40 elements are counted. A while is bounded only by `counter < constant` (or <=) in its condition,
// with a constant positive increment that does not wrap.
// Textbook name: static loop bound analysis, as for worst-case execution times (Healy et al., RTAS 1998).
#include <algorithm>

#include "autodiff/analysis/accumulation.h"
#include "autodiff/analysis/tape.h"
#include "core/analysis/loop_info.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/support/error.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// Elements an item up to which a loop that a condition may end early is not counted: counting runs the primal once more.
constexpr int64_t most_uncounted = 65536;
constexpr int64_t most = int64_t(1) << 40;  ///< elements an item, and iterations; larger tapes are counted

WideInt greatest(Scalar type) { return (WideInt(1) << (8 * size_of(type) - !is_unsigned_int(type))) - 1; }

/// Trip count of a for, capped at `most`.
int64_t trips(WideInt from, WideInt to, WideInt step) { return std::min(ir::trip_count(from, to, step), most); }

int64_t capped(int64_t n, int64_t each) { return int64_t(std::min(WideInt(n) * each, WideInt(most))); }

/// Evaluates a value that is made of constants, arguments, extents and indices of the item.
uint64_t bits_of(const Kernel& k, Value v, const HostValues& known) {
    const Inst& i = k[k[v].inst];
    uint64_t operands[3] = {}, result = 0;
    size_t n = 0;
    for (const Value operand : k.operands(i)) operands[n++] = bits_of(k, operand, known);
    switch (i.op) {
        case Op::constant: return i.immediate;
        case Op::argument: return known.scalar(size_t(i.immediate));
        case Op::extent: return uint32_t(known.extent(size_t(k[i.memory].argument), int(i.immediate)));
        case Op::global_index: return uint32_t(known.item[size_t(i.immediate)]);
        case Op::select: return operands[0] ? operands[1] : operands[2];
        case Op::cast: return cast_bits(k.type_of(k.operands(i)[0]), i.type, operands[0]);
        case Op::bitcast: return operands[0];
        default: break;
    }
    if (!evaluate_scalar(i.op, k.type_of(k.operands(i)[0]), operands, result))
        library_bug("a bound of a tape is not to be computed by the host");
    return result;
}
void add(TapeBound& sum, TapeBound&& b) {
    sum.number += b.number;
    sum.exact = sum.exact && b.exact;
    if (!b.more) return;
    if (!sum.more)
        sum.more = std::move(b.more);
    else
        sum.more = [x = std::move(sum.more), y = std::move(b.more)](const HostValues& known) { return x(known) + y(known); };
}

}  // namespace

int64_t number_of(const Kernel& k, Value v, const HostValues& known) {
    return int64_t(cast_bits(k.type_of(v), Scalar::i64, bits_of(k, v, known)));
}

double real_number_of(const Kernel& k, Value v, const HostValues& known) { return real_of(k.type_of(v), bits_of(k, v, known)); }

std::optional<TapeBound> TapePlan::bound(Scalar type) const {
    std::optional<TapeBound> all = bound(BlockId{0}, type);
    // A bound by arguments is allocated in full, so it must be exact; otherwise the tape is counted.
    return all && all->more && !all->exact ? std::nullopt : std::move(all);
}

std::optional<TapeBound> TapePlan::bound(BlockId block, Scalar type) const {
    TapeBound sum;
    sum.number = int64_t(taped(block, type).size()) + (type == Scalar::i32 ? int64_t(taped_counts(block).size()) : 0);
    for (const InstId id : k[block].insts) {
        const Inst& i = k[id];
        if (!is_control(i.op)) continue;
        TapeBound inside;
        for (int which = i.op == Op::while_ ? 1 : 0; which < 2; ++which) {
            if (i.blocks[which].id == none) continue;
            auto arm = bound(i.blocks[which], type);
            if (!arm) return std::nullopt;
            add(inside, std::move(*arm));
        }
        const bool any = inside.number > 0 || inside.more;
        if (any && i.op == Op::if_) inside.exact = false;
        if (any && is_loop(i.op)) {
            auto all = repeated(id, std::move(inside));
            if (!all) return std::nullopt;
            inside = std::move(*all);
        }
        add(sum, std::move(inside));
    }
    return sum;
}

/// The bound of all iterations of the loop, at least 1: a tape must have elements even where nothing is pushed.
std::optional<TapeBound> TapePlan::repeated(InstId id, TapeBound&& inside) const {
    TapeBound all;
    all.exact = inside.exact;
    if (const auto constant = bound_of_trips(id)) {
        if (k[id].op == Op::while_ || *constant < 1) all.exact = false;
        const int64_t n = std::max<int64_t>(*constant, 1);
        if (n > most / std::max<int64_t>(inside.number, 1)) return std::nullopt;
        all.number = n * inside.number;
        const bool may_end_early = k[id].op == Op::while_ ||
                                   std::ranges::any_of(where.jumps_to(id), [&](InstId jump) { return k[jump].op == Op::break_; });
        if (may_end_early && all.number > most_uncounted) return std::nullopt;
        if (inside.more)
            all.more = [n, more = std::move(inside.more)](const HostValues& known) { return capped(n, more(known)); };
        return all;
    }
    const auto v = k.operands(k[id]);
    if (k[id].op != Op::for_ || !same_for_all(k, v[0]) || !same_for_all(k, v[1]) || !same_for_all(k, v[2])) return std::nullopt;
    all.more = [kernel = std::make_shared<const Kernel>(k), from = v[0], to = v[1], step = v[2],
                inside = std::move(inside)](const HostValues& known) {
        const auto value = [&](Value v) { return wide_integer(kernel->type_of(v), bits_of(*kernel, v, known)); };
        const int64_t n = trips(value(from), value(to), value(step));
        if (n < 1) return int64_t(1);
        const int64_t each = std::min(inside.number + (inside.more ? inside.more(known) : 0), most);
        return capped(n, each);
    };
    return all;
}

std::optional<int64_t> TapePlan::bound_of_trips(InstId id) const {
    const Inst& loop = k[id];
    const auto value = [&](Value v) { return constant_integer(k, v); };
    if (loop.op == Op::for_) {
        const auto n = constant_trip_count(k, loop);
        return n ? std::optional(std::min(*n, most)) : std::nullopt;
    }
    // A while whose condition contains `counter < constant`.
    std::vector<Value> conjuncts{k.operands(last_inst(k, loop.blocks[0]))[0]};
    while (!conjuncts.empty()) {
        const Value v = conjuncts.back();
        conjuncts.pop_back();
        const InstId source = k[v].inst;
        if (source.id == none) continue;
        const auto operands = k.operands(k[source]);
        if (k[source].op == Op::and_) {
            conjuncts.insert(conjuncts.end(), operands.begin(), operands.end());
        } else if (k[source].op == Op::lt || k[source].op == Op::le) {
            const ValueInfo& info = k[operands[0]];
            const auto limit = value(operands[1]);
            if (!limit || info.inst.id != none || where.owner_of(info.block) != id) continue;
            const Value grows = increment(operands[0]);
            const auto from = value(k.operands(loop)[info.index]);
            const auto step = grows ? value(grows) : std::nullopt;
            if (!from || !step || *step <= 0) continue;
            // A counter that wraps before it reaches the limit starts again.
            const WideInt end = *limit + (k[source].op == Op::le);
            const int64_t n = trips(*from, end, *step);
            if (n < most && *from + n * *step <= greatest(info.type)) return n;
        }
    }
    return std::nullopt;
}

}  // namespace pumice::derive
