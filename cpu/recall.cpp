// What a loop computed with functions that cost more than memory, and a later loop over the same places computes again: kept from
// one to the other in private memory. So a softmax computes its exponentials once, and so does the gradient of its sum.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/rewrite.h"
#include "core/uniformity.h"
#include "cpu/emit.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int64_t most_bytes = 1 << 10;    ///< of an item's private memory: a packet's should leave room in the first-level cache
constexpr int64_t least_iterations = 16;   ///< that are kept
constexpr int least_instructions = 12;     ///< what a value must take to compute, to be worth a store and a load

class Recall : public Rewriter {
public:
    explicit Recall(const Kernel& k) : Rewriter(k), uniformity(k), where(uniformity.structure()), written(k.memories.size()), sources(k.values.size()) {
        bool barriers = false;
        for (const InstId id : where.order()) {
            const Inst& i = k[id];
            barriers = barriers || i.op == Op::barrier;
            if (i.op == Op::store || i.op == Op::atomic || i.op == Op::compare_exchange) written[i.memory.id] = true;
        }
        if (barriers) return;  // items keep private memory across them, all items of a group at once
        std::vector<InstId> loops;
        for (const InstId id : where.order()) {
            if (!simple(id)) continue;
            look_back(id, loops);
            loops.push_back(id);
        }
        find_room();
    }

private:
    /// A value that a later loop recalls: of which iterations, at most, and where they lie.
    struct Kept {
        InstId loop;
        MemoryId memory;
    };

    // ---- what is recalled ----

    /// A loop that all items run from end to end, by steps of 1 or -1.
    bool simple(InstId id) const {
        const Inst& loop = from[id];
        if (loop.op != Op::for_ || uniformity.parting(id) > Scope::group || !where.jumps_to(id).empty() || step_of(loop) == 0) return false;
        bool stays = true;
        each_inside(from, loop, [&](InstId i) { stays = stays && from[i].op != Op::return_; });
        return stays && uniformity.of(from.operands(loop)[0]) <= Scope::group && uniformity.of(from.operands(loop)[1]) <= Scope::group;
    }

    int64_t step_of(const Inst& loop) const {
        const auto v = from.operands(loop);
        uint64_t step = 0;
        if (from.type_of(v[0]) != Scalar::i32 || !from.constant(v[2], step)) return 0;
        return int32_t(step) == 1 || int32_t(step) == -1 ? int32_t(step) : 0;
    }

    /// What the loop need not compute, as one of the loops in front of it did. Backwards, so that the largest expressions come first.
    void look_back(InstId id, const std::vector<InstId>& loops) {
        const auto& insts = from[from[id].blocks[0]].insts;
        std::set<uint32_t> used;
        std::vector<uint32_t> unused;
        bool any = false;
        for (auto at = insts.rbegin(); at != insts.rend(); ++at) {
            const Inst& i = from[*at];
            const bool computes = is_pure(i.op) || i.op == Op::load;
            if (computes && !used.count(from.result(i).id)) {
                unused.push_back(at->id);
                continue;
            }
            if (const Value source = computes ? earlier(id, *at, loops) : Value{}) {
                sources[from.result(i).id] = source;
                any = true;
                continue;
            }
            const auto use = [&](InstId user) {
                for (const Value v : from.operands(from[user])) used.insert(v.id);
            };
            use(*at);
            each_inside(from, i, use);
        }
        if (any) left_out.insert(unused.begin(), unused.end());
    }

    /// The same value in a loop in front of this one, where it is worth being kept.
    Value earlier(InstId id, InstId inst, const std::vector<InstId>& loops) const {
        const Value v = from.result(from[inst]);
        if (uniformity.of(v) != Scope::item || cost(id, v) < least_instructions) return {};
        for (const InstId loop : loops) {
            if (where.block_of(loop) != where.block_of(id)) continue;
            for (const InstId other : from[from[loop].blocks[0]].insts) {
                int budget = 64;
                const Inst& o = from[other];
                if (o.op != from[inst].op || left_out.count(other.id) || sources[from.result(o).id]) continue;
                if (same(loop, from.result(o), id, v, budget)) return from.result(o);
            }
        }
        return {};
    }

    bool inside(InstId loop, Value v) const { return from[v].inst.id != none && where.block_of(from[v].inst) == from[loop].blocks[0]; }

    /// Whether `a` in one loop's body is what `b` is in the other's where their indices are equal.
    bool same(InstId loop_a, Value a, InstId loop_b, Value b, int& budget) const {
        if (a == b) return true;  // from outside of both
        if (a == from[from[loop_a].blocks[0]].params[0] && b == from[from[loop_b].blocks[0]].params[0]) return true;
        if (!inside(loop_a, a) || !inside(loop_b, b) || --budget < 0) return false;
        const Inst &i = from[from[a].inst], &j = from[from[b].inst];
        const bool load = i.op == Op::load && i.memory == j.memory && i.leaf == j.leaf && !written[i.memory.id];
        if (i.op != j.op || i.type != j.type || i.immediate != j.immediate || !(load || (is_pure(i.op) && i.memory == j.memory))) return false;
        const auto x = from.operands(i), y = from.operands(j);
        for (size_t o = 0; o < x.size(); ++o)
            if (!same(loop_a, x[o], loop_b, y[o], budget)) return false;
        return x.size() == y.size();
    }

