// Private copies, one a thread, of arrays that a kernel only adds to (cpu/plan/reduction_privatisation.h), and their summation.
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
    struct Array {
        int64_t elements = 0;
        bool shared = false;  ///< threads own disjoint elements, and add to the array itself (cpu/plan/ownership_partition.h)
    };
    /// `alone`: nothing else uses the arrays meanwhile. `arguments` are the launch's and must outlive this.
    SumCopies(std::span<const PrivatisedArray> sums, std::span<const FrameArgument> arguments, std::vector<Array> arrays,
              bool alone, std::shared_ptr<Pool> pool);
    ~SumCopies();

    /// Arguments for the calling thread, in which summed arrays are its own copies.
    const FrameArgument* own();
    /// Adds the copies to the arrays, after all threads are done.
    void add_up(const WorkerThreads& workers);

private:
    struct Copy {
        std::vector<FrameArgument> arguments;
        std::vector<int64_t> offsets;  ///< offset of each sum's copy in the memory; -1: it adds to the array
        Pool::Block memory;
        std::thread::id user;
    };
    std::unique_ptr<Copy> make(bool first) const;
    void add_up(size_t sum, int64_t first, int64_t count) const;

    const std::span<const PrivatisedArray> sums;
    const std::span<const FrameArgument> arguments;
    const std::vector<Array> arrays;  ///< for each sum
    const bool alone;
    const std::shared_ptr<Pool> pool;
    std::mutex mutex;
    int users = 0;  ///< threads that have a copy, or are making one
    std::vector<std::unique_ptr<Copy>> copies;
    const uint64_t number;  ///< unique to the launch
};

}  // namespace pumice::cpu
