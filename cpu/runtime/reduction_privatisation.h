// Arrays that a kernel only adds to, atomically. Threads that add to one element wait for each other, and an atomic add of a float
// is a loop. So each thread adds to a copy of its own, without atomics, and the copies are added to the array when the launch is
// done; one thread may as well add to the array itself. In which order numbers are added to an element is open in either case.
#pragma once
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/host/backend.h"
#include "cpu/emit/emit_module.h"
#include "cpu/native/frame.h"
#include "cpu/plan/ownership_partition.h"
#include "cpu/runtime/cpu_streams.h"
#include "cpu/runtime/memory_pool.h"

namespace pumice::cpu {

/// The array parameters to which a kernel does nothing but add to and subtract from elements, without asking for old values.
std::vector<ir::MemoryId> only_added_to(const ir::Kernel& kernel);

/// Where a launch adds such arrays up: in copies where these take little memory and are small beside the work. Those that `shares` cover
/// need none.
SumsIn where_to_add(const ir::Kernel& kernel, std::span<const ir::MemoryId> arrays, const Shares& shares, const Launch& launch, int width,
                    int threads);

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
