// Owner-computes: contended atomic additions to local memory in a loop become sums, each by the one item that owns the place.
// Why: the adjoint of a tiled product adds to a[i][k]'s shadow for all j, and to b[k][j]'s for all i; the items queue up there.
//
//   for %k = %zero to %size step %one {             |  %33 = for %34 = %4 to %29 step %5 carry (...) {  # %29 = ceil(16 / %26)
//     %b = load local1[%k, %x] : f32                |    %41 = for %42 = %4 to %26 step %5 carry (%43 = %7) : f32 {
//     %p = mul %w, %b : f32                         |      %45 = load kept1[%44] : f32                   # %w of member %42
//     %1 = atomic add local2[%y, %k], %p : f32      |      %46 = load local1[%37, %42] : f32             # %37 = %34 * %26 + %x
//     yield                                         |      %47 = mul %45, %46 : f32
//   }                                               |      %48 = add %43, %47 : f32
//                                                   |    store local2[%2, %37], %41 : f32
//
// %26 is the number of members, the items along axis 0. An addend's operands that only another item has go to local memory
// (kept1). Rows get an odd length where that avoids bank conflicts. If there are as many members as iterations, and the owner
// alone reads the sum back (core/lowering/private_accumulators.h), the sum stays in a register.
// Cost: each loop's block is scanned for each of its additions. The code gains a barrier for each kept value.
// Limits: rank 2 or 3; no early return; a for with constant i32 bounds, 8 iterations or more, only loads, atomics and
// arithmetic, between two barriers; places that depend on the index and on all axes but one; at most 3 loads and 6 operations
// to recompute; 16 KiB of local memory.
// Textbook name: owner-computes rule (Callahan and Kennedy, 1988).
#include "core/lowering/owner_computes_atomics.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "core/analysis/loop_info.h"
#include "core/analysis/rematerialisable_slice.h"
#include "core/analysis/uses.h"
#include "core/ir/rewriter.h"
#include "core/lowering/private_accumulators.h"
#include "core/passes/dead.h"
#include "core/support/error.h"

namespace pumice::ir {

namespace {

// Limits on the loads and operations by which the owner recomputes an addend. All loads are of local memory.
constexpr size_t most_loads = 3, most_operations = 6;
constexpr int64_t least_iterations = 8;    ///< with fewer, most items would be idle
constexpr int64_t local_bytes = 16 << 10;  ///< every Vulkan device has this much
constexpr int64_t most_items = 1024;       ///< of a group; the size of kept values is computed for this many

class OwnerComputesAtomics : public Rewriter {
public:
    explicit OwnerComputesAtomics(const Kernel& k) : Rewriter(k), uniformity(k), where(uniformity.structure()), uses(k) {
        if (k.rank >= 2 && !uniformity.returns_early()) find();
    }

private:
    struct Shared {
        InstId atomic;
        int axis;    ///< the items along this axis share the place
        bool alone;  ///< after the rewrite, only the owner accesses the place until the next barrier
        bool rows;   ///< loads may conflict in banks and rows cannot be padded: each item starts at itself
        RematerialisableSlice address, value;
        std::vector<MemoryId> longer;           ///< whose rows should be padded
        std::optional<PrivateAccumulator> own;  ///< set if each sum is read back by its owner alone
    };

    // ---- finding additions to rewrite ----

    void find() {
        for (const InstId loop : where.order()) {
            if (!fits(loop)) continue;
            for (const InstId id : from[from[loop].blocks[0]].insts) {
                auto found = shared(loop, id);
                if (!found || !make_room(found->value.kept, {})) continue;
                found->rows = found->rows || !make_room({}, found->longer);
                rewritten[loop.id].push_back(*found);
                left_out.push_back(id);
                if (found->own) left_out.insert(left_out.end(), found->own->clears.begin(), found->own->clears.end());
            }
        }
    }

    /// True for a loop with constant bounds that the whole group executes, and that contains only loads, atomics and
    /// arithmetic.
    bool fits(InstId id) const {
        const Inst& loop = from[id];
        if (loop.op != Op::for_ || uniformity.control(id) > Scope::group || iterations(loop) < least_iterations) return false;
        const auto& insts = from[loop.blocks[0]].insts;
        return std::ranges::all_of(insts, [&](InstId inner) {
            const Op op = from[inner].op;
            return is_pure(op) || op == Op::load || op == Op::atomic || op == Op::yield;
        });
    }

    /// The trip count; 0 if it is not constant, or if an index plus a group's strides might overflow an i32.
    int64_t iterations(const Inst& loop) const {
        constexpr int64_t far = 1 << 20;
        for (size_t o = 0; o < 3; ++o) {
            const auto bound = constant_integer(from, from.operands(loop)[o]);
            const int64_t most = o < 2 ? far : far / most_items;
            if (!bound || from.type_of(from.operands(loop)[o]) != Scalar::i32 || *bound > most || *bound < -most) return 0;
        }
        return *constant_trip_count(from, loop);
    }

