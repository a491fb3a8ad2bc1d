// Hazard tracking for automatic barriers: read-after-write, write-after-read and write-after-write, by byte ranges of buffers.
//
//   fill a[0, 64)              written = {a[0, 64)}
//   read a[0, 64), write b     conflict: barrier, sets cleared; then read = {a[0, 64)}, written = {b}
//   read a[32, 64)             two reads: no barrier
#include "runtime/vulkan_context/rt_hazards.h"

namespace pumice_rt::vulkan {

bool Hazards::needs_barrier(const BufferAccess* accesses, uint32_t count, bool indirect) const {
    if (overflown || (indirect && (hidden || !written.empty()))) return true;
    for (uint32_t i = 0; i < count; ++i)
        if (written.meets(accesses[i]) || (accesses[i].write && read.meets(accesses[i]))) return true;
    return false;
}

void Hazards::add(const BufferAccess* accesses, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        if (!(accesses[i].write ? written : read).add(accesses[i])) overflown = true;
}

}  // namespace pumice_rt::vulkan
