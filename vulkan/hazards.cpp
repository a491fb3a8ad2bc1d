// Hazard tracking for automatic barriers: read-after-write, write-after-read and write-after-write, by byte ranges of buffers.
//
// Two sets of byte ranges hold what commands have read and written since the last barrier. A command needs a barrier if it
// touches a byte that was written, or writes a byte that was read.
//
//   fill a[0, 64)              written = {a[0, 64)}
//   read a[0, 64), write b     conflict: barrier, sets cleared; then read = {a[0, 64)}, written = {b}
//   read a[32, 64)             two reads: no barrier
//
// Why: one global barrier orders all earlier commands before all later ones, so a barrier clears the tracker; commands that do
// not conflict overlap on the device. Ranges are sorted and merged, so adjacent arrays are one range. Only the barriers of
// indirect commands cover indirect reads, since these double a barrier's time: 2.4 and 4.9 us on an NVIDIA H100 (driver 580).
// Cost: a query is a binary search; an insertion may move the ranges after it. Limits: ranges are contiguous, so accesses with
// strides count as their whole extent; an indirect read conflicts with every write since the last barrier that covers it; one
// in-order queue.
#include "vulkan/hazards.h"

namespace pumice::vulkan {

bool Hazards::needs_barrier(std::span<const BufferAccess> accesses) const {
    for (const BufferAccess& next : accesses)
        if (written.meets(next) || (next.write && read.meets(next)) || (next.indirect && hidden)) return true;
    return false;
}

void Hazards::add(std::span<const BufferAccess> accesses) {
    for (const BufferAccess& next : accesses) (next.write ? written : read).add(next);
}

void Hazards::ordered(bool indirect) {
    hidden = !indirect && (hidden || !written.empty());
    read.clear(), written.clear();
}

void Hazards::clear() { ordered(true); }

}  // namespace pumice::vulkan
