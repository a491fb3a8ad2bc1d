#include "cpu/group.h"

#include <algorithm>

#include "core/error.h"
#include "core/interp_program.h"

namespace pumice::cpu {
namespace {

/// The first of these steps that holds the extent, or the last.
int64_t step(int64_t extent, std::initializer_list<int64_t> steps) {
    for (const int64_t s : steps)
        if (extent <= s) return s;
    return *(steps.end() - 1);
}

}  // namespace

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
    // Longer groups cost less each, shorter ones leave work for more threads. What meets in local memory gets what GPUs give it.
    if (rank == 1) {
        group[0] = local ? step(extent[0], {64, 256}) : extent[0] > 65536 ? 1024 : step(extent[0], {64, 256});
    } else {
        group[0] = step(extent[0], {16, 64, 256});
        group[1] = std::min<int64_t>(256 / group[0], step(extent[1], {1, 4, 16}));
    }
    const auto too_large = [&] {
        try {
            return local_bytes(kernel, group) > max_local_bytes;
        } catch (const Error&) {
            return false;  // the launch says it
        }
    };
    while (group[0] * group[1] > 1 && local && too_large()) *std::max_element(group.begin(), group.end()) /= 2;
    return group;
}

}  // namespace pumice::cpu
