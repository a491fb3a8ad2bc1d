// Loops that add to arrays at places that the group's items share: cut into blocks, with a barrier before each, so that all packets
// of the group run one block before the next. What they add to then stays in the first-level cache, instead of being passed over
// once a packet.
#include <algorithm>

#include "core/rewrite.h"
#include "core/uniformity.h"
#include "cpu/emit.h"
#include "cpu/sums.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int64_t block_bytes = 16 << 10;  ///< of the elements that a block adds to, a vector each
constexpr int64_t element_bytes = 64, least_iterations = 8, most_iterations = 64;

class Blocking : public Rewriter {
public:
    explicit Blocking(const Kernel& k) : Rewriter(k), uniformity(k), added(k.memories.size()), uses(k.values.size()) {
        for (const MemoryId m : only_added_to(k)) added[m.id] = true;
        for (const InstId id : uniformity.structure().order())
            for (const Value v : k.operands(k[id])) ++uses[v.id];
    }

private:
    /// How many adds of an iteration go to a place that the group's items share; 0 where the loop cannot be cut.
    int64_t shared_adds(InstId id) const {
        const Inst& loop = from[id];
        if (loop.op != Op::for_ || uniformity.structure().around(id).id != none) return 0;
        if (!uniformity.structure().jumps_to(id).empty() || uniformity.parting(id) > Scope::group) return 0;
        int64_t adds = 0;
        bool whole = true;
        each_inside(from, loop, [&](InstId inner) {
            const Inst& i = from[inner];
            whole = whole && i.op != Op::barrier && i.op != Op::return_ && i.op != Op::subgroup && i.op != Op::print && i.op != Op::require;
            if (i.op != Op::atomic || !added[i.memory.id] || uses[from.result(i).id] > 0) return;
            const auto indices = indices_of(from, i);
            const bool shared = std::all_of(indices.begin(), indices.end(), [&](Value v) { return uniformity.of(v) <= Scope::group; });
            if (shared) ++adds;
            else whole = false;
        });
        return whole ? adds : 0;
    }

    /// The constant step of a loop over whole numbers from 0 on, up or down, which can be cut without overflow: 1, -1; else 0.
    int64_t step_of(const Inst& loop) const {
        const auto v = from.operands(loop);
        uint64_t step = 0, end = 0;
        if (from.type_of(v[0]) != Scalar::i32 || !from.constant(v[2], step)) return 0;
        const int64_t by = int32_t(step);
        if (by != 1 && by != -1) return 0;
        return from.constant(by > 0 ? v[0] : v[1], end) && int32_t(end) >= (by > 0 ? 0 : -1) ? by : 0;
    }

    void inst(InstId id) override {
        const int64_t adds = shared_adds(id), step = adds ? step_of(from[id]) : 0;
        if (step == 0) return copy(id);
        const int64_t iterations = std::clamp(block_bytes / (element_bytes * adds), least_iterations, most_iterations);
        const Inst& loop = from[id];
        b.loc = loop.loc;
        std::vector<Value> outer = of(from.operands(loop));
        const Value limit = outer[1], by = outer[2];
        outer[2] = b.constant_int(Scalar::i32, step * iterations);
        std::vector<Scalar> types;
        for (const Value p : from[loop.blocks[0]].params) types.push_back(from.type_of(p));
        const InstId made = control(loop, outer, types, [&](int, std::span<const Value> params) {
            b.barrier();
            const std::vector<Value> carried(params.begin() + 1, params.end());
            const Value first = params[0], left = b.op(Op::sub, {limit, first}), size = b.constant_int(Scalar::i32, step * iterations);
            std::vector<Value> inner{first, b.select(b.op(step > 0 ? Op::lt : Op::gt, {left, size}), limit, b.op(Op::add, {first, size})), by};
            inner.insert(inner.end(), carried.begin(), carried.end());
            const InstId block = control(loop, inner, types, [&](int, std::span<const Value> now) {
                for (size_t p = 0; p < now.size(); ++p) map(from[loop.blocks[0]].params[p], now[p]);
                insts(loop.blocks[0]);
            });
            std::vector<Value> results;
            for (int r = 0; r < loop.result_count; ++r) results.push_back(to.result(to[block], r));
            b.terminate(Op::yield, results);
        });
        to.insts[made.id].immediate = 0;
        map_results(loop, made);
    }

    const Uniformity uniformity;
    std::vector<bool> added;
    std::vector<int> uses;
};

}  // namespace

Kernel block(const Kernel& kernel) { return Blocking(kernel).run(); }

}  // namespace pumice::cpu
