// Group-size heuristic of the CPU: tiling of the range (loop blocking) by the access pattern of the kernel.
//
// On the CPU a group is the unit of work of a thread. Its extents decide what stays in the first-level cache:
//
//     kernel                         range           group
//     y[i] += x[i]                   1048576         {1024, 1, 1}    long rows: little cost per group
//     b[i, j] = a[j, i]              4096 x 4096     {16, 16, 1}     square tile: both arrays use whole lines
//     y[i, j] = x[i, j] + a[j]       4096 x 4096     {1024, 1, 1}    rows of one use are long, too
//     y[i, j] = exp(x[i, j])         100000 x 3      {4, 16, 1}      short rows: packets of 4 items, not of 16 with 13 idle ones
//     y[i, j] = x[i-1, j] + x[i, j]  4094 x 4094     {256 + 16, 4, 1}  4 rows: a group loads a row once for all its uses
//
// (the 16 extra items only where the row length is no multiple of 256: they make room for alignment peeling).
// Analyses: axes_of() finds the axes that an index depends on; difference() of index polynomials (index_polynomial.h) finds
// stencils, also for indices that the kernel linearises by hand.
// Cost: one scan of the loads per kernel; only for large ranges. Limits: arithmetic deeper than 8 instructions is not followed;
// argument_across() looks at accesses with one index per dimension only; local memory above max_local_bytes halves the group.
// Textbook: loop tiling and loop interchange for locality (Wolf and Lam, PLDI 1991).
#include "cpu/plan/cpu_group_size.h"

#include <algorithm>
#include <bit>
#include <map>

#include "core/interp/interp_program.h"
#include "core/support/error.h"
#include "cpu/plan/index_polynomial.h"
#include "cpu/plan/variant.h"

