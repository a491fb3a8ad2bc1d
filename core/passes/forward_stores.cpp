#include <algorithm>

#include "core/analysis/alias.h"
#include "core/ir/rewriter.h"
#include "core/passes/passes.h"

namespace pumice::ir {
namespace {

/// How many places are kept in mind at once, the latest: each access is compared with all of them, and unrolled kernels have tens
/// of thousands.
constexpr size_t window = 512;

bool is_atomic(Op op) { return op == Op::atomic || op == Op::compare_exchange; }

/// Walks the kernel with the values known to lie in memory. Other items do not write what this one reads between two barriers
/// except by atomics (that would be a race), so a value is known until this item may overwrite it, an atomic touches the
/// memory, or a barrier lets others in.
class ForwardStores : public Rewriter {
public:
    using Rewriter::Rewriter;

private:
    struct Known {
        MemoryId memory;
        uint32_t leaf;
        std::vector<Value> indices;  ///< of `to`
        Value value;
        uint32_t serial;  ///< tells entries apart
        Location place() const { return {memory, leaf, indices}; }
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
            learn(i, indices, of(from.operands(i).back()));
        } else if (is_atomic(i.op))
            forget_memory(i.memory);
        else if (is_barrier(i.op))
            barrier();
        else if (i.op == Op::call)
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
        const Location place{i.memory, i.leaf, indices};
        for (const Known& entry : known)
            if (same_place(entry.place(), place)) return map(from.result(i), entry.value);
        copy(id);
        learn(i, indices, of(from.result(i)));
    }

    void learn(const Inst& i, const std::vector<Value>& indices, Value value) {
        if (known.size() == window) known.erase(known.begin());
        known.push_back({i.memory, i.leaf, indices, value, serial++});
    }

    void overwrite(const Location& place) {
        std::erase_if(known, [&](const Known& entry) { return may_alias(to, entry.place(), place); });
    }
    void forget_memory(MemoryId m) {
        std::erase_if(known, [&](const Known& entry) { return entry.memory == m; });
    }
    void barrier() {
        std::erase_if(known, [&](const Known& entry) {
            const Memory& m = from[entry.memory];
            return m.kind != MemoryKind::private_ && m.access != Access::in;
        });
    }

    /// After the arms, what both that come here still know from before; inside an arm's values are not visible.
    void arms(InstId id) {
        const Inst& i = from[id];
        const auto before = known;
        std::vector<Known> after = before;
        map_results(i, control(i, of(from.operands(i)), {}, [&](int which, std::span<const Value>) {
                        known = before;
                        insts(i.blocks[which]);
                        if (last_inst(from, i.blocks[which]).op == Op::yield) keep_common(after);
                    }));
        known = std::move(after);
    }

    void keep_common(std::vector<Known>& entries) const {
        std::erase_if(entries, [&](const Known& entry) {
            return std::none_of(known.begin(), known.end(), [&](const Known& other) { return other.serial == entry.serial; });
        });
    }

    /// An iteration starts with what no iteration changes.
    void loop(InstId id) {
        each_inside(from, from[id], [&](InstId inner) {
            const Inst& i = from[inner];
            if (is_barrier(i.op)) barrier();
            if (i.op == Op::call) known.clear();
            if (i.op == Op::store || is_atomic(i.op)) forget_memory(i.memory);
        });
        const auto unchanged = known;
        copy(id);
        known = unchanged;
    }

    std::vector<Known> known;
    uint32_t serial = 0;
};

/// Stores that another store to the same place follows in the same block, where nothing between can see the first.
class Overwritten {
public:
    explicit Overwritten(const Kernel& kernel) : k(kernel), dead(k.insts.size()) {
        for (const Block& b : k.blocks) scan(b);
    }
    bool operator[](InstId i) const { return dead[i.id]; }

private:
    /// Backwards, with the places that are overwritten before anybody looks.
    void scan(const Block& block) {
        std::vector<Location> later;
        for (auto at = block.insts.rbegin(); at != block.insts.rend(); ++at) {
            const Inst& i = k[*at];
            if (i.op == Op::store) {
                const Location place = place_of(k, i);
                const bool found =
                    std::any_of(later.begin(), later.end(), [&](const Location& l) { return same_place(l, place); });
                dead[at->id] = found;
                if (found) continue;
                if (later.size() == window) later.erase(later.begin());
                later.push_back(place);
            } else {
                look(i, later);
                each_inside(k, i, [&](InstId inner) { look(k[inner], later); });
            }
        }
    }

    /// Takes away what the instruction may see, or may keep from being overwritten.
    void look(const Inst& i, std::vector<Location>& later) const {
        if (i.op == Op::load) {
            const Location place = place_of(k, i);
            std::erase_if(later, [&](const Location& l) { return may_alias(k, l, place); });
        } else if (is_barrier(i.op) || is_atomic(i.op)) {
            std::erase_if(later, [&](const Location& l) { return k[l.memory].kind != MemoryKind::private_; });
        } else if (i.op == Op::call || i.op == Op::break_ || i.op == Op::continue_ || i.op == Op::return_) {
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
