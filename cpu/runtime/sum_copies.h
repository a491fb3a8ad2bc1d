// The copies of arrays that a kernel only adds to (cpu/plan/reduction_privatisation.h), one a thread, and their sums.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/host/backend.h"
#include "cpu/native/frame.h"
#include "cpu/plan/variant.h"
#include "cpu/threads/cpu_streams.h"
#include "cpu/runtime/memory_pool.h"

namespace pumice::cpu {

/// Whether nothing else uses a launch's arrays meanwhile: other streams' work is ordered before and after that of the default stream; two
/// others may add at the same time.
inline bool alone(const Launch& launch) { return launch.stream == 0; }

/// The copies of one launch: one of each thread that runs it, but for the first where it adds to the arrays themselves.
class SumCopies {
public:
    /// An array of a launch.
    struct Array {
        int64_t elements = 0;
        bool shared = false;  ///< threads add to elements of their own, and so to the array itself (cpu/plan/ownership_partition.h)
    };
    /// `alone`: nothing else uses the arrays meanwhile. `arguments` are the launch's and outlive this.
    SumCopies(std::span<const ArraySum> sums, std::span<const FrameArgument> arguments, std::vector<Array> arrays, bool alone,
              std::shared_ptr<Pool> pool);
    ~SumCopies();

    /// Arguments whose summed arrays are copies that no other thread adds to.
    const FrameArgument* own();
    /// Adds the copies to the arrays, when all threads are done.
    void add_up(const Crew& crew);

private:
    struct Copy {
        std::vector<FrameArgument> arguments;
        std::vector<int64_t> offsets;  ///< bytes into the memory, of each sum; -1: it is added to the array
        Pool::Block memory;
        std::thread::id user;
    };
    std::unique_ptr<Copy> make(bool first) const;
    void add_up(size_t sum, int64_t first, int64_t count) const;

    const std::span<const ArraySum> sums;
    const std::span<const FrameArgument> arguments;
    const std::vector<Array> arrays;  ///< of each sum
    const bool alone;
    const std::shared_ptr<Pool> pool;
    std::mutex mutex;
    int users = 0;  ///< who have a copy, or are making one
    std::vector<std::unique_ptr<Copy>> copies;
    const uint64_t number;  ///< no other launch's
};

}  // namespace pumice::cpu
