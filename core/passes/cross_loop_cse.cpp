// CSE across loops: a value that one loop computed is kept in private memory, and a later loop loads it by its index.
// Why: a softmax computes its exponentials twice, and the gradient of its sum once more; a store and a load cost less than an
// exp.
//
//   %6 = for %7 = %2 to %4 step %3 carry (...) {     |  private kept_f32: f32[32]
//     %10 = mul %9, %1 : f32                         |  %6 = for %7 = %2 to %4 step %3 carry (...) {
//     %11 = exp %10 : f32                            |    %11 = exp %10 : f32
//   }                                                |    store kept_f32[%13], %11 : f32       # %13 = and %7, 31
//   %16 = for %17 = ... carry (...) {                |  }
//     %20 = mul %19, %1 : f32                        |  %17 = for %18 = ... carry (...) {
//     %21 = exp %20 : f32                            |    %22 = load kept_f32[%21] : f32       # %21 = and %18, 31
//
// Two values match if the same pure instructions and loads of unwritten memories compute them from the two loops' indices and
// from values outside of both. The largest matching expressions that cost at least 12 instructions are kept; a function such as
// exp costs 16. The buffer holds the last iterations (a power of two, at least 16). The later loop becomes two loops, one that
// loads and one that computes, unless its constant bounds show that the buffer has all values.
// Cost: all pairs of values in two loops are compared, once each: quadratic in the loops' instructions.
// Limits: for loops over i32 by 1 or -1 without jumps, whose bounds are uniform in the group; values in the loop's own block;
// the earlier loop stands in a block around the later one; each device sets a limit on the bytes of an item.
// Textbook name: common subexpression elimination by scalar expansion (Allen and Kennedy, chapter 5).
#include "core/passes/cross_loop_cse.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/analysis/loop_info.h"
#include "core/analysis/memory_effects.h"
#include "core/analysis/uniformity.h"
#include "core/ir/ops.h"
#include "core/ir/rewriter.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

constexpr int64_t least_iterations = 16;  ///< fewest iterations worth keeping
constexpr int least_instructions = 12;    ///< fewest instructions of a kept value
constexpr int least_saved = 6;            ///< fewest instructions saved for each kept value: the price of a store and a load

/// Finds simple loops (uniform bounds, step 1 or -1, no jumps) and compares the values of two of them.
class Likeness {
public:
    explicit Likeness(const Kernel& kernel) : k(kernel), uniformity(k), where(uniformity.structure()), effects(k) {}

    bool simple(InstId id) const {
        const Inst& loop = k[id];
        if (step(id) == 0 || uniformity.parting(id) > Scope::group || !where.jumps_to(id).empty()) return false;
        if (any_inside(k, loop, [&](InstId i) { return k[i].op == Op::return_; })) return false;
        return uniformity.of(k.operands(loop)[0]) <= Scope::group && uniformity.of(k.operands(loop)[1]) <= Scope::group;
    }

    int64_t step(InstId loop) const { return unit_step(k, k[loop]); }

    /// The trip count; -1 if the bounds are not constant.
    int64_t trips(InstId loop) const { return constant_trip_count(k, k[loop]).value_or(-1); }

    /// True if both loops have constant bounds, and the other loop runs every index of this one.
    bool covers(InstId other, InstId loop) const {
        if (trips(other) < 0 || trips(loop) < 0) return false;
        const auto ends = [&](InstId l) {
            const int64_t first = int64_t(*constant_integer(k, k.operands(k[l])[0])), last = first + (trips(l) - 1) * step(l);
            return std::minmax({first, last});
        };
        const auto [low, high] = ends(loop);
        const auto [other_low, other_high] = ends(other);
        return trips(loop) == 0 || (low >= other_low && high <= other_high && trips(other) > 0);
    }

    /// True if `v` is defined in the loop's own block, not in a construct inside it.
    bool inside(InstId loop, Value v) const { return k[v].inst.id != none && where.block_of(k[v].inst) == k[loop].blocks[0]; }

