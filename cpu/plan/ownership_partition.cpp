#include "cpu/plan/ownership_partition.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cpu/plan/index_polynomial.h"

namespace pumice::cpu {

namespace {

constexpr int64_t least_groups = 4;  ///< along an axis, for each thread: slabs of nearly the same size
constexpr int64_t slabs = 2;         ///< along each of two axes, for each thread, so that one that is done helps the others

}  // namespace

int axis_of_owners(const ir::Kernel& k, ir::MemoryId array) {
    for (int axis = 0; axis < k.rank; ++axis)
        for (int d = 0; d < k[array].rank; ++d) {
            std::optional<int64_t> past;
            const bool same = std::all_of(k.insts.begin(), k.insts.end(), [&](const ir::Inst& i) {
                if (i.memory.id != array.id || i.op == ir::Op::extent) return true;
                const auto indices = ir::indices_of(k, i);
                if (int(indices.size()) != k[array].rank) return false;
                const auto here = past_item(k, indices[size_t(d)], axis);
                if (!past) past = here;
                return here && here == past;
            });
            if (same && past) return axis;
        }
    return -1;
}

Shares::Shares(std::vector<int> given, const std::array<int64_t, 3>& of, int threads) : owners(std::move(given)), groups(of) {
    if (threads == 1) return;
    for (const int axis : owners) {
        if (axis < 0 || cut(axis) || groups[size_t(axis)] < least_groups * threads) continue;
        if (axes[0] < 0) axes[0] = axis;
        else if (axes[1] < 0) axes[1] = axis;
    }
    if (axes[0] >= 0) count = axes[1] < 0 ? groups[size_t(axes[0])] : slabs * threads;
}

Shares::Box Shares::share(int64_t phase, int64_t number) const {
    Box box{{}, groups};
    for (const size_t which : {0, 1}) {
        if (axes[which] < 0) continue;
        const size_t axis = size_t(axes[which]);
        const int64_t slab = which == 0 ? number : (number + phase) % count;
        box.begin[axis] = slab * groups[axis] / count, box.end[axis] = (slab + 1) * groups[axis] / count;
    }
    return box;
}

}  // namespace pumice::cpu
