// Dependence distance between two consecutive launches, measured in rows (the slowest dimension).
//
// Why: a consumer that runs a few rows behind its producer reads from the caches. The fusion (cpu/runtime/launch_fusion.cpp)
// needs to know how many rows.
//
//     launch 1:  y(i, j) = x(i, j)              writes row i of y:           first = 0,  last = 0
//     launch 2:  z(i, j) = y(i-1, j) + y(i+2, j)  reads rows i-1 to i+2 of y:  first = -1, last = 2
//     distance:  first = -1 - 0, last = 2 - 0: item i of launch 2 needs rows i-1 to i+2 of launch 1
//
// True, anti and output dependences count alike: a pair of accesses counts if one of them writes. Arrays that both launches only
// read give distance 0. Cost: one scan of each kernel, then pairs of arguments. Limits: a row index must be the global index of
// the slowest axis plus a constant; arrays that overlap must be the same range of memory with the same number of rows.
// Textbook: dependence distance vectors (Allen and Kennedy, "Optimizing Compilers for Modern Architectures").
#include "cpu/plan/dependence_distance.h"

#include <algorithm>

#include "cpu/plan/index_polynomial.h"

namespace pumice::cpu {

std::vector<RowAccess> row_accesses(const ir::Kernel& k) {
    std::vector<RowAccess> all(k.params.size());
    for (const ir::Inst& i : k.insts) {
        if (i.memory.id == ir::none || i.op == ir::Op::extent || k[i.memory].kind != ir::MemoryKind::array) continue;
        const ir::Memory& memory = k[i.memory];
        RowAccess& access = all[size_t(memory.argument)];
        access.touches = true;
        access.writes = access.writes || i.op != ir::Op::load;
        access.rank = memory.rank;
        access.element_bytes = memory.element.size;
        const auto indices = ir::indices_of(k, i);
        const auto row = int(indices.size()) == memory.rank ? offset_from_item(k, indices[0], k.rank - 1) : std::nullopt;
        if (row)
            access.first = std::min(access.first, *row), access.last = std::max(access.last, *row);
        else
            access.known = false;
    }
    return all;
}

std::optional<DependenceDistance> distance_between(std::span<const RowsTouched> before, std::span<const RowsTouched> after) {
    DependenceDistance distance{INT64_MAX, INT64_MIN};
    bool together = false;
    for (const RowsTouched& a : before) distance.bytes += a.bytes;
    for (const RowsTouched& b : after) {
        bool again = false;
        for (const RowsTouched& a : before) {
            if (a.begin + uint64_t(a.bytes) <= b.begin || b.begin + uint64_t(b.bytes) <= a.begin) continue;
            again = true;
            if (!a.access.writes && !b.access.writes) continue;
            if (!a.access.known || !b.access.known || a.begin != b.begin || a.bytes != b.bytes || a.rows != b.rows)
                return std::nullopt;
            distance.first = std::min(distance.first, b.access.first - a.access.last);
            distance.last = std::max(distance.last, b.access.last - a.access.first);
        }
        if (!again) distance.bytes += b.bytes;
        together = together || again;
    }
    if (!together) return std::nullopt;
    // Both only read: run both at the same position at about the same time.
    if (distance.first > distance.last) distance.first = distance.last = 0;
    return distance;
}

}  // namespace pumice::cpu
