// Arrays of the CPU device.
#pragma once
#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/host/backend.h"
#include "cpu/threads/cpu_streams.h"
#include "cpu/runtime/memory_pool.h"

namespace pumice::cpu {

/// Bytes that a device's memory holds. It may outlive the device.
using InUse = std::shared_ptr<std::atomic<int64_t>>;

/// The pool of a device: it keeps a sixteenth of the machine's memory at most, and not more than 256 MiB.
std::shared_ptr<Pool> new_pool();

/// The last uses of some memory, by stream, that may not be done. Most memory is used by few streams; each call takes the same time
/// for any number of them, but all(), which looks at each of what is not done.
class Uses {
public:
    void put(const Point& point);
    /// Adds those that are not done, but the stream's.
    void all(const Stream* except, std::vector<Point>& to);
    /// Adds the stream's, where it is not done.
    void of(const Stream& stream, std::vector<Point>& to) const;

private:
    std::vector<Point> few;                         // empty where there are
    std::unordered_map<const Stream*, Point> many;
    size_t prune_at = 0;                            // so many of `many`
};

/// Host memory, aligned to 64 bytes or more. Large memory is mapped, or comes from the pool and goes back to it. New pages are first
/// touched by what uses them: with several memory banks each lies near the thread whose part it is.
class Memory final : public Allocation, public std::enable_shared_from_this<Memory> {
public:
    /// Throws Error naming the bytes and the device when there is no such memory.
    Memory(InUse in_use, std::shared_ptr<Pool> pool, int64_t bytes, const std::string& device);
    ~Memory() override;
    Memory(const Memory&) = delete;

    /// Whether it is all zeros as it comes.
    bool zero() const { return block.zero; }

    std::byte* data = nullptr;
    Uses reads, writes;  ///< under Streams::mutex

private:
    InUse in_use;
    std::shared_ptr<Pool> pool;
    Pool::Block block;
};

inline Memory& memory_of(Allocation& allocation) { return static_cast<Memory&>(allocation); }

/// Notes that the point's work uses the memory.
void note_use(Memory& memory, const Point& point, bool write);
/// Adds what work that uses the memory waits for: unfinished uses that conflict with it, a write with any. Work on two streams of
/// the user's is ordered by events alone; work on the default stream, and host copies (stream null), with that of every stream.
void conflicts(Memory& memory, const Stream* stream, const Stream& standard, bool write, std::vector<Point>& after);

int64_t physical_memory();

}  // namespace pumice::cpu
