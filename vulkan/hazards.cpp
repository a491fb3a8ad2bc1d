#include "vulkan/hazards.h"

namespace pumice::vulkan {

bool Hazards::needs_barrier(std::span<const Access> accesses) const {
    for (const Access& next : accesses)
        for (const Access& before : touched)
            if (conflict(before, next)) return true;
    return false;
}

void Hazards::add(std::span<const Access> accesses) {
    for (const Access& next : accesses) {
        if (next.begin >= next.end) continue;
        bool merged = false;
        for (Access& before : touched) {
            if (before.buffer != next.buffer || before.begin != next.begin || before.end != next.end) continue;
            before.write |= next.write;
            merged = true;
            break;
        }
        if (!merged) touched.push_back(next);
    }
}

}  // namespace pumice::vulkan
