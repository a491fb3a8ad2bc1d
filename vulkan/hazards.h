// Hazard tracking: which commands need a barrier between them, by the byte ranges touched since the last barrier.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/vulkan_rules/byte_set.h"

namespace pumice::vulkan {

/// A command's access to the bytes [begin, end) of a buffer. `write` includes reading and writing. `indirect`: a dispatch reads
/// its numbers of groups there.
struct BufferAccess {
    uint64_t buffer = 0;
    int64_t begin = 0, end = 0;
    bool write = false, indirect = false;
};

/// True if the command reads its numbers of groups.
inline bool is_indirect(std::span<const BufferAccess> accesses) {
    return std::ranges::any_of(accesses, [](const BufferAccess& access) { return access.indirect; });
}

/// True if the two accesses may not run at the same time: they share a byte, and one of them writes.
inline bool conflict(const BufferAccess& a, const BufferAccess& b) {
    return (a.write || b.write) && a.buffer == b.buffer && std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

/// Tracks one in-order stream of commands. A barrier orders all earlier commands before all later ones, so the tracker holds only
/// the accesses after the last barrier. Indirect reads are an exception: only some barriers make writes visible to them.
class Hazards {
public:
    /// True if a barrier must precede a command with these accesses. A command does not conflict with itself. The barrier of an
    /// indirect command (is_indirect) must make writes visible to indirect reads.
    bool needs_barrier(std::span<const BufferAccess> accesses) const;
    /// Adds a command. If the command needed a barrier, record it and call ordered() first.
    void add(std::span<const BufferAccess> accesses);
    /// A barrier was recorded. `indirect`: it makes writes visible to indirect reads, too.
    void ordered(bool indirect);
    /// Forgets everything: the commands that follow belong to another stream.
    void clear();

private:
    pumice_rt::vulkan::ByteSet<std::vector<pumice_rt::vulkan::ByteRange>> read, written;  // since the last barrier
    bool hidden = false;  // something was written before that barrier, and is not visible to indirect reads
};

}  // namespace pumice::vulkan
