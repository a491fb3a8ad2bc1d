// Unroll-and-jam: one item does the work of several rows of the range, and shares what these have in common.
//
// Why: the items of a column load the same elements of a matrix, one row of items after another. Four rows together load each
// element once, and have four chains of sums, so that none waits for the last addition (register tiling).
//
//     %i = global_index 1                            |  %i = global_index 1;  %i1 = add %i, 1
//     %s = for %k = 0 to %n carry (%t = 0.0) {       |  %s, %s1 = for %k = 0 to %n carry (%t = 0.0, %t1 = 0.0) {
//       %a = load arg2[%i, %k]                       |    %a = load arg2[%i, %k];  %a1 = load arg2[%i1, %k]
//       %b = load arg3[%k, %j]                       |    %b = load arg3[%k, %j]                       # once
//       yield fma(%a, %b, %t)                        |    yield fma(%a, %b, %t), fma(%a1, %b, %t1)
//     }                                              |  }
//
// Method: uniformity with axis 1 alone as the axis of items says what depends on the row. That is emitted once a row, in turn;
// everything else once. A construct whose control flow depends on the row is emitted once a row as a whole. If only the bounds of
// a loop with step 1 do, the rows run the iterations they share together, and the rest before and after these (index-set
// splitting). If a loop stands under a condition that depends on the row, the rows run it together where it holds for all of
// them.
// Cost model: the vector instructions and loads of one row, times the rows, over those of all rows together, weighed by loops.
// Cost: the kernel's code once more, for all rows; so only for kernels of at most 100 instructions that have loops.
// A barrier is emitted once, for all rows. Such a kernel runs groups that lie in the range, by the items in every fourth row.
// Limits: no group or subgroup operations, atomics, reports, private memory; local memory and returns inside constructs only with
// barriers, and none that depend on the row. Items between two barriers may run in any order, so rows that run together give the
// same results.
// Textbook name: unroll-and-jam (Allen and Cocke 1972; Callahan, Carr and Kennedy, PLDI 1990); thread coarsening on GPUs.
#include "cpu/plan/unroll_and_jam.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/analysis/linear_index.h"
#include "core/analysis/loop_info.h"
#include "core/analysis/uniformity.h"
#include "core/ir/rewriter.h"
#include "core/passes/cross_loop_cse.h"
#include "core/passes/dead.h"
#include "core/passes/forward_stores.h"
#include "core/passes/pipeline.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr size_t most_jammed = 100;     ///< instructions of a kernel that is emitted for several rows, too
constexpr double least_gain = 1.15;     ///< of the instructions of separate rows over those of rows together
constexpr double unknown_trips = 16;    ///< iterations of a loop of unknown length
constexpr double scalar_load = 0.5;     ///< a load of one element for all lanes, in vector instructions
constexpr double scattered_access = 8;  ///< likewise an access lane by lane

/// Replaces in_range by true, for groups that lie in the range.
class InFullGroups : public Rewriter {
public:
    using Rewriter::Rewriter;

private:
    void inst(InstId id) override {
        if (from[id].op == Op::in_range)
            map(from.result(from[id]), b.constant_bool(true));
        else
            copy(id);
    }
};

class UnrollAndJam : public Rewriter {
public:
    /// `whole`: with the iterations that rows do not share; without them the kernel serves as an estimate only.
    UnrollAndJam(const Kernel& k, int64_t rows, bool whole)
        : Rewriter(k),
          uniformity(k, {Scope::launch, Scope::item, Scope::launch}),
          where(uniformity.structure()),
          with_rests(whole) {
        tables.assign(size_t(rows), std::vector<Value>(k.values.size()));
    }

private:
    // ---- rows ----

    bool by_row(Value v) const { return uniformity.of(v) == Scope::item; }

    /// Calls f(row) with the values of each row in turn.
    template <class F> void each_row(const F& f) {
        for (size_t r = 0; r < tables.size(); ++r) {
            std::swap(values, tables[r]);
            f(r);
            std::swap(values, tables[r]);
        }
    }
    void map_all(Value old, Value now) {
        for (auto& table : tables) table[old.id] = now;
    }

    void inst(InstId id) override {
        if (one_row) return copy(id);
        const Inst& i = from[id];
        if (is_terminator(i.op)) return terminator(id);
        if (is_control(i.op)) return construct(id);
        const bool each = i.result_count == 0 || by_row(from.result(i));
        if (each) return each_row([&](size_t r) { item(id, r); });
        std::swap(values, tables[0]);
        copy(id);
        std::swap(values, tables[0]);
        map_all(from.result(i), tables[0][from.result(i).id]);
    }

