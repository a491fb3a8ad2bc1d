// Error messages of the interpreter's checks: bounds, races, unset memory, uniform, barriers.
#include "core/interp/interp_fault.h"

#include <algorithm>

#include "core/interp/interp_group.h"
#include "core/ir/evaluate.h"
#include "core/support/error.h"

namespace pumice::interp::fault {

using namespace ir;

namespace {

/// "7", or "(1, 7)" for more than one.
std::string tuple(std::span<const int64_t> values) {
    if (values.size() == 1) return text(values[0]);
    std::string out;
    for (const int64_t v : values) out += (out.empty() ? "(" : ", ") + text(v);
    return out + ")";
}

const char* verb(Touch how) {
    switch (how) {
        case Touch::read: return "reads";
        case Touch::write: return "writes";
        case Touch::atomic: break;
    }
    return "atomically updates";
}

/// "argument 2" or "local array local1 (tile.cpp:7)".
std::string memory_text(const InterpGroup& group, MemoryId id) {
    const Memory& memory = group.k[id];
    if (memory.kind == MemoryKind::array) return group.k.label(size_t(memory.argument));
    return text(memory.kind == MemoryKind::local ? "local" : "private", " array ", memory.name, " (", group.k.where(memory.loc),
                ")");
}

/// "index 8" or "index (1, 8) (member velocity.x)": the element that holds the byte at `offset`.
std::string element_text(const InterpGroup& group, const Inst& inst, int64_t offset, int item) {
    const View& view = group.views[inst.memory.id];
    const Element& element = group.k[inst.memory].element;
    int64_t linear = (offset - item * view.item_bytes) / element.size;
    std::vector<int64_t> index(view.extents.size());
    for (size_t d = index.size(); d-- > 0; linear /= std::max<int64_t>(1, view.extents[d]))
        index[d] = linear % std::max<int64_t>(1, view.extents[d]);
    const std::string& path = element.leaves[inst.leaf].path;
    return "index " + tuple(index) + (path.empty() ? "" : " (member " + path + ")");
}

/// The group that ran at an epoch of this launch.
std::array<int64_t, 3> group_at(const InterpGroup& group, uint32_t epoch) {
    const auto& starts = group.scratch.group_starts;
    const int64_t n = std::ranges::upper_bound(starts, epoch) - starts.begin() - 1;
    return {n % group.group_count[0], n / group.group_count[0] % group.group_count[1],
            n / (group.group_count[0] * group.group_count[1])};
}

}  // namespace

std::string item_text(const InterpGroup& group, const std::array<int64_t, 3>& of_group, int item) {
    std::vector<int64_t> index;
    for (int axis = group.launch.rank - 1; axis >= 0; --axis) {
        const size_t a = size_t(axis);
        index.push_back(group.launch.start[a] + of_group[a] * group.launch.group[a] + group.local[a][size_t(item)]);
    }
    return "work-item " + tuple(index);
}

void out_of_bounds(const InterpGroup& group, const Inst& inst, Items items) {
    const View& view = group.views[inst.memory.id];
    const auto operands = indices_of(group.k, inst);
    const bool linear = operands.size() == 1 && view.extents.size() != 1;
    for (int n = 0; n < items.count; ++n) {
        const int item = items.list[n];
        bool outside = false;
        std::vector<std::string> index;
        for (size_t d = 0; d < operands.size(); ++d) {
            with_scalar(group.k.type_of(operands[d]), [&](auto type) {
                using T = decltype(type);
                if constexpr (is_int(*scalar_of<T>())) {
                    const T value = group.at<T>(operands[d])[item];
                    index.push_back(std::to_string(value));
                    outside = outside || value < T(0) ||
                              uint64_t(value) >= uint64_t(operands.size() == 1 ? view.elements : view.extents[d]);
                }
            });
        }
        if (!outside) continue;
        std::string where = index[0];
        for (size_t d = 1; d < index.size(); ++d) where += ", " + index[d];
        if (index.size() > 1) where = "(" + where + ")";
        const std::string limit =
            linear ? text("which has ", view.elements, " elements")
                   : text(view.extents.size() == 1 ? "whose extent is " : "whose extents are ", tuple(view.extents));
        fail("Kernel \"", group.k.name, "\" ", verb(touch_of(inst.op)), " ", memory_text(group, inst.memory), " at ",
             linear ? "linear index " : "index ", where, ", ", limit, " (", item_text(group, group.group_index, item), ", ",
             group.k.where(inst.loc), ").");
    }
    library_bug("no index is out of bounds: " + print(group.k, inst));
}

void race(const InterpGroup& group, const Inst& inst, Touch how, int item, int64_t offset, ShadowAccess other, Touch other_how) {
    const auto other_group = group_at(group, other.when);
    fail("Kernel \"", group.k.name, "\" has a race on ", memory_text(group, inst.memory), " at ",
         element_text(group, inst, offset, item), ": ", item_text(group, other_group, int(other.item)), " ", verb(other_how),
         " it (", group.k.where(group.k.insts[other.inst].loc), ") and ", item_text(group, group.group_index, item), " ",
         verb(how), " it (", group.k.where(inst.loc), "), ",
         other_group == group.group_index ? "with no barrier between them." : "in different groups.");
}

void unset(const InterpGroup& group, const Inst& inst, int item, int64_t offset) {
    fail("Kernel \"", group.k.name, "\" ", verb(touch_of(inst.op)), " ", memory_text(group, inst.memory), " at ",
         element_text(group, inst, offset, item), " before it is written (", item_text(group, group.group_index, item), ", ",
         group.k.where(inst.loc), ").");
}

void not_uniform(const InterpGroup& group, const Inst& inst, int item, uint64_t bits, int other, uint64_t other_bits) {
    const auto value = [&](uint64_t b) {
        return with_scalar(inst.type, [&](auto type) {
            using T = decltype(type);
            if constexpr (std::is_same_v<T, bool>)
                return std::string(b ? "true" : "false");
            else if constexpr (std::is_integral_v<T>)
                return text(+from_bits<T>(b));
            else
                return text(double(cast_scalar<double>(from_bits<T>(b))));
        });
    };
    fail("Kernel \"", group.k.name, "\" promises a uniform value that differs in a group: it is ", value(bits), " in ",
         item_text(group, group.group_index, item), " and ", value(other_bits), " in ",
         item_text(group, group.group_index, other), " (", group.k.where(inst.loc), ").");
}

void diverged(const InterpGroup& group, const Inst& inst, Items items) {
    int missing = 0, gone = 0;  // the first item that has not arrived; how many items have returned
    int n = 0;
    for (int p = group.present.count - 1; p >= 0; --p) {
        const uint16_t item = group.present.list[p];
        if (std::binary_search(items.list, items.list + items.count, item)) continue;
        missing = item;
        gone += group.fates[item] == returned;
        ++n;
    }
    std::vector<int64_t> index;
    for (int axis = group.launch.rank - 1; axis >= 0; --axis) index.push_back(group.group_index[size_t(axis)]);
    fail("Kernel \"", group.k.name, "\" reaches the barrier with ", items.count, " of ", group.present.count,
         " work-items of group ", tuple(index), "; the others, the first of them ", item_text(group, group.group_index, missing),
         ", ",
         gone == n   ? "have returned"
         : gone == 0 ? "took another way"
                     : "took another way or have returned",
         " (", group.k.where(inst.loc), ").");
}

}  // namespace pumice::interp::fault
