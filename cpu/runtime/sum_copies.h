// Private copies, one a thread, of arrays that a kernel only adds to, and their summation (legality and choice:
// cpu/plan/reduction_privatisation.h).
//
// Why: threads that add to one array need atomics, which wait for each other. With copies they need plain additions.
//
//     kernel:      atomic_add(a[i], x)
//     thread 0:    a[i] += x               the first thread adds to the array itself, if nothing else uses the array
//     thread 1:    copy1[i] += x           a copy is zeroed when its thread first takes part
//     at the end:  a[i] += copy1[i] + copy2[i] + ...        in parallel over i
//
// With `lanes` each element of a copy has a place a lane, so the kernel needs no horizontal addition; the places are added in
// pairs at the end. If another stream may use the array meanwhile, the totals are added by atomics. Threads that own disjoint
// rows (cpu/plan/ownership_partition.h) all add to the array itself.
// Cost: zeroing and reading each copy once a launch. A gap of 1,088 bytes follows each copy, since a load after a store with the
// same offset in its page stalls. Limits: elements of 4 or 8 bytes; the order of float additions depends on the threads.
// Textbook name: array reduction by privatisation (Allen and Kennedy; OpenMP `reduction`); pairwise summation over the lanes.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/host/backend.h"
#include "cpu/native/frame.h"
#include "cpu/plan/variant.h"
#include "cpu/runtime/memory_pool.h"
#include "cpu/threads/cpu_streams.h"

namespace pumice::cpu {

/// True if nothing else uses a launch's arrays meanwhile: work on the default stream is ordered with that of all streams, but two
/// other streams may add at the same time.
inline bool alone(const Launch& launch) { return launch.stream == 0; }

/// The copies of one launch: one for each thread that runs it, except that the first may add to the arrays themselves.
class SumCopies {
public:
    /// An array of a launch.
    struct SummedArray {
        int64_t elements = 0;  ///< scalars
        bool shared = false;   ///< threads own disjoint elements, and add to the array itself (cpu/plan/ownership_partition.h)
    };
    /// `alone`: nothing else uses the arrays meanwhile. `arguments` are the launch's and must outlive this.
    SumCopies(std::span<const PrivatisedArray> sums, std::span<const FrameArgument> arguments, std::vector<SummedArray> arrays,
              bool alone, std::shared_ptr<MemoryPool> pool);
    ~SumCopies();

    /// Arguments for the calling thread, in which summed arrays are its own copies.
    const FrameArgument* own();
    /// Adds the copies to the arrays, after all threads are done.
    void add_up(const WorkerThreads& workers);

private:
    struct PrivateCopy {
        std::vector<FrameArgument> arguments;
        std::vector<int64_t> offsets;  ///< offset of each sum's copy in the memory; -1: it adds to the array
        MemoryPool::MemoryBlock memory;
        std::thread::id user;
    };
    std::unique_ptr<PrivateCopy> make(bool first) const;
    void add_up(size_t sum, int64_t first, int64_t count) const;

    const std::span<const PrivatisedArray> sums;
    const std::span<const FrameArgument> arguments;
    const std::vector<SummedArray> arrays;  ///< for each sum
    const bool alone;
    const std::shared_ptr<MemoryPool> pool;
    std::mutex mutex;
    int users = 0;  ///< threads that have a copy, or are making one
    std::vector<std::unique_ptr<PrivateCopy>> copies;
    const uint64_t number;  ///< unique to the launch
};

}  // namespace pumice::cpu