    /// An instruction of one row.
    void item(InstId id, size_t row) {
        copy(id);
        const Inst& i = from[id];
        const bool index = i.op == Op::global_index || i.op == Op::local_index;
        if (!index || i.immediate != 1) return;
        const Value first = of(from.result(i));
        map(from.result(i), b.op(Op::add, {first, b.constant_int(Scalar::i32, int64_t(row))}));
    }

    // ---- control flow ----

    /// For each column of a construct: does it have a value for each row?
    std::vector<bool> columns(InstId id) const {
        const Inst& i = from[id];
        std::vector<bool> each;
        for (uint32_t c = 0; c < i.result_count; ++c)
            each.push_back(by_row(from.result(i, int(c))) ||
                           (is_loop(i.op) && by_row(from[i.blocks[0]].params[leading_params(i.op) + c])));
        return each;
    }

    /// The values of columns, of all rows where a column has one for each.
    std::vector<Value> gathered(std::span<const Value> old, const std::vector<bool>& each) const {
        std::vector<Value> all;
        for (size_t c = 0; c < old.size(); ++c)
            for (size_t r = 0; r < (each[c] ? tables.size() : 1); ++r) all.push_back(tables[r][old[c].id]);
        return all;
    }
    void scatter(std::span<const Value> now, const std::vector<Value>& old, const std::vector<bool>& each) {
        size_t next = 0;
        for (size_t c = 0; c < old.size(); ++c)
            for (size_t r = 0; r < tables.size(); ++r) tables[r][old[c].id] = now[each[c] || r == 0 ? next++ : next - 1];
    }

    void construct(InstId id) {
        const Inst& i = from[id];
        if (uniformity.parting(id) != Scope::item && !jumps_by_row(id)) return together(id, leading(i));
        if (shares_iterations(id)) return bounds_by_row(id);
        for (const int arm : {0, 1})
            if (i.op == Op::if_ && has_loop(i.blocks[arm])) return condition_by_row(id, arm);
        one_row = true;
        each_row([&](size_t) { copy(id); });
        one_row = false;
    }

    bool jumps_by_row(InstId id) const {
        const auto& jumps = where.jumps_to(id);
        return std::any_of(jumps.begin(), jumps.end(), [&](InstId j) { return uniformity.jump(j) == Scope::item; });
    }

    std::vector<Value> leading(const Inst& i) const {
        std::vector<Value> now;
        for (uint32_t o = 0; o < leading_operands(i.op); ++o) now.push_back(tables[0][from.operands(i)[o].id]);
        return now;
    }

    bool has_loop(BlockId block) const {
        return std::any_of(from[block].insts.begin(), from[block].insts.end(), [&](InstId id) {
            const Inst& i = from[id];
            return is_loop(i.op) || (i.op == Op::if_ && (has_loop(i.blocks[0]) || has_loop(i.blocks[1])));
        });
    }

    /// An if whose condition depends on the row. Where all rows take the arm with the loop they run it together, elsewhere each
    /// row runs the whole construct.
    void condition_by_row(InstId id, int arm) {
        const Inst& i = from[id];
        Value all;
        for (const auto& table : tables) {
            const Value condition = table[from.operands(i)[0].id], here = arm ? b.op(Op::not_, {condition}) : condition;
            all = all ? b.op(Op::and_, {all, here}) : here;
        }
        const std::vector<Value> results = results_of(from, i);
        const std::vector<bool> each = columns(id);
        const InstId made = control(i, {&all, 1}, {}, [&](int which, std::span<const Value>) {
            if (which == 0) return insts(i.blocks[arm]);
            if (with_rests) {
                const size_t first = to.insts.size();
                one_row = true;
                each_row([&](size_t) { copy(id); });
                one_row = false;
                for (size_t n = first; n < to.insts.size(); ++n)  // it seldom runs
                    if (to.insts[n].op == Op::for_) to.insts[n].immediate = uint64_t(LoopHint::rolled);
            } else {
                for (const Value v : results) map_all(v, zero(from.type_of(v)));
            }
            b.terminate(Op::yield, gathered(results, each));
        });
        scatter(results_of(to, to[made]), results, each);
    }

