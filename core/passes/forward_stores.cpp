// Store-to-load forwarding, redundant-load elimination and dead-store elimination.
// Why: memory traffic is what kernels wait for, and a load that is gone exposes its value to folding and hoisting.
//
//   store arg1[%i], %x : f32           |  store arg1[%0], %5 : f32
//   store arg1[%next], %x : f32        |  store arg1[%3], %5 : f32            # %3 = %0 + 1: surely another place
//   %a = load arg1[%i] : f32           |
//   %y = add %a, %a : f32              |  %6 = add %5, %5 : f32
//   store arg1[%j], %x : f32           |  store arg1[%1], %5 : f32            # may alias arg1[%0]
//   %c = load arg1[%i] : f32           |  %7 = load arg1[%0] : f32
//   %d = load arg1[%i] : f32           |                                      # %7
//
// Method: a walk with a table of known places and values (available loads); a store kills what it may alias
// (core/analysis/alias.h), an atomic its whole memory, a barrier all local memory and all arrays but `in` ones. A second walk,
// backwards in each block, removes stores that a later store of the same block overwrites before anything can read them.
// Cost: the table holds the latest 512 places. Each access is compared with all of them, and each loop first kills what its
// contents write: O(instructions * nesting depth * 512).
// Limits: equal indices are recognised by value number only (simplify first). A place stored in both arms of an if is not known
// after it. A store or atomic in a loop makes all places of its memory unknown at the start of each iteration. Dead stores are
// found within one block, and local and array stores do not die across a barrier or an atomic.
// Textbook name: available expressions for loads, and dead-store elimination (Muchnick, chapters 12 and 13).
#include "core/passes/forward_stores.h"

#include <algorithm>

#include "core/analysis/alias.h"
#include "core/analysis/loop_info.h"
#include "core/ir/rewriter.h"

namespace pumice::ir {
namespace {

/// Most entries of the table of known places (ForwardStores), and of the list of places that are overwritten later (Overwritten).
/// Each access is compared with all entries, and unrolled kernels access tens of thousands of places, so the oldest entry is
/// dropped: a load or a dead store may then remain.
constexpr size_t window = 512;

/// Walks the kernel with the values known to lie in memory. Between two barriers, other items write what this item reads only
/// by atomics; anything else would be a race. So a value stays known until this item may overwrite it, an atomic touches the
/// memory, or a barrier is passed.
class ForwardStores : public Rewriter {
public:
    using Rewriter::Rewriter;

private:
    struct AvailableValue {
        MemoryId memory;
        uint32_t leaf;
        std::vector<Value> indices;  ///< of `to`
        Value value;
        uint32_t serial;  ///< tells entries apart
        MemoryLocation location() const { return {memory, leaf, indices}; }
    };

    void inst(InstId id) override {
        const Inst& i = from[id];
        if (i.op == Op::load) return load(id);
        if (i.op == Op::if_) return arms(id);
        if (is_loop(i.op)) return loop(id);
        copy(id);
        if (i.op == Op::store) {
            const auto indices = of(indices_of(from, i));
            overwrite({i.memory, i.leaf, indices});
            // An image keeps values as its format rounds them.
            if (!from[i.memory].image) learn(i, indices, of(from.operands(i).back()));
        } else if (is_atomic(i.op))
            forget_memory(i.memory);
        else if (is_barrier(i.op))
            barrier();
        else if (has_trait(i.op, traits::effect))
            known.clear();
    }

    void function(const Function& f) override {
        known.clear();
        insts(f.body);
        known.clear();
    }

    void load(InstId id) {
        const Inst& i = from[id];
        const auto indices = of(indices_of(from, i));
        const MemoryLocation location{i.memory, i.leaf, indices};
        for (const AvailableValue& entry : known)
            if (must_alias(entry.location(), location)) return map(from.result(i), entry.value);
        copy(id);
        learn(i, indices, of(from.result(i)));
    }

    void learn(const Inst& i, const std::vector<Value>& indices, Value value) {
        if (known.size() == window) known.erase(known.begin());
        known.push_back({i.memory, i.leaf, indices, value, serial++});
    }