    int cost(InstId loop, Value v) const {
        std::set<uint32_t> seen;
        return cost(loop, v, seen);
    }
    int cost(InstId loop, Value v, std::set<uint32_t>& seen) const {
        if (!inside(loop, v) || !seen.insert(v.id).second) return 0;
        const Inst& i = from[from[v].inst];
        int sum = instructions_of(from, i);
        for (const Value o : from.operands(i)) sum += cost(loop, o, seen);
        return sum;
    }

    /// How many iterations there is room for; where that is too few nothing is kept.
    void find_room() {
        int64_t bytes = 0, taken = 0;
        std::set<uint32_t> values;
        for (const Value source : sources)
            if (source && values.insert(source.id).second) bytes += size_of(from.type_of(source));
        for (const Memory& m : from.memories)
            if (m.kind == MemoryKind::private_)
                taken += std::accumulate(m.extents.begin(), m.extents.end(), int64_t(m.element.size), std::multiplies<>());
        const int64_t room = bytes ? std::max<int64_t>(most_bytes - taken, 0) / bytes : 0;
        iterations = int64_t(std::bit_floor(uint64_t(room)));
        if (iterations < least_iterations) return std::fill(sources.begin(), sources.end(), Value{}), left_out.clear();
        for (const Value source : sources)
            if (source) kept[source.id].loop = where.around(from[source].inst);
    }

    // ---- the new kernel ----

    void inst(InstId id) override {
        const Inst& i = from[id];
        if (left_out.count(id.id)) return;
        const bool computes = is_pure(i.op) || i.op == Op::load;
        if (computes && sources[from.result(i).id]) return recall(id);
        copy(id);
        if (const auto k = computes ? kept.find(from.result(i).id) : kept.end(); k != kept.end()) keep(k->second, from.result(i));
    }

    /// The number of the iteration in which a loop has this index, which is right modulo 2^32 also where there is none.
    Value number(InstId loop, Value index) {
        const Value first = of(from.operands(from[loop])[0]);
        return b.op(Op::sub, step_of(from[loop]) > 0 ? std::initializer_list<Value>{index, first} : std::initializer_list<Value>{first, index});
    }

    Value place(Value iteration) { return b.op(Op::and_, {iteration, b.constant_int(Scalar::i32, iterations - 1)}); }

    /// The last iterations stay, each in the place of one before.
    void keep(Kept& k, Value v) {
        k.memory = {uint32_t(to.memories.size())};
        Memory m;
        m.kind = MemoryKind::private_;
        m.name = text("kept", k.memory.id);
        m.element = Element::of(from.type_of(v));
        m.extents = {iterations};
        m.loc = b.loc;
        to.memories.push_back(m);
        const Value at = place(number(k.loop, of(from[from[k.loop].blocks[0]].params[0])));
        b.store(k.memory, 0, {&at, 1}, of(v));
    }

    /// `was kept ? memory[iteration] : the value, computed again`
    void recall(InstId id) {
        const Inst& i = from[id];
        b.loc = i.loc;
        const Kept& k = kept.at(sources[from.result(i).id].id);
        const InstId loop = where.around(id);
        const Value iteration = number(k.loop, of(from[from[loop].blocks[0]].params[0]));
        // Of a loop's iterations, the last are kept. Their number is at most 2^32 - 1.
        const auto bounds = from.operands(from[k.loop]);
        const Value first = of(bounds[0]), limit = of(bounds[1]), none_kept = b.constant(Scalar::u32, 0);
        const bool up = step_of(from[k.loop]) > 0;
        const Value runs = b.op(up ? Op::lt : Op::gt, {first, limit});
        const Value trips = b.select(runs, b.bitcast(Scalar::u32, number(k.loop, limit)), none_kept);
        const Value count = b.op(Op::min, {trips, b.constant(Scalar::u32, uint64_t(iterations))});
        const Value among = b.op(Op::sub, {b.bitcast(Scalar::u32, iteration), b.op(Op::sub, {trips, count})});
        const Value condition = b.op(Op::lt, {among, count});
        Inst choice;
        choice.op = Op::if_;
        choice.loc = i.loc;
        const InstId chosen = control(choice, {&condition, 1}, {}, [&](int arm, std::span<const Value>) {
            Value v;
            if (arm == 0) {
                const Value at = place(iteration);
                v = b.load(k.memory, 0, {&at, 1});
            } else {
                std::set<uint32_t> made;
                again(id, made);
                v = of(from.result(i));
            }
            b.terminate(Op::yield, {&v, 1});
        });
        map(from.result(i), to.result(to[chosen]));
    }

    /// Computes a value in the current block, with all that the loop computes for it alone.
    void again(InstId id, std::set<uint32_t>& made) {
        if (!made.insert(id.id).second) return;
        for (const Value v : from.operands(from[id]))
            if (from[v].inst.id != none && left_out.count(from[v].inst.id)) again(from[v].inst, made);
        copy(id);
    }

    const Uniformity uniformity;
    const Structure& where;
    std::vector<bool> written;       ///< memories
    std::vector<Value> sources;      ///< of values: the one that is recalled instead
    std::set<uint32_t> left_out;     ///< instructions that only recalled values need
    std::map<uint32_t, Kept> kept;   ///< by value
    int64_t iterations = 0;          ///< that are kept, a power of two
};

}  // namespace

Kernel recall(const Kernel& kernel) { return Recall(kernel).run(); }

}  // namespace pumice::cpu
