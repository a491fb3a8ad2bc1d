// Strip-mining (loop tiling) of reduction loops, with the packet loop of a group moved between block loop and iterations.
//
// Why: every packet of a group adds to the same elements. A packet that runs the whole loop pushes the elements out of the
// first-level cache before the next packet comes. In blocks, all packets of the group use a block's elements while these are
// in the cache:
//
//     for %k = 0 to %n step 1 {              for %b = 0 to %n step 128 {
//       atomic add arg1[%k], %x        =>      barrier            # packets of the group run the block in turn
//     }                                        for %k = %b to min(%b + 128, %n) step 1 { atomic add arg1[%k], %x }
//                                            }
//
// In kernels with barriers, costly values (transcendental functions) that are uniform in the group are also tabulated: the items
// compute them once for a block, side by side, into local memory, and the iterations load them.
// Cost: one barrier a block, two with tables. Block size: 24 KiB of vectors, clamped to 8 to 128 iterations.
// Limits: only `for` loops at the top level with an i32 index and a step of 1 or -1, without jumps, barriers, returns, prints or
// subgroup operations, run alike by the whole group; every add in the loop must go to elements that the group shares. Kernels
// that return from inside a construct are left alone.
// Textbook: strip-mining and loop interchange (Wolfe 1989; Allen and Kennedy).
#include <algorithm>
#include <map>
#include <set>

#include "core/analysis/loop_info.h"
#include "core/analysis/rematerialisation.h"
#include "core/analysis/uniformity.h"
#include "core/analysis/uses.h"
#include "core/ir/ops.h"
#include "core/ir/rewriter.h"
#include "core/support/error.h"
#include "cpu/plan/lower_for_cpu.h"
#include "cpu/plan/reduction_privatisation.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int64_t block_bytes = 24 << 10;  ///< of the elements of a block, each a vector with one place for each lane
constexpr int64_t element_bytes = 64, least_iterations = 8, most_iterations = 128;

class TileReductionLoops : public Rewriter {
public:
    explicit TileReductionLoops(const Kernel& k)
        : Rewriter(k), uniformity(k), added(k.memories.size()), uses(k), returns(uniformity.returns_early()) {
        for (const MemoryId m : only_added_to(k)) added[m.id] = takes_lanes(k[m]);
        const auto& order = uniformity.structure().order();
        barriers = std::any_of(order.begin(), order.end(),
                               [&](InstId id) { return is_barrier(k[id].op) || (step_of(id) && shared_adds(id)); });
    }

private:
    /// The number of adds in a loop body that go to an element which the items of the group share.
    int64_t shared_adds(InstId id) const {
        int64_t adds = 0;
        each_inside(from, from[id], [&](InstId inner) { adds += adds_to(inner) && shared(inner); });
        return adds;
    }
    bool adds_to(InstId id) const {
        const Inst& i = from[id];
        return i.op == Op::atomic && added[i.memory.id] && !uses.any(from.result(i));
    }
    bool shared(InstId id) const {
        const auto indices = indices_of(from, from[id]);
        return std::all_of(indices.begin(), indices.end(), [&](Value v) { return uniformity.of(v) <= Scope::group; });
    }

    /// Legality: the step, 1 or -1, of a loop that can be strip-mined (all items of the group run it alike); else 0.
    int64_t step_of(InstId id) const {
        const Inst& loop = from[id];
        if (returns || unit_step(from, loop) == 0 || uniformity.structure().around(id).id != none) return 0;
        if (!uniformity.structure().jumps_to(id).empty() || uniformity.parting(id) > Scope::group) return 0;
        bool whole = true;
        each_inside(from, loop, [&](InstId inner) {
            const Op op = from[inner].op;
            whole = whole && !is_barrier(op) && op != Op::return_ && op != Op::subgroup && op != Op::print && op != Op::require;
            if (adds_to(inner)) whole = whole && shared(inner);
        });
        return whole ? unit_step(from, loop) : 0;
    }

    // ---- tables ----

    /// The costly values that can be rematerialised for any iteration, from the loop's index and from values defined before the
    /// loop.
    std::vector<InstId> tabulated(InstId loop) const {
        const Structure& where = uniformity.structure();
        const Block& body = from[from[loop].blocks[0]];
        const auto uniform = [&](Value v) { return uniformity.of(v) <= Scope::group; };
        Rematerialisation again(
            from, [&](const Inst& i) { return is_repeatable(from, i) && uniform(from.result(i)); },
            [&](Value v) { return uniform(v) && (v == body.params[0] || !where.defined_in(loop, v)); });
        std::vector<InstId> found;
        for (const InstId id : body.insts)
            if (is_costly(from[id].op) && again.of(from.result(from[id]))) found.push_back(id);
        return found;
    }

    /// `rank`: the item's number among the items of its group that are in the range, axis 0 fastest. `count`: the number of those
    /// items.
    void members(Value& rank, Value& count) {
        for (int axis = (from.rank == 0 ? 3 : from.rank) - 1; axis >= 0; --axis) {
            const Value present = members_along(axis);
            rank = rank ? b.op(Op::add, {b.op(Op::mul, {rank, present}), b.index(Op::local_index, axis)})
                        : b.index(Op::local_index, axis);
            count = count ? b.op(Op::mul, {count, present}) : present;
        }
    }