namespace pumice::cpu {
namespace {

/// Rows, or planes, of a stencil in one group. A group of 4 rows loads 6 rows (a halo of 1 on both sides) into the first-level
/// cache; row by row, each row would be loaded for each of the 3 rows that use it. More rows would exceed the streams that the
/// hardware prefetcher follows.
constexpr int64_t rows_together = 4;
/// Bytes of a row of such a group: all rows of a few arrays fit into the first-level cache.
constexpr int64_t row_bytes = 1024;

/// For an index that the kernel linearises by hand: is the difference `by` a sum of strides of range axes? `along`: bit set of
/// those axes.
bool strides_apart(const ir::Kernel& k, ir::Value index, const IndexPolynomial& by, uint32_t& along) {
    const IndexPolynomial whole = polynomial_of(k, index);
    along = by.constant == 0 ? 0 : 1;
    bool known = by.constant == 0 || whole.axis_of(k, {}) == 0;
    for (const auto& [step, times] : by.coefficients) {
        if (times == 0) continue;
        const int axis = whole.axis_of(k, step);
        known = known && axis >= 0;
        along |= axis >= 0 ? 1u << axis : 0;
    }
    return known;
}

/// The first of these steps that is at least the extent; if none is, the last one.
int64_t step(int64_t extent, std::initializer_list<int64_t> steps) {
    for (const int64_t s : steps)
        if (extent <= s) return s;
    return *(steps.end() - 1);
}

}  // namespace

int argument_across(const ir::Kernel& k, int axis) {
    const uint32_t columns = 1u << axis;
    const auto across = [&](const ir::Inst& i) {
        if ((i.op != ir::Op::load && i.op != ir::Op::store) || k[i.memory].kind != ir::MemoryKind::array) return false;
        const auto indices = ir::indices_of(k, i);
        uint32_t rows = 0;
        for (size_t d = 0; d + 1 < indices.size(); ++d) rows |= axes_of(k, indices[d]);
        return (rows & 1) != 0 && (axes_of(k, indices.back()) & (columns | 1)) == columns;
    };
    const auto found = std::find_if(k.insts.begin(), k.insts.end(), across);
    return found == k.insts.end() ? -1 : k[found->memory].argument;
}

ir::Kernel with_axes_swapped(const ir::Kernel& kernel) {
    ir::Kernel swapped = kernel;
    for (ir::Inst& i : swapped.insts)
        if (ir::layout_of(i.op) == ir::Layout::axis && i.immediate > 0) i.immediate = 3 - i.immediate;
    return swapped;
}

uint32_t axes_of_stencils(const ir::Kernel& k) {
    std::map<uint32_t, const ir::Inst*> first;  // load of each array
    uint32_t axes = 0;
    for (const ir::Inst& i : k.insts) {
        if (i.op != ir::Op::load || k[i.memory].kind != ir::MemoryKind::array) continue;
        const ir::Inst& other = *first.try_emplace(i.memory.id, &i).first->second;
        const auto here = ir::indices_of(k, i), there = ir::indices_of(k, other);
        uint32_t apart = 0;
        bool same_rows = here.size() == there.size();
        for (size_t d = 0; same_rows && d < here.size(); ++d) {
            const IndexPolynomial by = difference(k, here[d], there[d]);
            if (by.is_constant() && by.constant == 0) continue;
            uint32_t along = axes_of(k, here[d]);
            same_rows = by.is_constant() && std::has_single_bit(along) && along == axes_of(k, there[d]);
            if (!same_rows) same_rows = strides_apart(k, here[d], by, along);
            apart |= along;
        }
        if (same_rows) axes |= apart;
    }
    return axes & 6;
}

int64_t largest_element(const ir::Kernel& k) {
    int64_t bytes = 1;
    for (const ir::Memory& m : k.memories)
        if (m.kind == ir::MemoryKind::array) bytes = std::max<int64_t>(bytes, m.element.size);
    return bytes;
}

std::array<int64_t, 3> with_long_rows(std::array<int64_t, 3> group) {
    if (group[0] == 256 && group[1] == 1) group[0] = max_group_items;
    return group;
}

std::array<int64_t, 3> with_short_rows(std::array<int64_t, 3> group, int64_t row) {
    group[0] = std::min(group[0], step(row, {4, 8, 16, group[0]}));
    return group;
}

std::array<int64_t, 3> group_of_stencil(const std::array<int64_t, 3>& extent, uint32_t axes, int64_t bytes) {
    const int64_t row = std::max<int64_t>(256, row_bytes / bytes);
    std::array<int64_t, 3> group{step(extent[0], {4, 8, 16, 64, row}), 1, 1};
    group[axes & 4 ? 2 : 1] = rows_together;
    group[1] = std::max(group[1], std::min<int64_t>(row / group[0], step(extent[1], {1, 4, 16})));
    // Rows of an array's interior start inside a cache line. Alignment peeling then shifts items into one more group; the larger
    // group takes these few items in, where a further group would hold next to none.
    if (group[0] == row && extent[0] % row != 0) group[0] += most_peeled;
    return group;
}

int64_t local_bytes(const ir::Kernel& kernel, const std::array<int64_t, 3>& group) {
    int64_t bytes = 0;
    for (const ir::Memory& memory : kernel.memories)
        if (memory.kind == ir::MemoryKind::local) bytes += interp::local_elements(kernel, memory, group) * memory.element.size;
    return bytes;
}

std::array<int64_t, 3> choose_group(const ir::Kernel& kernel, const std::array<int64_t, 3>& extent, int rank) {
    bool local = false;
    for (const ir::Memory& memory : kernel.memories) local = local || memory.kind == ir::MemoryKind::local;
    std::array<int64_t, 3> group{1, 1, 1};
    // Long groups amortise the cost per group, short groups balance better between threads. Kernels with local memory get the
    // group sizes that are usual on GPUs.
    if (rank == 1) {
        group[0] = local ? step(extent[0], {64, 256}) : extent[0] > long_range ? 1024 : step(extent[0], {64, 256});
    } else if (extent[0] * extent[1] >= long_range && argument_across(kernel) >= 0) {
        group = group_across;
    } else {
        group[0] = step(extent[0], {16, 64, 256});
        group[1] = std::min<int64_t>(256 / group[0], step(extent[1], {1, 4, 16}));
    }
    const auto too_large = [&] {
        try {
            return local_bytes(kernel, group) > max_local_bytes;
        } catch (const Error&) {
            return false;  // the launch reports this error itself
        }
    };
    while (group[0] * group[1] > 1 && local && too_large()) *std::max_element(group.begin(), group.end()) /= 2;
    return group;
}

}  // namespace pumice::cpu
