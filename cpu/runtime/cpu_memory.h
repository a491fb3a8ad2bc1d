// Memory of the CPU device.
#pragma once
#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/host/backend.h"
#include "cpu/runtime/memory_pool.h"
#include "cpu/threads/cpu_streams.h"

namespace pumice::cpu {

/// Bytes allocated on a device. Shared, since allocations may outlive the device.
using InUse = std::shared_ptr<std::atomic<int64_t>>;

/// The pool of a device: keeps at most a sixteenth of the machine's memory, and at most 256 MiB.
std::shared_ptr<MemoryPool> new_pool();

/// The last uses of some memory by each stream, as far as they may be unfinished. Calls take constant time in the number of
/// streams, except all(), which visits each unfinished use.
class UnfinishedUses {
public:
    void put(const StreamPoint& point);
    /// Adds the unfinished uses, except those of the stream.
    void all(const CpuStream* except, std::vector<StreamPoint>& to);
    /// Adds the stream's use if it is unfinished.
    void of(const CpuStream& stream, std::vector<StreamPoint>& to) const;

private:
    std::vector<StreamPoint> few;  // unused once `many` is
    std::unordered_map<const CpuStream*, StreamPoint> many;
    size_t prune_at = 0;  // size of `many` at which finished ones are removed
};

/// Host memory, aligned to at least 64 bytes. Large memory is mapped, or comes from the pool and returns to it. New pages are
/// touched first by the threads that use them, so that on NUMA machines each page is near its thread.
class CpuMemory final : public Allocation, public std::enable_shared_from_this<CpuMemory> {
public:
    /// Throws Error naming the bytes and the device if there is no memory.
    CpuMemory(InUse in_use, std::shared_ptr<MemoryPool> pool, int64_t bytes, const std::string& device);
    ~CpuMemory() override;
    CpuMemory(const CpuMemory&) = delete;

    /// True if new memory is all zeros.
    bool zero() const { return block.zero; }

    std::byte* data = nullptr;
    UnfinishedUses reads, writes;  ///< guarded by Streams::mutex

private:
    InUse in_use;
    std::shared_ptr<MemoryPool> pool;
    MemoryPool::MemoryBlock block;
};

inline CpuMemory& memory_of(Allocation& allocation) { return static_cast<CpuMemory&>(allocation); }

/// A use of memory by a piece of work.
struct MemoryUse {
    CpuMemory* memory = nullptr;
    bool write = false;
};

/// Records that the point's work uses the memory.
void note_use(CpuMemory& memory, const StreamPoint& point, bool write);
/// Adds the points for which work on the memory must wait: unfinished uses that conflict, a write with any use. User streams are
/// ordered among each other by events alone; the default stream and host copies (stream null) are ordered after every stream.
void conflicts(CpuMemory& memory, const CpuStream* stream, const CpuStream& standard, bool write,
               std::vector<StreamPoint>& after);

int64_t physical_memory();

}  // namespace pumice::cpu
