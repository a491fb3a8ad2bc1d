// Hazard tracking: which commands need a barrier between them, by the byte ranges touched since the last barrier.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace pumice::vulkan {

/// A command's access to the bytes [begin, end) of a buffer. `write` includes reading and writing.
struct BufferAccess {
    uint64_t buffer = 0;
    int64_t begin = 0, end = 0;
    bool write = false;
};

/// True if the two accesses may not run at the same time: they share a byte, and one of them writes.
inline bool conflict(const BufferAccess& a, const BufferAccess& b) {
    return (a.write || b.write) && a.buffer == b.buffer && std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

/// A set of bytes of buffers, as sorted ranges that neither overlap nor touch. A query takes logarithmic time; adjacent arrays
/// are one range.
class Bytes {
public:
    /// True if the set contains a byte of the access.
    bool meets(const BufferAccess& access) const;
    void add(const BufferAccess& access);
    void clear() { ranges.clear(); }

private:
    struct Range {
        uint64_t buffer;
        int64_t begin, end;
    };
    std::vector<Range> ranges;
};

/// Tracks one in-order stream of commands. A barrier orders all earlier commands before all later ones, so the tracker holds only
/// the accesses after the last barrier.
class Hazards {
public:
    /// True if a barrier must precede a command with these accesses. A command does not conflict with itself.
    bool needs_barrier(std::span<const BufferAccess> accesses) const;
    /// Adds a command. If the command needed a barrier, record it and call clear() first.
    void add(std::span<const BufferAccess> accesses);
    /// A barrier was recorded.
    void clear() { read.clear(), written.clear(); }

private:
    Bytes read, written;  // since the last barrier
};

}  // namespace pumice::vulkan