    /// A construct that all rows run together, with these condition or bounds.
    void together(InstId id, std::vector<Value> operands) {
        const Inst& i = from[id];
        const std::vector<bool> each = columns(id);
        const uint32_t index = leading_params(i.op);
        if (is_loop(i.op)) {
            const auto initial = gathered(from.operands(i).subspan(leading_operands(i.op)), each);
            operands.insert(operands.end(), initial.begin(), initial.end());
        }
        std::vector<Scalar> types;
        std::vector<Value> carried;
        const Block& first = from[i.blocks[0]];
        for (uint32_t p = 0; p < first.params.size(); ++p) {
            const size_t copies = p >= index && each[p - index] ? tables.size() : 1;
            types.insert(types.end(), copies, from.type_of(first.params[p]));
            if (p >= index) carried.push_back(first.params[p]);
        }
        const InstId made = control(i, operands, types, [&](int which, std::span<const Value> now) {
            if (which == 0 && is_loop(i.op)) {
                if (index) map_all(first.params[0], now[0]);
                scatter(now.subspan(index), carried, each);
            }
            insts(i.blocks[which]);
        });
        if (i.result_count) scatter(results_of(to, to[made]), results_of(from, i), each);
    }

    /// Passes on the values of the rows that run together.
    void terminator(InstId id) {
        const Inst& i = from[id];
        const bool jumps = i.op == Op::break_ || i.op == Op::continue_;
        const InstId target = jumps ? where.loop_around(id) : where.around(id);
        const auto old = from.operands(i);
        b.loc = i.loc;
        if (target.id == none || i.op == Op::return_) return b.terminate(i.op);
        const uint32_t before = i.op == Op::test ? 1 : 0;
        std::vector<Value> now;
        if (before) now.push_back(tables[0][old[0].id]);
        const auto passed = gathered(old.subspan(before), columns(target));
        now.insert(now.end(), passed.begin(), passed.end());
        b.terminate(i.op, now);
    }

    // ---- loops whose bounds depend on the row ----

    /// True for a `for` with step 1, without jumps, whose bounds depend on the row and whose carried values all do.
    bool shares_iterations(InstId id) const {
        const Inst& i = from[id];
        if (unit_step(from, i) != 1 || !where.jumps_to(id).empty()) return false;
        const auto& params = from[i.blocks[0]].params;
        return std::all_of(params.begin() + 1, params.end(), [&](Value p) { return by_row(p); });
    }

    /// The rows run the iterations they share together; before these each row those that it begins with, and after them the
    /// others.
    void bounds_by_row(InstId id) {
        const Inst& i = from[id];
        const auto old = from.operands(i);
        const std::span<const Value> initial = old.subspan(leading_operands(i.op));
        Value first = tables[0][old[0].id], end = tables[0][old[1].id];
        for (const auto& table : tables) {
            first = b.op(Op::max, {first, table[old[0].id]});
            end = b.op(Op::min, {end, table[old[1].id]});
        }
        // Each part leaves its values in the tables as the loop's results, and the next part begins with these.
        const auto part_of_row = [&](Value begin, Value stop, bool more) {
            one_row = true;
            std::vector<Value> operands{begin, stop, of(old[2])};
            for (size_t c = 0; c < initial.size(); ++c) operands.push_back(more ? of(from.result(i, int(c))) : of(initial[c]));
            to.insts[control(i, operands).id].immediate = uint64_t(LoopHint::rolled);  // few iterations
            one_row = false;
        };
        each_row([&](size_t) {
            if (by_row(old[0]) && with_rests)
                part_of_row(of(old[0]), b.op(Op::min, {first, of(old[1])}), false);
            else
                for (size_t c = 0; c < initial.size(); ++c) map(from.result(i, int(c)), of(initial[c]));
        });
        // The shared part begins with the results of the first one.
        const std::vector<bool> each(initial.size(), true);
        std::vector<Value> results = results_of(from, i);
        std::vector<Value> operands{first, end, tables[0][old[2].id]};
        const auto begun = gathered(results, each);
        operands.insert(operands.end(), begun.begin(), begun.end());
        const auto& params = from[i.blocks[0]].params;
        std::vector<Scalar> types{from.type_of(params[0])};
        for (size_t c = 0; c < results.size(); ++c) types.insert(types.end(), tables.size(), from.type_of(results[c]));
        const InstId made = control(i, operands, types, [&](int, std::span<const Value> now) {
            map_all(params[0], now[0]);
            scatter(now.subspan(1), {params.begin() + 1, params.end()}, each);
            insts(i.blocks[0]);
        });
        scatter(results_of(to, to[made]), results, each);
        if (!by_row(old[1]) || !with_rests) return;
        const Value done = b.op(Op::max, {first, end});
        each_row([&](size_t) { part_of_row(done, of(old[1]), true); });
    }