    std::optional<Shared> shared(InstId loop, InstId id) const {
        const Inst& i = from[id];
        if (!is_atomic_sum(i) || from[i.memory].kind != MemoryKind::local || uses.any(from.result(i))) return {};
        Shared s{id, -1, false, false, {from, uniformity, loop}, {from, uniformity, loop}, {}, {}};
        const auto indices = indices_of(from, i);
        if (!std::ranges::all_of(indices, [&](Value v) { return s.address.add(v); })) return {};
        if (!s.address.index || !s.address.memories.empty() || !s.address.kept.empty()) return {};
        for (int axis = 0; axis < from.rank; ++axis) {
            if (s.address.axes[size_t(axis)]) continue;
            if (s.axis >= 0) return {};  // several axes share the place: subgroup_aggregated_atomics adds those up
            s.axis = axis;
        }
        const RematerialisableSlice& value = s.value;
        if (s.axis < 0 || !s.value.add(from.operands(i).back())) return {};
        if (value.memories.size() + value.kept.size() > most_loads || value.recomputed.size() > most_loads + most_operations)
            return {};
        if (!between_barriers(loop, i.memory, is_atomic_sum)) return {};
        const auto loads = [](const Inst& other) { return other.op == Op::load; };
        for (const MemoryId m : value.memories)
            if (!between_barriers(loop, m, loads)) return {};
        s.rows = loads_rows(loop, value, s.longer);
        s.alone = apart(loop, indices) && between_barriers(loop, i.memory, [&](const Inst& other) { return &other == &i; });
        if (s.alone) s.own = private_accumulator(from, where, loop, id, s.axis);
        return s;
    }

    /// Finds bank conflicts: if the loop's index selects a row, adjacent items load from the same column of different rows, and
    /// rows of even length map these to few banks. Collects in `longer` the memories whose rows can be padded by an element;
    /// returns true if there are other conflicts.
    bool loads_rows(InstId loop, const RematerialisableSlice& value, std::vector<MemoryId>& longer) const {
        const Value index = from[from[loop].blocks[0]].params[0];
        const std::function<bool(Value)> follows = [&](Value v) {
            if (v == index) return true;
            if (!has(value.recomputed, v)) return false;
            const auto operands = from.operands(from[from[v].inst]);
            return std::ranges::any_of(operands, follows);
        };
        bool others = false;
        for (const Value v : value.recomputed) {
            const Inst& load = from[from[v].inst];
            if (load.op != Op::load) continue;
            const auto places = indices_of(from, load);
            const bool row = std::any_of(places.begin(), places.end() - 1, follows), column = follows(places.back());
            if (row && !column && has_rows(from, load.memory))
                longer.push_back(load.memory);
            else
                others = others || row || (column && places.back() != index);
        }
        return others;
    }

    /// True if no two pairs of item and iteration share a place after the rewrite: the indices are local indices and the loop's
    /// index, as many as the kernel has axes.
    bool apart(InstId loop, std::span<const Value> indices) const {
        int variables = 0;
        for (const Value v : indices)
            variables += v == from[from[loop].blocks[0]].params[0] ||
                         (from[v].inst.id != none && from[from[v].inst].op == Op::local_index);
        return variables == from.rank && size_t(variables) == indices.size();
    }

    /// True if the loop is between two barriers of its block, and `kind` holds for all accesses to the memory between these.
    template <class Kind> bool between_barriers(InstId loop, MemoryId m, Kind kind) const {
        const auto& insts = from[where.block_of(loop)].insts;
        const auto at = std::ranges::find(insts, loop);
        const auto reaches_barrier = [&](auto here, auto end) {
            for (; here != end && !is_barrier(from[*here].op); ++here) {
                const auto misfits = [&](InstId i) { return from[i].memory == m && !kind(from[i]); };
                if (misfits(*here) || any_inside(from, from[*here], misfits)) return false;
            }
            return here != end;
        };
        return reaches_barrier(at, insts.end()) && reaches_barrier(std::make_reverse_iterator(at), insts.rend());
    }

