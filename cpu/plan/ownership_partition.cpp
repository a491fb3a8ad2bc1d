// Ownership partition (owner computes): threads take strips of the range in which they own the rows of the reduction targets.
//
// Why: an array that a kernel only adds to needs atomics or a private copy for each thread, unless no two threads add to the
// same element. Where every access uses the item's index along one axis, cutting the range along this axis gives each thread
// its own rows:
//
//     kernel:   atomic_add(c(i, k), x)      dimension 0 of c is the item's index i: rows are owned along that axis
//     1 axis:   strip n: all groups with i in strip n; threads add to c itself
//     2 axes:   a block = strip of i x strip of k; block (n, (n + w) mod count) in wavefront w
//
// With two arrays that are owned along different axes (the adjoint of a matrix product has these), the blocks of a diagonal
// share neither rows nor columns. The diagonals run one after the other: a wavefront schedule with a barrier between wavefronts.
//
// Items own ranges instead of rows where the index counts a loop between adjacent elements of an array that is only read, as in
// the rows of a sparse matrix (CSR) or the edges of a graph:
//
//     kernel:   $for(e, range(starts[i], starts[i + 1])) { atomic_add(d[e], x); }
//     launch:   if starts does not decrease, no two items share an element of d, so that any thread may run any item
//
// The launch looks at the bounds when its turn has come; if they do decrease, one thread runs all items.
// Cost: one scan of the accesses; wavefronts() - 1 extra synchronisations; one pass over the bounds of ranges. Limits: at least 4
// groups a thread along the axis; not with one thread; an index must be global index + constant, the same in all accesses; a
// third owned axis gets copies; ranges only in one-dimensional kernels, between bounds of 32 bits.
// Textbook: owner-computes rule (High Performance Fortran); wavefront scheduling (Lamport 1974, hyperplane method).
#include "cpu/plan/ownership_partition.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/analysis/loop_info.h"
#include "core/ir/structure.h"
#include "cpu/plan/index_polynomial.h"

namespace pumice::cpu {

namespace {

constexpr int64_t least_groups = 4;  ///< per thread along an axis, so that strips have nearly the same size
constexpr int64_t strips = 2;        ///< per thread along each of two axes, for load balance

}  // namespace

namespace {

/// The value of `of` for the index along dimension `d`, if it is the same for every access to the array; else empty.
template <class Of> auto same_for_accesses(const ir::Kernel& k, ir::MemoryId array, int d, const Of& of) {
    decltype(of(ir::Value())) all;
    const bool same = std::ranges::all_of(k.insts, [&](const ir::Inst& i) {
        if (i.memory.id != array.id || i.op == ir::Op::extent) return true;
        const auto indices = ir::indices_of(k, i);
        if (int(indices.size()) != k[array].rank) return false;
        const auto here = of(indices[size_t(d)]);
        if (!all) all = here;
        return here && here == all;
    });
    return same ? all : std::nullopt;
}

}  // namespace

int axis_of_owners(const ir::Kernel& k, ir::MemoryId array) {
    for (int axis = 0; axis < k.rank; ++axis)
        for (int d = 0; d < k[array].rank; ++d)
            if (same_for_accesses(k, array, d, [&](ir::Value index) { return offset_from_item(k, index, axis); })) return axis;
    return -1;
}

namespace {

/// The ranges, if the index counts a `for` upwards between two adjacent bounds.
std::optional<OwnedRanges> counts_range(const ir::Kernel& k, const ir::Structure& where, ir::Value index) {
    const ir::InstId loop = k[index].inst.id == ir::none ? where.owner_of(k[index].block) : ir::InstId();
    if (loop.id == ir::none || ir::unit_step(k, k[loop]) != 1 || k[k[loop].blocks[0]].params[0] != index) return std::nullopt;
    OwnedRanges range;
    for (const size_t end : {0, 1}) {
        const ir::InstId source = k[k.operands(k[loop])[end]].inst;
        if (source.id == ir::none || k[source].op != ir::Op::load) return std::nullopt;
        const ir::Memory& bounds = k[k[source].memory];
        if (bounds.kind != ir::MemoryKind::array || bounds.access != ir::Access::in || bounds.rank != 1 ||
            bounds.element.leaves.size() != 1 || bounds.element.leaves[0].type != Scalar::i32)
            return std::nullopt;
        const auto offset = offset_from_item(k, ir::indices_of(k, k[source])[0], 0);
        if (!offset) return std::nullopt;
        const OwnedRanges found{bounds.argument, *offset - int64_t(end)};
        if (end == 1 && found != range) return std::nullopt;
        range = found;
    }
    return range;
}

}  // namespace

std::optional<OwnedRanges> owned_ranges(const ir::Kernel& k, ir::MemoryId array) {
    // With whole groups, items past the range run, too, whose bounds the launch does not look at.
    if (k.rank != 1 || k.whole_groups) return std::nullopt;
    const ir::Structure where(k);
    for (int d = 0; d < k[array].rank; ++d)
        if (const auto all = same_for_accesses(k, array, d, [&](ir::Value index) { return counts_range(k, where, index); }))
            return all;
    return std::nullopt;
}

bool never_decrease(std::span<const int32_t> bounds) {
    bool sorted = true;  // without an early exit, so that it is vectorised
    for (size_t n = 1; n < bounds.size(); ++n) sorted &= bounds[n - 1] <= bounds[n];
    return sorted;
}

OwnershipPartition::OwnershipPartition(std::vector<int> given, std::vector<OwnedRanges> of_items,
                                       const std::array<int64_t, 3>& of, int threads)
    : owners(std::move(given)), ranges(std::move(of_items)), groups(of) {
    if (threads == 1) return;
    for (const int axis : owners) {
        if (axis < 0 || cut(axis) || groups[size_t(axis)] < least_groups * threads) continue;
        if (axes[0] < 0)
            axes[0] = axis;
        else if (axes[1] < 0)
            axes[1] = axis;
    }
    if (axes[0] >= 0) count = axes[1] < 0 ? groups[size_t(axes[0])] : strips * threads;
}

OwnershipPartition::GroupRange OwnershipPartition::part(int64_t wavefront, int64_t number) const {
    GroupRange range{{}, groups};
    for (const size_t which : {0, 1}) {
        if (axes[which] < 0) continue;
        const size_t axis = size_t(axes[which]);
        const int64_t strip = which == 0 ? number : (number + wavefront) % count;
        range.begin[axis] = strip * groups[axis] / count, range.end[axis] = (strip + 1) * groups[axis] / count;
    }
    return range;
}

}  // namespace pumice::cpu
