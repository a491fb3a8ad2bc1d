// Vector accesses: leaves of one element that are loaded, or stored, together.
// Why: IR accesses the leaves of a struct one by one. llvmpipe takes a loop over its lanes for each access, and other drivers
// find their vectors only where nothing stands between the accesses. A struct of 2 or 4 leaves of 32 bits has the layout of a
// vector.
//
//   %0 = load arg2[%i].x : f32              const vec2 element0 = arg2[i];
//   %1 = load arg2[%i].y : f32              ... element0.x ... element0.y ...
//   store arg1[%i].x, %2 : f32
//   store arg1[%i].y, %3 : f32              arg1[i] = vec2(v2, v3);
//
// Method: local value numbering. Loads of a block with the same index values, between which nothing writes the memory, are of one
// vector if they load two leaves or more. Stores are merged into the last one if they store all leaves, and if nothing accesses
// the memory between them.
// Legality: an element lies inside of its array, so a leaf that is loaded beside the others exists. Not for memories with
// atomics, or by which items exchange data: there each leaf has its own time.
// Cost: linear. Limits: one block; no arrays by address; no elements of 3 leaves, whose vectors GLSL aligns like those of 4.
// Textbook name: superword-level parallelism (Larsen, Amarasinghe, 2000), of accesses alone.
#include "codegen/glsl/vector_accesses.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/ir/ops.h"

namespace pumice::codegen {

using namespace ir;

namespace {

class AccessGrouping {
public:
    AccessGrouping(const Kernel& kernel, const Usage& usage, const std::vector<bool>& is_vector)
        : k(kernel), usage(usage), is_vector(is_vector) {
        found.loads.resize(k.insts.size());
        found.merged.resize(k.insts.size());
    }

    VectorAccesses whole() {
        for (const Block& b : k.blocks) {
            loaded.clear(), stored.clear();
            for (const InstId i : b.insts)
                if (usage.live[i.id]) visit(i);
        }
        return std::move(found);
    }

private:
    using Place = std::pair<uint32_t, std::vector<uint32_t>>;  // memory, index values
    struct Loads {
        InstId first;
        uint32_t leaf;
    };
    struct Stores {
        std::vector<InstId> all;
        std::vector<Value> values;  // by leaf
        std::vector<uint32_t> indices;
    };

    void forget(uint32_t memory) {
        std::erase_if(loaded, [&](const auto& entry) { return entry.first.first == memory; });
    }

    void visit(InstId id) {
        const Inst& i = k[id];
        // A construct may leave the block or access any memory in its blocks.
        if (is_construct(i.op) || is_terminator(i.op) || is_barrier(i.op) || has_trait(i.op, traits::effect))
            return loaded.clear(), stored.clear();
        if (!accesses_memory(i.op) || !is_vector[i.memory.id]) return;
        std::vector<uint32_t> indices;
        for (const Value v : indices_of(k, i)) indices.push_back(v.id);
        if (i.op == Op::store) return store(id, std::move(indices));
        stored.erase(i.memory.id);
        if (i.op != Op::load) return;
        const auto [there, is_new] = loaded.try_emplace({i.memory.id, std::move(indices)}, Loads{id, i.leaf});
        if (!is_new && (there->second.leaf != i.leaf || found.loads[there->second.first.id]))
            found.loads[there->second.first.id] = found.loads[id.id] = true;
    }

    void store(InstId id, std::vector<uint32_t> indices) {
        const Inst& i = k[id];
        forget(i.memory.id);
        Stores& group = stored[i.memory.id];
        const size_t leaves = k[i.memory].element.leaves.size();
        if (group.all.empty() || group.indices != indices) group = {{}, std::vector<Value>(leaves), std::move(indices)};
        group.all.push_back(id);
        group.values[i.leaf] = k.operands(i).back();
        if (!std::ranges::all_of(group.values, [](Value v) { return bool(v); })) return;
        for (const InstId one : group.all) found.merged[one.id] = one != id;
        found.stores[id.id] = std::move(group.values);
        stored.erase(i.memory.id);
    }

    const Kernel& k;
    const Usage& usage;
    const std::vector<bool>& is_vector;
    VectorAccesses found;
    std::map<Place, Loads> loaded;
    std::map<uint32_t, Stores> stored;  // by memory
};

}  // namespace

VectorAccesses vector_accesses(const Kernel& kernel, const Usage& usage, const std::vector<bool>& is_vector) {
    return AccessGrouping(kernel, usage, is_vector).whole();
}

bool has_vector_layout(const Element& element) {
    const std::vector<Leaf>& leaves = element.leaves;
    if ((leaves.size() != 2 && leaves.size() != 4) || element.size != 4 * leaves.size()) return false;
    const Scalar type = leaves[0].type;
    if (type != Scalar::f32 && type != Scalar::i32 && type != Scalar::u32) return false;
    for (size_t n = 0; n < leaves.size(); ++n)
        if (leaves[n].type != type || leaves[n].offset != 4 * n) return false;
    return true;
}

}  // namespace pumice::codegen
