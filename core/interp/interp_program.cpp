#include "core/interp/interp_program.h"

#include <algorithm>
#include <bit>

#include "core/host/reports.h"
#include "core/interp/interp_shadow.h"
#include "core/ir/builder.h"
#include "core/ir/evaluate.h"
#include "core/support/error.h"

namespace pumice::interp {

using namespace ir;

namespace {

/// The loop that computes an instruction; null for instructions that InterpRun::execute handles.
ItemLoop loop_of(const Kernel& k, const Inst& i) {
    switch (i.op) {
#define OP1(name, ...) case Op::name:
#define OP2(name, ...) case Op::name:
#define OP3(name, ...) case Op::name:
#include "core/ir/ops.def"
        {
            const ItemLoop loop = scalar_loop(i.op, k.type_of(k.operands(i)[0]));
            if (!loop) library_bug(text("the interpreter has no loop for ", print(k, i)));
            return loop;
        }
        case Op::select: return select_loop(i.type);
        case Op::cast: return cast_loop(k.type_of(k.operands(i)[0]), i.type);
        case Op::bitcast:
        case Op::var:
        case Op::get:
        case Op::set: return copy_loop(i.type);
        default: return nullptr;
    }
}

/// "1 work-item", "256 work-items".
std::string items_text(const std::array<int64_t, 3>& group) {
    const int64_t items = group[0] * group[1] * group[2];
    return text(items, items == 1 ? " work-item" : " work-items");
}

bool same_for_all_groups(Op op) {
    const bool moves = op == Op::global_index || op == Op::group_index || op == Op::in_range;
    return op == Op::constant || (is_given(op) && !moves);
}

/// The value of an expression of group_size and constants, as bits.
uint64_t launch_bits(const Kernel& k, Value v, const std::array<int64_t, 3>& group) {
    const InstId id = k[v].inst;
    if (id.id == none) library_bug("a local array's size depends on a block's parameter");
    const Inst& i = k[id];
    if (i.op == Op::constant) return i.immediate;
    if (i.op == Op::group_size) return to_bits(int32_t(group[i.immediate]));
    uint64_t operands[3] = {}, result = 0;
    const auto values = k.operands(i);
    if (values.empty() || values.size() > 3)
        library_bug("a local array's size is not made of group_size and constants: " + print(k, i));
    for (size_t n = 0; n < values.size(); ++n) operands[n] = launch_bits(k, values[n], group);
    if (!evaluate(i, k.type_of(values[i.op == Op::select ? 1 : 0]), {operands, values.size()}, result))
        library_bug("a local array's size is not made of group_size and constants: " + print(k, i));
    return result;
}

}  // namespace

InterpProgram::InterpProgram(Kernel ready, int lanes) : kernel(std::move(ready)), subgroup_size(lanes) {
    if (kernel.insts.size() >= max_insts)
        fail("Kernel \"", kernel.name, "\" has ", kernel.insts.size(), " instructions; the limit of interp is ", max_insts - 1,
             ".");
    loops.resize(kernel.insts.size());
    written.resize(kernel.memories.size());
    scan(BlockId{0}, 1);
    assign_offsets();
    reports = pumice::reports(kernel);
}

void InterpProgram::scan(BlockId block, int nesting) {
    depth = std::max(depth, nesting);
    for (const InstId id : kernel[block].insts) {
        const Inst& i = kernel[id];
        loops[id.id] = loop_of(kernel, i);
        if (writes_memory(i.op)) written[i.memory.id] = true;
        if (same_for_all_groups(i.op)) constants.push_back(id);
        for (const BlockId inner : i.owned()) scan(inner, nesting + 1);
    }
}

void InterpProgram::assign_offsets() {
    // Values of the largest types first: then each array is aligned to its elements for every group size.
    value_offset.resize(kernel.values.size());
    for (const int size : {8, 4, 2, 1}) {
        for (size_t v = 0; v < kernel.values.size(); ++v) {
            if (size_of(kernel.values[v].type) != size) continue;
            value_offset[v] = value_bytes;
            value_bytes += uint32_t(size);
        }
    }
}

int64_t asked_elements(const Kernel& kernel, const Memory& memory, const std::array<int64_t, 3>& group) {
    int64_t count = 1;
    for (const int64_t extent : memory.extents) count *= extent;
    return memory.extents.empty() ? from_bits<int32_t>(launch_bits(kernel, memory.size, group)) : count;
}

int64_t local_elements(const Kernel& kernel, const Memory& memory, const std::array<int64_t, 3>& group) {
    const int64_t count = asked_elements(kernel, memory, group);
    if (count <= 0)
        fail("Kernel \"", kernel.name, "\" has a local array of ", count, " elements (", kernel.where(memory.loc),
             ") in a group of ", items_text(group), "; it takes at least 1.");
    return count;
}

void check_local_memory(const Kernel& kernel, const std::array<int64_t, 3>& group, int64_t bytes, int64_t limit,
                        const std::string& device) {
    if (bytes > limit)
        fail("Kernel \"", kernel.name, "\" (", kernel.where(kernel.loc), ") needs ", bytes,
             " bytes of local memory for a group of ", items_text(group), "; the limit of ", device, " is ", limit, " bytes.");
}

int granule_shift(const Element& element) {
    int shift = 3;
    for (const Leaf& leaf : element.leaves) shift = std::min(shift, std::countr_zero(unsigned(size_of(leaf.type))));
    return shift;
}

}  // namespace pumice::interp