    /// True if `a` in the first loop equals `b` in the second one, in iterations with the same index.
    bool same(InstId loop_a, Value a, InstId loop_b, Value b) {
        uint64_t bits_a = 0, bits_b = 0;
        if (a == b) return true;  // defined outside of both
        if (k.constant(a, bits_a) && k.constant(b, bits_b)) return k.type_of(a) == k.type_of(b) && bits_a == bits_b;
        if (a == k[k[loop_a].blocks[0]].params[0] && b == k[k[loop_b].blocks[0]].params[0]) return true;
        if (!inside(loop_a, a) || !inside(loop_b, b)) return false;
        const std::pair both(a.id, b.id);
        if (!compared.count(both)) compared[both] = computed_alike(loop_a, k[k[a].inst], loop_b, k[k[b].inst]);
        return compared.at(both);
    }

    const Kernel& k;
    const Uniformity uniformity;
    const Structure& where;

private:
    bool computed_alike(InstId loop_a, const Inst& i, InstId loop_b, const Inst& j) {
        const bool steady = is_pure(i.op) || (i.op == Op::load && !effects.writes(i.memory));
        if (!steady || i.op != j.op || i.type != j.type || i.immediate != j.immediate || i.memory != j.memory || i.leaf != j.leaf)
            return false;
        const auto x = k.operands(i), y = k.operands(j);
        for (size_t o = 0; o < x.size(); ++o)
            if (!same(loop_a, x[o], loop_b, y[o])) return false;
        return true;
    }

    const MemoryEffects effects;
    std::map<std::pair<uint32_t, uint32_t>, bool> compared;  ///< results of same(), by pair of values
};

class CrossLoopCse : public Rewriter {
public:
    CrossLoopCse(const Kernel& kernel, const CrossLoopCseBudget& room)
        : Rewriter(kernel), most(room), like(kernel), where(like.where), sources(kernel.values.size()) {
        std::vector<InstId> loops;
        for (const InstId id : where.order()) {
            if (!like.simple(id)) continue;
            look_back(id, loops);
            loops.push_back(id);
        }
        find_room();
    }

private:
    // ---- finding values to keep ----

    /// Finds the values of a loop that an earlier loop computes, too. The walk goes backwards, so that it meets the largest
    /// expressions first; instructions that only such values use are left out.
    void look_back(InstId id, const std::vector<InstId>& loops) {
        const auto& insts = from[from[id].blocks[0]].insts;
        std::set<uint32_t> used;
        std::vector<uint32_t> unused;
        std::vector<Value> reused;
        int64_t step = 0;
        int saved = 0;
        for (auto at = insts.rbegin(); at != insts.rend(); ++at) {
            const Inst& i = from[*at];
            const bool computes = is_pure(i.op) || i.op == Op::load;
            const bool dead = computes && !used.count(from.result(i).id);
            if (dead) unused.push_back(at->id);
            const Value source = computes && !dead ? earlier(id, *at, loops, step) : Value{};
            if (source) {
                reused.push_back(from.result(i)), sources[from.result(i).id] = source;
                step = like.step(where.around(from[source].inst));
            }
            if (dead || source) {
                saved += instructions_of(i);
                continue;
            }
            const auto use = [&](InstId user) {
                for (const Value v : from.operands(from[user])) used.insert(v.id);
            };
            use(*at);
            each_inside(from, i, use);
        }
        if (saved >= least_saved * int(reused.size())) {
            if (!reused.empty()) left_out.insert(unused.begin(), unused.end());
        } else {
            for (const Value v : reused) sources[v.id] = {};
        }
    }

    /// The same value in an earlier loop, if the value is worth keeping; only loops with this step, unless it is 0. The earlier
    /// loop stands in a block around this one, so every item here has run it.
    Value earlier(InstId id, InstId inst, const std::vector<InstId>& loops, int64_t step) {
        const Value v = from.result(from[inst]);
        std::set<uint32_t> seen;
        if (like.uniformity.of(v) != Scope::item || cost(id, v, seen) < least_instructions) return {};
        for (const InstId loop : loops) {
            const InstId ancestor = where.ancestor_in(where.block_of(loop), id);
            if (ancestor.id == none || ancestor == loop || (step != 0 && like.step(loop) != step)) continue;
            for (const InstId other : from[from[loop].blocks[0]].insts) {
                const Inst& o = from[other];
                if (o.op != from[inst].op || left_out.count(other.id) || sources[from.result(o).id]) continue;
                if (like.same(loop, from.result(o), id, v)) return from.result(o);
            }
        }
        return {};
    }