    Uniformity uniformity;
    const Structure& where;
    std::vector<std::vector<Value>> tables;  ///< of each row: maps values of `from` to those of `to`
    const bool with_rests;
    bool one_row = false;  ///< a construct is being emitted for one row
};

bool can_jam(const Kernel& k, const Uniformity& uniformity) {
    const auto& order = uniformity.structure().order();
    const bool barriers = contains_barrier(k);
    if (k.rank < 2 || order.size() > most_jammed || (!barriers && (k.whole_groups || uniformity.returns_early()))) return false;
    const auto suits = [&](const Memory& m) { return m.kind == MemoryKind::array || (barriers && m.kind == MemoryKind::local); };
    if (!std::all_of(k.memories.begin(), k.memories.end(), suits)) return false;
    if (std::none_of(order.begin(), order.end(), [&](InstId id) { return is_loop(k[id].op); })) return false;
    return std::all_of(order.begin(), order.end(), [&](InstId id) {
        const Op op = k[id].op;
        if (is_pure(op)) return !asks_subgroup(op) && (barriers || op != Op::in_range);
        if (op == Op::return_) return uniformity.control(id) != Scope::item;
        return op == Op::load || op == Op::store || op == Op::uniform || op == Op::barrier || is_control(op) || is_terminator(op);
    });
}

/// Iterations of a loop, if its bounds are constant or only the first index is not, such as in range(lane, 64, 16).
double trips_of(const Kernel& k, const Inst& loop) {
    if (const auto trips = constant_trip_count(k, loop)) return double(*trips);
    const auto v = k.operands(loop);
    uint64_t end = 0, step = 0;
    if (loop.op != Op::for_ || !k.constant(v[1], end) || !k.constant(v[2], step)) return unknown_trips;
    const auto number = [&](uint64_t bits) { return size_of(k.type_of(v[1])) == 8 ? int64_t(bits) : int64_t(int32_t(bits)); };
    return number(end) > 0 && number(step) > 0 ? std::ceil(double(number(end)) / double(number(step))) : unknown_trips;
}

/// The vector instructions and accesses of a packet, weighed by the trip counts of loops.
double work_of(const Kernel& k) {
    const Uniformity uniformity(k, {Scope::item, Scope::subgroup, Scope::subgroup});
    const LinearIndex affine(k, uniformity);
    const Structure& where = uniformity.structure();
    double all = 0;
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        double each = 0;
        if (is_pure(i.op)) {
            const Value r = k.result(i);
            const bool index = is_int(i.type) && affine.of(r).known;
            each = uniformity.of(r) == Scope::item && !index ? std::max(1, instructions_of(i)) : 0;
        } else if (i.op == Op::load || i.op == Op::store) {
            const auto indices = indices_of(k, i);
            const auto step = [&](Value v) { return affine.of(v).known ? affine.of(v).step(32) : std::nullopt; };
            const bool uniform =
                std::all_of(indices.begin(), indices.end(), [&](Value v) { return uniformity.of(v) < Scope::item; });
            each = uniform ? scalar_load : step(indices.back()) == 1 ? 1 : scattered_access;
        }
        for (InstId loop = where.loop_around(id); loop.id != none; loop = where.loop_around(loop)) {
            each *= trips_of(k, k[loop]);
        }
        all += each;
    }
    return all;
}

}  // namespace

Kernel unroll_and_jam(const Kernel& lowered, int64_t rows) { return UnrollAndJam(lowered, rows, true).run(); }

Kernel jammed(const Kernel& lowered, int64_t rows) {
    const Pass passes[] = {
        {"in_full_groups", [](const Kernel& k) { return InFullGroups(k).run(); }},
        {"unroll_and_jam", [rows](const Kernel& k) { return unroll_and_jam(k, rows); }},
        // Rows that load the same element load it once.
        {"forward_stores", forward_stores},
        {"dead", dead},
    };
    return run(passes, lowered, false);
}

int64_t rows_worth_jamming(const Kernel& lowered) {
    if (!can_jam(lowered, Uniformity(lowered))) return 1;
    const Kernel full = InFullGroups(lowered).run();
    const Kernel shared = dead(forward_stores(UnrollAndJam(full, most_jammed_rows, false).run()));
    const double apart = double(most_jammed_rows) * work_of(full), together = work_of(shared);
    return apart >= least_gain * together ? most_jammed_rows : 1;
}

}  // namespace pumice::cpu
