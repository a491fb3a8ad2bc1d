// Error messages of the interpreter's checks: bounds, races, unset memory, uniform, barriers.
#include <algorithm>

#include "core/interp/interp_group.h"
#include "core/ir/evaluate.h"

namespace pumice::interp {

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

}  // namespace

/// "work-item 8" or "work-item (1, 8)": the global index as the kernel sees it.
std::string InterpRun::item_text(const std::array<int64_t, 3>& of_group, int item) const {
    std::vector<int64_t> index;
    for (int axis = launch.rank - 1; axis >= 0; --axis) {
        const size_t a = size_t(axis);
        index.push_back(launch.start[a] + of_group[a] * launch.group[a] + local[a][size_t(item)]);
    }
    return "work-item " + tuple(index);
}

/// "argument 2" or "local array local1 (tile.cpp:7)".
std::string InterpRun::memory_text(MemoryId id) const {
    const Memory& memory = k[id];
    if (memory.kind == MemoryKind::array) return k.label(size_t(memory.argument));
    return text(memory.kind == MemoryKind::local ? "local" : "private", " array ", memory.name, " (", k.where(memory.loc), ")");
}

/// "index 8" or "index (1, 8) (member velocity.x)": the element that holds the byte at `offset`.
std::string InterpRun::element_text(const Inst& inst, int64_t offset, int item) const {
    const View& view = views[inst.memory.id];
    const Element& element = k[inst.memory].element;
    int64_t linear = (offset - item * view.item_bytes) / element.size;
    std::vector<int64_t> index(view.extents.size());
    for (size_t d = index.size(); d-- > 0; linear /= std::max<int64_t>(1, view.extents[d]))
        index[d] = linear % std::max<int64_t>(1, view.extents[d]);
    const std::string& path = element.leaves[inst.leaf].path;
    return "index " + tuple(index) + (path.empty() ? "" : " (member " + path + ")");
}

/// The group that ran at an epoch of this launch.
std::array<int64_t, 3> InterpRun::group_at(uint32_t epoch) const {
    const auto& starts = scratch.group_starts;
    const int64_t n = std::ranges::upper_bound(starts, epoch) - starts.begin() - 1;
    return {n % group_count[0], n / group_count[0] % group_count[1], n / (group_count[0] * group_count[1])};
}

void InterpRun::out_of_bounds(const Inst& inst, Items items) {
    const View& view = views[inst.memory.id];
    const auto operands = indices_of(k, inst);
    const bool linear = operands.size() == 1 && view.extents.size() != 1;
    for (int n = 0; n < items.count; ++n) {
        const int item = items.list[n];
        bool outside = false;
        std::vector<std::string> index;
        for (size_t d = 0; d < operands.size(); ++d) {
            with_scalar(k.type_of(operands[d]), [&](auto type) {
                using T = decltype(type);
                if constexpr (is_int(*scalar_of<T>())) {
                    const T value = at<T>(operands[d])[item];
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
        fail("Kernel \"", k.name, "\" ", verb(touch_of(inst.op)), " ", memory_text(inst.memory), " at ",
             linear ? "linear index " : "index ", where, ", ", limit, " (", item_text(group, item), ", ", k.where(inst.loc),
             ").");
    }
    library_bug("no index is out of bounds: " + print(k, inst));
}

void InterpRun::race(const Inst& inst, Touch how, int item, int64_t offset, ShadowAccess other, Touch other_how) {
    const auto other_group = group_at(other.when);
    fail("Kernel \"", k.name, "\" has a race on ", memory_text(inst.memory), " at ", element_text(inst, offset, item), ": ",
         item_text(other_group, int(other.item)), " ", verb(other_how), " it (", k.where(k.insts[other.inst].loc), ") and ",
         item_text(group, item), " ", verb(how), " it (", k.where(inst.loc), "), ",
         other_group == group ? "with no barrier between them." : "in different groups.");
}

void InterpRun::unset(const Inst& inst, int item, int64_t offset) {
    fail("Kernel \"", k.name, "\" ", verb(touch_of(inst.op)), " ", memory_text(inst.memory), " at ",
         element_text(inst, offset, item), " before it is written (", item_text(group, item), ", ", k.where(inst.loc), ").");
}

void InterpRun::not_uniform(const Inst& inst, int item, uint64_t bits, int other, uint64_t other_bits) {
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
    fail("Kernel \"", k.name, "\" promises a uniform value that differs in a group: it is ", value(bits), " in ",
         item_text(group, item), " and ", value(other_bits), " in ", item_text(group, other), " (", k.where(inst.loc), ").");
}

void InterpRun::diverged(const Inst& inst, Items items) {
    int missing = 0, gone = 0;  // the first item that has not arrived; how many items have returned
    int n = 0;
    for (int p = present.count - 1; p >= 0; --p) {
        const uint16_t item = present.list[p];
        if (std::binary_search(items.list, items.list + items.count, item)) continue;
        missing = item;
        gone += fates[item] == returned;
        ++n;
    }
    std::vector<int64_t> index;
    for (int axis = launch.rank - 1; axis >= 0; --axis) index.push_back(group[size_t(axis)]);
    fail("Kernel \"", k.name, "\" reaches the barrier with ", items.count, " of ", present.count, " work-items of group ",
         tuple(index), "; the others, the first of them ", item_text(group, missing), ", ",
         gone == n   ? "have returned"
         : gone == 0 ? "took another way"
                     : "took another way or have returned",
         " (", k.where(inst.loc), ").");
}

}  // namespace pumice::interp