    /// Adds these kept values and padded rows to those chosen so far, if local memory has room for all of them on every device;
    /// else returns false.
    bool make_room(const std::vector<Value>& values, const std::vector<MemoryId>& longer) {
        std::vector<MemoryId> all_longer = lengthened;
        for (const MemoryId m : longer)
            if (!has(all_longer, m)) all_longer.push_back(m);
        int64_t bytes = 0;
        for (uint32_t at = 0; at < from.memories.size(); ++at) {
            const Memory& m = from[MemoryId{at}];
            if (m.kind != MemoryKind::local) continue;
            if (m.extents.empty()) return false;
            int64_t elements = 1;
            for (const int64_t e : m.extents) elements *= e;
            if (has(all_longer, {at})) elements = elements / m.extents.back() * longer_row(m);
            bytes += elements * m.element.size;
        }
        std::vector<Value> all = kept;
        for (const Value v : values)
            if (!has(all, v)) all.push_back(v);
        if (bytes + int64_t(all.size()) * 4 * most_items > local_bytes) return false;
        kept = all, lengthened = all_longer;
        return true;
    }

    /// The padded length of a row in elements, an odd number.
    static int64_t longer_row(const Memory& m) { return m.extents.back() | 1; }

    // ---- rewriting ----

    void body() override {
        for (const MemoryId m : lengthened) to.memories[of(m).id].extents.back() = longer_row(from[m]);
        Rewriter::body();
    }

    void inst(InstId id) override {
        if (has(left_out, id)) return;
        if (const auto found = rewritten.find(id.id); found != rewritten.end())
            for (const Shared& s : found->second) turn(from[id], s);
        copy(id);
        if (const auto found = taken.find(id.id); found != taken.end()) {
            const Value loaded = from.result(from[id]);
            map(loaded, b.select(found->second.whole, found->second.total, of(loaded)));
        }
        for (int r = 0; r < from[id].result_count; ++r)
            if (const Value v = from.result(from[id], r); has(kept, v)) keep(v);
    }

    /// The linear index in the group of the item that has local index `at` along `axis`, and this item's along the others.
    Value place(int axis, Value at) {
        Value linear = zero(Scalar::i32);
        for (int a = 2; a >= 0; --a)
            linear = b.op(Op::add,
                          {b.op(Op::mul, {linear, b.index(Op::group_size, a)}), a == axis ? at : b.index(Op::local_index, a)});
        return linear;
    }

    void keep(Value v) {
        Memory m;
        m.kind = MemoryKind::local;
        m.name = text("kept", memories_of.size() + 1);
        m.element = Element::of(from.type_of(v));
        m.size =
            b.op(Op::mul, {b.op(Op::mul, {b.index(Op::group_size, 0), b.index(Op::group_size, 1)}), b.index(Op::group_size, 2)});
        m.loc = from.loc;
        to.memories.push_back(m);
        const MemoryId made = memories_of[v.id] = {uint32_t(to.memories.size() - 1)};
        const Value at = place(0, b.index(Op::local_index, 0));
        b.store(made, 0, {&at, 1}, of(v));
        b.barrier();
    }

    /// for (turn = 0; turn < iterations / members, rounded up; ++turn)
    ///     if (turn * members + mine < iterations) { for all members who: sum += value; add sum to the place of that iteration }
    /// If the number of members is known and divides that of iterations, drivers unroll both loops and drop the condition. If
    /// both numbers are equal and the place is the item's own, the item keeps the sum in a register.
    void turn(const Inst& loop, const Shared& s) {
        b.loc = from[s.atomic].loc;
        const Scalar i32 = Scalar::i32;
        const Value mine = b.index(Op::local_index, s.axis), count = members_along(s.axis),
                    all = b.constant_int(i32, iterations(loop));
        const Value one = b.constant_int(i32, 1),
                    turns = b.op(Op::div, {b.op(Op::add, {all, b.op(Op::sub, {count, one})}), count});
        const Value even = b.op(Op::eq, {b.op(Op::mul, {turns, count}), all}), whole = b.op(Op::eq, {count, all});
        std::vector<Value> bounds{zero(i32), turns, one};
        std::vector<Scalar> types{i32};
        if (s.own) bounds.push_back(zero(from[s.atomic].type)), types.push_back(from[s.atomic].type);
        Inst around;
        around.op = Op::for_;
        around.loc = b.loc;
        const InstId done = control(around, bounds, types, [&](int, std::span<const Value> turn) {
            const Value now = b.op(Op::add, {b.op(Op::mul, {turn[0], count}), mine}),
                        mine_too = b.op(Op::or_, {even, b.op(Op::lt, {now, all})});
            Inst where_any;
            where_any.op = Op::if_;
            where_any.loc = b.loc;
            const InstId summed = control(where_any, {&mine_too, 1}, {}, [&](int which, std::span<const Value>) {
                const Value sum = which == 0 ? add_up(loop, s, now, count, whole) : zero(from[s.atomic].type);
                b.terminate(Op::yield, {&sum, size_t(s.own ? 1 : 0)});
            });
            const Value sum = s.own ? to.result(to[summed], 0) : Value();
            b.terminate(Op::yield, {&sum, size_t(s.own ? 1 : 0)});
        });
        if (s.own) taken[s.own->load.id] = {whole, to.result(to[done], 0)};
    }

