// Accesses of the leaves of one element, grouped, so that a device moves each texel or vector once.
// Why: the language accesses the channels of an image and the members of a struct one by one. Memory of images takes whole
// texels; drivers on processors take a loop over their lanes for each access, and others find their vectors only where nothing
// stands between the accesses.
//
//   %0 = load arg2[%i].x : f32              const vec2 element0 = arg2[i];
//   %1 = load arg2[%i].y : f32              ... element0.x ... element0.y ...
//   store arg1[%i].x, %2 : f32              merged
//   store arg1[%i].y, %3 : f32              last: arg1[i] = vec2(v2, v3);
//
// Method: local value numbering. Loads of a block with the same index values, between which nothing writes the memory, are of
// one group if they load two leaves or more. Stores with the same index values join the last one, if nothing accesses the memory
// between them. A barrier, a call or a construct closes all groups.
// Legality: an element lies inside of its array, so a leaf that is loaded beside the others exists. The memory of `vectors` has
// no atomics and carries no data between items: there each leaf has its own time.
// Cost: linear in instructions. Limits: equal indices are recognised by value number only; groups do not cross blocks.
// Textbook names: store merging; superword-level parallelism (Larsen, Amarasinghe, 2000), of accesses alone.
#include "core/analysis/element_accesses.h"

#include <map>
#include <utility>

namespace pumice::ir {
namespace {

class AccessGrouping {
public:
    AccessGrouping(const Kernel& kernel, const std::vector<bool>& vectors) : k(kernel), vectors(vectors) {
        found.loads.resize(k.insts.size());
        found.merged.resize(k.insts.size());
    }

    ElementAccesses whole() {
        for (const Block& b : k.blocks) {
            for (const InstId i : b.insts) visit(i);
            close_all();
        }
        return std::move(found);
    }

private:
    using Indices = std::vector<uint32_t>;  // values
    struct Loads {
        InstId first;
        uint32_t leaf;
    };
    struct Stores {
        std::vector<InstId> all;
        std::vector<Value> values;  // by leaf
        Indices indices;
    };

    void visit(InstId id) {
        const Inst& i = k[id];
        if (holds_accesses(i.op)) return close_all();
        if (!accesses_memory(i.op) || !(k[i.memory].image || (!vectors.empty() && vectors[i.memory.id]))) return;
        Indices indices;
        for (const Value v : indices_of(k, i)) indices.push_back(v.id);
        if (i.op == Op::store) return store(id, std::move(indices));
        close(i.memory);
        if (i.op != Op::load) return;
        const auto [there, is_new] = loaded.try_emplace({i.memory.id, std::move(indices)}, Loads{id, i.leaf});
        if (!is_new && (there->second.leaf != i.leaf || found.loads[there->second.first.id]))
            found.loads[there->second.first.id] = found.loads[id.id] = true;
    }

    void store(InstId id, Indices indices) {
        const Inst& i = k[id];
        std::erase_if(loaded, [&](const auto& entry) { return entry.first.first == i.memory.id; });
        if (stored[i.memory.id].indices != indices) close(i.memory);
        Stores& group = stored[i.memory.id];
        group.values.resize(k[i.memory].element.leaves.size());
        group.all.push_back(id);
        group.values[i.leaf] = k.operands(i).back();
        group.indices = std::move(indices);
    }

    void close(MemoryId m) {
        Stores group = std::exchange(stored[m.id], {});
        if (group.all.empty() || (!k[m].image && !std::ranges::all_of(group.values, [](Value v) { return bool(v); }))) return;
        for (const InstId one : group.all) found.merged[one.id] = one != group.all.back();
        found.stores[group.all.back().id] = std::move(group.values);
    }
    void close_all() {
        loaded.clear();
        for (const auto& [memory, group] : stored) close({memory});
        stored.clear();
    }

    const Kernel& k;
    const std::vector<bool>& vectors;
    ElementAccesses found;
    std::map<std::pair<uint32_t, Indices>, Loads> loaded;  // by memory and indices
    std::map<uint32_t, Stores> stored;                     // by memory
};

}  // namespace

ElementAccesses element_accesses(const Kernel& kernel, const std::vector<bool>& vectors) {
    return AccessGrouping(kernel, vectors).whole();
}

}  // namespace pumice::ir