    void overwrite(const MemoryLocation& location) {
        std::erase_if(known, [&](const AvailableValue& entry) { return may_alias(to, entry.location(), location); });
    }
    void forget_memory(MemoryId m) {
        std::erase_if(known, [&](const AvailableValue& entry) { return entry.memory == m; });
    }
    void barrier() {
        std::erase_if(known, [&](const AvailableValue& entry) {
            const Memory& m = from[entry.memory];
            return m.kind != MemoryKind::private_ && m.access != Access::in;
        });
    }

    /// Keeps after the if the entries from before it that every yielding arm still has. Entries made in an arm are dropped: their
    /// values are not visible after the if.
    void arms(InstId id) {
        const Inst& i = from[id];
        const auto before = known;
        std::vector<AvailableValue> after = before;
        map_results(i, control(i, of(from.operands(i)), {}, [&](int which, std::span<const Value>) {
                        known = before;
                        insts(i.blocks[which]);
                        if (last_inst(from, i.blocks[which]).op == Op::yield) keep_common(after);
                    }));
        known = std::move(after);
    }

    void keep_common(std::vector<AvailableValue>& entries) const {
        std::erase_if(entries, [&](const AvailableValue& entry) {
            return std::none_of(known.begin(), known.end(),
                                [&](const AvailableValue& other) { return other.serial == entry.serial; });
        });
    }

    /// Kills what the loop's contents may write, then walks the loop; the same entries hold after the loop.
    void loop(InstId id) {
        each_inside(from, from[id], [&](InstId inner) {
            const Inst& i = from[inner];
            if (is_barrier(i.op)) barrier();
            if (has_trait(i.op, traits::effect)) known.clear();
            if (writes_memory(i.op)) forget_memory(i.memory);
        });
        const auto unchanged = known;
        copy(id);
        known = unchanged;
    }

    std::vector<AvailableValue> known;
    uint32_t serial = 0;
};

/// Dead stores: a later store in the same block overwrites the place, and nothing in between may read it.
class Overwritten {
public:
    explicit Overwritten(const Kernel& kernel) : k(kernel), dead(k.insts.size()) {
        for (const Block& b : k.blocks) scan(b);
    }
    bool operator[](InstId i) const { return dead[i.id]; }

private:
    /// Walks a block backwards. `later` holds the places that are overwritten further down before anything may read them.
    void scan(const Block& block) {
        std::vector<MemoryLocation> later;
        for (auto at = block.insts.rbegin(); at != block.insts.rend(); ++at) {
            const Inst& i = k[*at];
            if (i.op == Op::store) {
                const MemoryLocation location = location_of(k, i);
                const bool found =
                    std::any_of(later.begin(), later.end(), [&](const MemoryLocation& l) { return must_alias(l, location); });
                dead[at->id] = found;
                if (found) continue;
                if (later.size() == window) later.erase(later.begin());
                later.push_back(location);
            } else {
                look(i, later);
                each_inside(k, i, [&](InstId inner) { look(k[inner], later); });
            }
        }
    }

    /// Removes from `later` the places that the instruction may read, and all of them if it may leave the block.
    void look(const Inst& i, std::vector<MemoryLocation>& later) const {
        if (i.op == Op::load) {
            const MemoryLocation location = location_of(k, i);
            std::erase_if(later, [&](const MemoryLocation& l) { return may_alias(k, l, location); });
        } else if (is_barrier(i.op) || is_atomic(i.op)) {
            std::erase_if(later, [&](const MemoryLocation& l) { return k[l.memory].kind != MemoryKind::private_; });
        } else if (has_trait(i.op, traits::effect) || is_jump(i.op)) {
            later.clear();
        }
    }

    const Kernel& k;
    std::vector<bool> dead;
};

class WithoutOverwritten : public Rewriter {
public:
    explicit WithoutOverwritten(const Kernel& kernel) : Rewriter(kernel), overwritten(kernel) {}

private:
    void inst(InstId id) override {
        if (!overwritten[id]) copy(id);
    }
    const Overwritten overwritten;
};

}  // namespace

Kernel forward_stores(const Kernel& kernel) { return WithoutOverwritten(ForwardStores(kernel).run()).run(); }

}  // namespace pumice::ir