    /// Sums the addends of all members for an iteration's place, and adds the sum to the place unless `own`. Returns the sum.
    Value add_up(const Inst& loop, const Shared& s, Value iteration, Value count, Value own) {
        const Inst& i = from[s.atomic];
        std::vector<std::pair<Value, Value>> before;
        for (const RematerialisableSlice* needs : {&s.address, &s.value})
            for (const auto* values : {&needs->recomputed, &needs->kept})
                for (const Value v : *values)
                    if (knows(v)) before.emplace_back(v, of(v));
        const Value first = of(from.operands(loop)[0]), step = of(from.operands(loop)[2]);
        map(from[loop.blocks[0]].params[0], b.op(Op::add, {first, b.op(Op::mul, {iteration, step})}));
        for (const Value v : s.address.recomputed) copy(from[v].inst);
        const std::vector<Value> indices = of(indices_of(from, i));
        // If each item loads from a row of its own, it starts with the member at its own position, so that adjacent items
        // access different banks.
        const Scalar i32 = Scalar::i32;
        const Value one = b.constant_int(i32, 1);
        std::vector<Scalar> types{i32, i.type};
        std::vector<Value> bounds{zero(i32), count, one, zero(i.type)};
        if (s.rows) types.push_back(i32), bounds.push_back(b.index(Op::local_index, s.axis));
        Inst members;
        members.op = Op::for_;
        members.loc = b.loc;
        const InstId sum = control(members, bounds, types, [&](int, std::span<const Value> now) {
            have(s, s.rows ? now[2] : now[0]);
            std::vector<Value> yielded{b.op(Op::add, {now[1], of(from.operands(i).back())})};
            if (s.rows) {
                const Value next = b.op(Op::add, {now[2], one});
                const Value first_row = zero(i32);
                yielded.push_back(b.select(b.op(Op::eq, {next, count}), first_row, next));
            }
            b.terminate(Op::yield, yielded);
        });
        b.loc = i.loc;
        const MemoryId m = of(i.memory);
        Value total = to.result(to[sum], 0);
        const Op how = Atomic(i.immediate) == Atomic::add ? Op::add : Op::sub;
        if (s.own) {
            if (how == Op::sub) total = b.op(Op::sub, {zero(i.type), total});
            store_unless(own, m, indices, total);
        } else if (s.alone) {
            b.store(m, i.leaf, indices, b.op(how, {b.load(m, i.leaf, indices), total}));
        } else {
            b.atomic(m, i.leaf, Atomic(i.immediate), indices, total);
        }
        for (const auto& [v, now] : before) map(v, now);
        return total;
    }

    void store_unless(Value condition, MemoryId m, const std::vector<Value>& indices, Value v) {
        Inst where_needed;
        where_needed.op = Op::if_;
        where_needed.loc = b.loc;
        control(where_needed, {&condition, 1}, {}, [&](int which, std::span<const Value>) {
            if (which == 1) b.store(m, 0, indices, v);
            b.terminate(Op::yield);
        });
    }

    /// Recomputes the addend of the item at position `who` along the axis.
    void have(const Shared& s, Value who) {
        for (const Value v : s.value.kept) {
            const Value at = place(s.axis, who);
            map(v, b.load(memories_of.at(v.id), 0, {&at, 1}));
        }
        for (const Value v : s.value.recomputed) {
            const Inst& i = from[from[v].inst];
            if (i.op == Op::local_index && int(i.immediate) == s.axis)
                map(v, who);
            else
                copy(from[v].inst);
        }
    }

    const Uniformity uniformity;
    const Structure& where;
    const Uses uses;
    std::map<uint32_t, std::vector<Shared>> rewritten;  ///< by loop: additions to rewrite
    std::vector<InstId> left_out;
    std::vector<Value> kept;
    std::vector<MemoryId> lengthened;          ///< memories with padded rows
    std::map<uint32_t, MemoryId> memories_of;  ///< by kept value: the memory it is kept in
    struct ReducedTotal {
        Value whole, total;  ///< whole: the item holds the total itself
    };
    std::map<uint32_t, ReducedTotal> taken;  ///< by load
};

}  // namespace

Kernel owner_computes_atomics(const Kernel& kernel) {
    const auto adds_to_local = [&](const Inst& i) { return is_atomic_sum(i) && kernel[i.memory].kind == MemoryKind::local; };
    if (std::ranges::none_of(kernel.insts, adds_to_local)) return kernel;
    // Recording leaves an unused load of each element that is added to; `dead` removes it.
    const Kernel without_dead_code = dead(kernel);
    return OwnerComputesAtomics(without_dead_code).run();
}

}  // namespace pumice::ir
