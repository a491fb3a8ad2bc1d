// Stores of the channels of one texel, as groups, so that a device writes each texel once.
// Why: the language stores an image's channels one by one, as members of a struct; memory of images takes whole texels.
//
//   store arg1[%y, %x].x, %0 : f32     merged
//   store arg1[%y, %x].y, %1 : f32     merged
//   store arg1[%y, %x].z, %2 : f32     merged
//   store arg1[%y, %x].w, %3 : f32     last: (%0, %1, %2, %3)
//
// Method: a walk over each block with one open group an image. Another index, an access of the image that is no store, a
// barrier, a call or a construct that accesses the image closes its group; closed groups end with the store found last.
// Cost: linear in instructions. Limits: equal indices are recognised by value number only; groups do not cross blocks.
// Textbook name: store merging.
#include "core/analysis/texel_stores.h"

#include <algorithm>
#include <map>

namespace pumice::ir {
namespace {

class TexelGrouping {
public:
    explicit TexelGrouping(const Kernel& kernel) : k(kernel) { found.merged.resize(k.insts.size()); }

    TexelStores whole() {
        for (const Block& b : k.blocks) {
            open.clear();
            for (const InstId i : b.insts) visit(i);
        }
        return std::move(found);
    }

private:
    struct Group {
        InstId last;
        std::vector<Value> indices;
    };

    void visit(InstId id) {
        const Inst& i = k[id];
        // A construct may leave the block or access any image in its blocks, so it closes all groups.
        if (is_construct(i.op) || is_terminator(i.op) || is_barrier(i.op) || has_trait(i.op, traits::effect)) return open.clear();
        if (!accesses_memory(i.op) || !k[i.memory].image) return;
        if (i.op != Op::store) return void(open.erase(i.memory.id));
        const std::span<const Value> indices = indices_of(k, i);
        const Value value = k.operands(i).back();
        TexelStore now;
        now.channels.resize(k[i.memory].element.leaves.size());
        const auto there = open.find(i.memory.id);
        if (there != open.end() && std::ranges::equal(indices, there->second.indices)) {
            now = found.last.at(there->second.last.id);
            found.last.erase(there->second.last.id);
            found.merged[there->second.last.id] = true;
        }
        now.channels[i.leaf] = value;
        found.last[id.id] = std::move(now);
        open[i.memory.id] = {id, {indices.begin(), indices.end()}};
    }

    const Kernel& k;
    TexelStores found;
    std::map<uint32_t, Group> open;  // by memory
};

}  // namespace

TexelStores texel_stores(const Kernel& kernel) { return TexelGrouping(kernel).whole(); }

}  // namespace pumice::ir
