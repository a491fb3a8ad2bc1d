// Hazard tracking: which commands need a barrier between them, by the byte ranges touched since the last barrier.
#pragma once
#include "runtime/support/hook_memory.h"
#include "runtime/vulkan_rules/byte_set.h"

namespace pumice_rt::vulkan {

/// A command's access to the bytes [begin, end) of a buffer. `write` includes reading and writing.
struct BufferAccess {
    uint64_t buffer;
    int64_t begin, end;
    bool write;
};

/// Tracks one in-order stream of commands. A barrier orders all earlier commands before all later ones, so the tracker holds only
/// the accesses after the last barrier. Indirect reads are an exception: only some barriers make writes visible to them.
class Hazards {
public:
    explicit Hazards(const pumice_hooks& hooks) : read(hooks), written(hooks) {}
    /// True if a barrier must precede a command with these accesses. A command does not conflict with itself. `indirect`: a
    /// dispatch reads its numbers of groups.
    bool needs_barrier(const BufferAccess* accesses, uint32_t count, bool indirect) const;
    /// Adds a command. If the command needed a barrier, record it and call ordered() first.
    void add(const BufferAccess* accesses, uint32_t count);
    /// A barrier was recorded. `indirect`: it makes writes visible to indirect reads, too.
    void ordered(bool indirect) {
        hidden = !indirect && (hidden || overflown || !written.empty());
        read.clear(), written.clear(), overflown = false;
    }

private:
    ByteSet<List<ByteRange>> read, written;  // since the last barrier
    bool overflown = false;                  // accesses are missing for lack of host memory: every command needs a barrier
    bool hidden = false;                     // something was written before that barrier, and is not visible to indirect reads
};

}  // namespace pumice_rt::vulkan