    int cost(InstId loop, Value v, std::set<uint32_t>& seen) const {
        if (!like.inside(loop, v) || !seen.insert(v.id).second) return 0;
        const Inst& i = from[from[v].inst];
        int sum = instructions_of(i);
        for (const Value o : from.operands(i)) sum += cost(loop, o, seen);
        return sum;
    }

    /// Computes how many iterations the budget has room for. If there are fewer than least_iterations, nothing is kept.
    void find_room() {
        int64_t bytes = 0, taken = 0, most_trips = 0;
        for (const Value source : sources) {
            if (!source || kept.count(source.id)) continue;
            const InstId loop = where.around(from[source].inst);
            const int64_t trips = like.trips(loop);
            most_trips = trips < 0 ? INT32_MAX : std::max(most_trips, trips);
            const Scalar type = from.type_of(source);
            kept[source.id] = {loop, rooms[type].values++};
            bytes += size_of(type);
        }
        if (kept.empty()) return;
        for (const Memory& m : from.memories)
            if (m.kind == MemoryKind::private_)
                taken += std::accumulate(m.extents.begin(), m.extents.end(), int64_t(m.element.size), std::multiplies<>());
        const int64_t room = std::max<int64_t>((contains_barrier(from) ? most.with_barriers : most.bytes) - taken, 0) / bytes;
        iterations = int64_t(std::min(std::bit_floor(uint64_t(room)), std::bit_ceil(uint64_t(most_trips))));
        if (iterations >= least_iterations) return;
        std::fill(sources.begin(), sources.end(), Value{});
        left_out.clear(), kept.clear(), rooms.clear();
    }

    // ---- the new kernel ----

    void body() override {
        for (auto& [type, room] : rooms) {
            room.memory = {uint32_t(to.memories.size())};
            Memory m;
            m.kind = MemoryKind::private_;
            m.name = text("kept_", name_of(type));
            m.element = Element::of(type);
            m.extents = {iterations * room.values};
            m.loc = from.loc;
            to.memories.push_back(m);
        }
        Rewriter::body();
    }

    void inst(InstId id) override {
        const Inst& i = from[id];
        const bool computes = is_pure(i.op) || i.op == Op::load;
        if (is_loop(i.op)) return loop(id);
        if (reusing && left_out.count(id.id)) return;
        b.loc = i.loc;
        if (reusing && computes && sources[from.result(i).id])
            return map(from.result(i), load(sources[from.result(i).id], from[from[where.around(id)].blocks[0]].params[0]));
        copy(id);
        if (computes && kept.count(from.result(i).id)) keep(from.result(i));
    }

    void loop(InstId id) {
        std::set<uint32_t> firsts;
        bool all = true;
        for (const InstId inside : from[from[id].blocks[0]].insts) {
            const Inst& i = from[inside];
            if (!is_pure(i.op) && i.op != Op::load) continue;
            const Value source = sources[from.result(i).id];
            if (!source) continue;
            const InstId first = where.around(from[source].inst);
            firsts.insert(first.id);
            all = all && like.covers(first, id) && like.trips(first) <= iterations;
        }
        const bool before = std::exchange(reusing, all && !firsts.empty());
        if (all)
            copy(id);
        else
            part(id, firsts);
        reusing = before;
    }

    /// The steps (1 or -1 each) from the loop's first index to `index`: the number of the iteration with this index, from 0; for
    /// the loop's limit, the trip count. For an index that the loop does not reach, the difference modulo 2^32.
    Value number(InstId loop, Value index) {
        const Value first = of(from.operands(from[loop])[0]);
        return like.step(loop) > 0 ? b.op(Op::sub, {index, first}) : b.op(Op::sub, {first, index});
    }

    /// The place of an iteration's value in the modulo buffer, which holds the last iterations.
    Value place(Value source, Value iteration) {
        const Value slot = b.op(Op::and_, {iteration, b.constant_int(Scalar::i32, iterations - 1)});
        const int64_t values = rooms.at(from.type_of(source)).values;
        return b.op(Op::add, {b.op(Op::mul, {slot, b.constant_int(Scalar::i32, values)}),
                              b.constant_int(Scalar::i32, kept.at(source.id).number)});
    }

