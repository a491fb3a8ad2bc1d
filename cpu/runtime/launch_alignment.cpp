#include "cpu/runtime/launch_alignment.h"

#include "cpu/plan/alignment_peeling.h"
#include "cpu/plan/index_polynomial.h"
#include "cpu/runtime/cpu_memory.h"

namespace pumice::cpu {
namespace {

using namespace ir;

constexpr int64_t line_bytes = 64;
/// In items. A peeled row has one more packet, under a mask. Rows below least_row, and ranges of less than least_items, lose more
/// by it than aligned stores gain. From long_row on it costs nothing. Between the two, peeling pays for streaming stores, and for
/// kernels without loops that have at most most_loads loads a store.
constexpr int64_t least_row = 128, least_items = 16384, long_row = 4096;
constexpr int64_t most_loads = 2;  ///< loads for each store, above which stores do not matter

/// True if some row that the kernel stores (or loads, if it stores none) may not begin at a cache line, from its indices and the
/// launch's arrays. Unknown cases count as true.
bool begins_within_lines(const Kernel& k, const Launch& launch) {
    for (const Op op : {Op::store, Op::load})
        for (const Inst& i : k.insts) {
            if (i.op != op || k[i.memory].kind != MemoryKind::array || k[i.memory].element.leaves.size() > 1) continue;
            const Launch::Array& array = launch.arguments[size_t(k[i.memory].argument)].array;
            const auto past = offset_from_item(k, indices_of(k, i).back(), 0);
            if (!past || !array.memory) return true;
            const int64_t size = k[i.memory].element.size, rows = launch.extent[1] * launch.extent[2];
            const auto address = int64_t(reinterpret_cast<uintptr_t>(memory_of(*array.memory).data)) + array.offset;
            return (address + (launch.start[0] + *past) * size) % line_bytes != 0 ||
                   (rows > 1 && array.extents[0] * size % line_bytes != 0);
        }
    return false;
}

}  // namespace

bool worth_peeling(const ir::Kernel& k, const Launch& launch, bool streaming) {
    if (launch.extent[0] < least_row || launch.extent[0] * launch.extent[1] * launch.extent[2] < least_items) return false;
    // Loads of both neighbours of an item cross lines in any case.
    return (streaming || launch.extent[0] >= long_row || mostly_stores(k, most_loads)) && begins_within_lines(k, launch);
}

}  // namespace pumice::cpu