    /// Fills the tables: `for n = rank to last - first step count { table[n] = value of iteration first + n }`, then a barrier.
    /// For a step of -1, the limit is first - last, and the iteration first - n.
    void fill(const Inst& loop, std::span<const InstId> costly, Value first, Value last, int64_t step) {
        std::set<uint32_t> needed;
        const std::function<void(InstId)> need = [&](InstId id) {
            if (id.id == none || uniformity.structure().block_of(id) != loop.blocks[0] || !needed.insert(id.id).second) return;
            for (const Value o : from.operands(from[id])) need(from[o].inst);
        };
        for (const InstId id : costly) need(id);
        Value rank, count;
        members(rank, count);
        const Value bounds[] = {rank, step > 0 ? b.op(Op::sub, {last, first}) : b.op(Op::sub, {first, last}), count};
        const Scalar types[] = {Scalar::i32};
        control(loop, bounds, types, [&](int, std::span<const Value> params) {
            map(from[loop.blocks[0]].params[0], b.op(step > 0 ? Op::add : Op::sub, {first, params[0]}));
            for (const InstId id : from[loop.blocks[0]].insts)
                if (needed.count(id.id)) copy(id);
            for (const InstId id : costly) b.store(tables.at(id.id).memory, 0, {&params[0], 1}, of(from.result(from[id])));
            b.terminate(Op::yield);
        });
        b.barrier();
    }

    MemoryId table_of(const Inst& i, int64_t elements) {
        Memory memory;
        memory.kind = MemoryKind::local;
        memory.name = text("table", to.memories.size());
        memory.element = Element::of(i.type);
        memory.extents = {elements};
        memory.loc = i.loc;
        to.memories.push_back(memory);
        return {uint32_t(to.memories.size() - 1)};
    }

    // ---- blocks ----

    void inst(InstId id) override {
        if (const auto t = tables.find(id.id); t != tables.end()) {
            b.loc = from[id].loc;
            return map(from.result(from[id]), b.load(t->second.memory, 0, {&t->second.at, 1}));
        }
        const int64_t step = step_of(id), adds = step ? shared_adds(id) : 0;
        const std::vector<InstId> costly = step && barriers ? tabulated(id) : std::vector<InstId>();
        if (adds == 0 && costly.empty()) return copy(id);
        const int64_t fitting = adds ? block_bytes / (element_bytes * adds) : most_iterations;
        cut(from[id], step, std::clamp(fitting, least_iterations, most_iterations), costly);
    }

    void cut(const Inst& loop, int64_t step, int64_t iterations, std::span<const InstId> costly) {
        b.loc = loop.loc;
        std::vector<Value> outer = of(from.operands(loop));
        const Value limit = outer[1], by = outer[2];
        outer[2] = b.constant_int(Scalar::i32, step * iterations);
        const std::vector<Scalar> types = param_types(loop.blocks[0]);
        for (const InstId id : costly) tables[id.id].memory = table_of(from[id], iterations);
        const InstId made = control(loop, outer, types, [&](int, std::span<const Value> params) {
            b.barrier();
            const std::vector<Value> carried(params.begin() + 1, params.end());
            // `first + step * iterations` may wrap in the last block. The number of iterations left fits u32, so that is compared
            // instead.
            const Value first = params[0], left = step > 0 ? b.op(Op::sub, {limit, first}) : b.op(Op::sub, {first, limit});
            const Value size = b.constant(Scalar::u32, uint64_t(iterations)),
                        cut_short = b.op(Op::lt, {b.bitcast(Scalar::u32, left), size});
            const Value whole = b.op(Op::add, {first, b.constant_int(Scalar::i32, step * iterations)});
            const Value last = b.select(cut_short, limit, whole);
            if (!costly.empty()) fill(loop, costly, first, last, step);
            std::vector<Value> inner{first, last, by};
            inner.insert(inner.end(), carried.begin(), carried.end());
            const InstId block = control(loop, inner, types, [&](int, std::span<const Value> now) {
                map_params(loop.blocks[0], now);
                for (const InstId id : costly)
                    tables[id.id].at = step > 0 ? b.op(Op::sub, {now[0], first}) : b.op(Op::sub, {first, now[0]});
                insts(loop.blocks[0]);
            });
            b.terminate(Op::yield, results_of(to, to[block]));
        });
        to.insts[made.id].immediate = 0;
        map_results(loop, made);
    }

    struct Table {
        MemoryId memory;
        Value at;  ///< index of the current iteration in the table
    };
    const Uniformity uniformity;
    std::vector<bool> added;
    const Uses uses;
    const bool returns;                ///< a return stands inside a construct: predicate_range_tail refuses barriers after it
    bool barriers = false;             ///< the kernel has barriers, or this pass will insert some
    std::map<uint32_t, Table> tables;  ///< by the id of the tabulated instruction
};

}  // namespace

Kernel tile_reduction_loops(const Kernel& kernel) { return TileReductionLoops(kernel).run(); }

}  // namespace pumice::cpu