    void keep(Value v) {
        const InstId loop = kept.at(v.id).loop;
        const Value at = place(v, number(loop, of(from[from[loop].blocks[0]].params[0])));
        b.store(rooms.at(from.type_of(v)).memory, 0, {&at, 1}, of(v));
    }

    Value load(Value source, Value index) {
        const Value at = place(source, number(kept.at(source.id).loop, of(index)));
        return b.load(rooms.at(from.type_of(source)).memory, 0, {&at, 1});
    }

    /// Splits a loop that loads kept values in two. One part is the iterations, at one end of the loop, whose values all of the
    /// earlier loops have kept; it loads them. The other part is the remaining iterations; it computes the values.
    void part(InstId id, const std::set<uint32_t>& firsts) {
        const Inst& i = from[id];
        b.loc = i.loc;
        const bool along = like.step(id) == like.step({*firsts.begin()});  // kept values belong to this loop's last iterations
        const std::vector<Value> given = of(from.operands(i));
        const Value first = given[0], limit = given[1], step = given[2];
        const Value end = along ? b.op(Op::sub, {limit, step}) : first;
        Value count = trips(id);
        for (const uint32_t first_id : firsts) {
            const InstId other{first_id};
            // The earlier loop's last iterations are kept. Their number is at most 2^32 - 1.
            const Value runs = trips(other), there = b.op(Op::min, {runs, b.constant(Scalar::u32, uint64_t(iterations))});
            const Value among = b.op(Op::sub, {b.bitcast(Scalar::u32, number(other, end)), b.op(Op::sub, {runs, there})});
            const Value up_to = b.op(Op::add, {among, b.constant(Scalar::u32, 1)}), nothing = b.constant(Scalar::u32, 0);
            count = b.op(Op::min, {count, b.select(b.op(Op::lt, {among, there}), up_to, nothing)});
        }
        const Value length = b.op(Op::mul, {b.bitcast(Scalar::i32, count), step});
        const Value between = along ? b.op(Op::sub, {limit, length}) : b.op(Op::add, {first, length});
        std::vector<Value> operands = given;
        for (int which = 0; which < 2; ++which) {
            reusing = (which == 1) == along;
            operands[0] = which == 0 ? first : between, operands[1] = which == 0 ? between : limit;
            const InstId made = control(i, operands);
            for (int r = 0; r < i.result_count; ++r) operands[size_t(3 + r)] = to.result(to[made], r);
        }
    }

    /// The trip count at run time, a u32.
    Value trips(InstId loop) {
        const auto bounds = from.operands(from[loop]);
        const Value first = of(bounds[0]), limit = of(bounds[1]);
        const Value runs = b.op(like.step(loop) > 0 ? Op::lt : Op::gt, {first, limit});
        const Value none = b.constant(Scalar::u32, 0);
        return b.select(runs, b.bitcast(Scalar::u32, number(loop, limit)), none);
    }

    struct KeptValue {
        InstId loop;
        int64_t number = 0;  ///< among the kept values of its type
    };
    struct Room {
        MemoryId memory;
        int64_t values = 0;
    };
    const CrossLoopCseBudget most;
    Likeness like;
    const Structure& where;
    std::vector<Value> sources;          ///< by value: the kept value of an earlier loop that replaces it
    std::set<uint32_t> left_out;         ///< instructions that only replaced values use
    std::map<uint32_t, KeptValue> kept;  ///< by value
    std::map<Scalar, Room> rooms;
    int64_t iterations = 0;  ///< that the modulo buffer holds, a power of two
    bool reusing = false;    ///< the loop being emitted loads kept values
};

}  // namespace

int instructions_of(const Inst& i) {
    if (!is_scalar_op(i.op)) return i.op == Op::select ? 1 : 0;
    switch (row(i.op).cost) {
        case Cost::cheap: return 1;
        case Cost::moderate: return 6;
        case Cost::costly: return 16;
    }
    return 1;
}

Kernel cross_loop_cse(const Kernel& kernel, const CrossLoopCseBudget& room) { return CrossLoopCse(kernel, room).run(); }

}  // namespace pumice::ir
