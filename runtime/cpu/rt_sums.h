// Private copies, one a thread, of arrays that a kernel only adds to, and their summation.
//
// The rules are those of cpu/runtime/sum_copies.h: the first share of the work adds to the arrays themselves, further ones to
// zeroed copies, which are added up at the end. `lanes` adjacent places of a copy belong to one element and are added in pairs.
// All shares add to arrays of which items own ranges, as long as these are disjoint (cpu/plan/ownership_partition.h).
// Cost: zeroing and reading each copy once a launch. Limits: elements of 4 or 8 bytes; the order of float additions depends on
// the threads.
// Textbook name: array reduction by privatisation (Allen and Kennedy).
#pragma once
#include "runtime/cpu/rt_frame.h"
#include "runtime/cpu/rt_scratch_blocks.h"
#include "runtime/cpu/rt_thread_pool.h"
#include "runtime/device/rt_device.h"

namespace pumice_rt {

constexpr int most_shares = 256;
constexpr uint32_t most_sums = most_arguments;

/// The copies of one launch: one for each share of the work that has any.
class PrivateSums {
public:
    /// `arguments`: the launch's, which outlive this. `alone`: nothing else uses the arrays meanwhile.
    PrivateSums(const Launch& launch, const NativeRecord& native, const FrameArgument* arguments, bool alone,
                ScratchBlocks& blocks);
    ~PrivateSums();
    PrivateSums(const PrivateSums&) = delete;
    PrivateSums& operator=(const PrivateSums&) = delete;

    /// True if no two items share an element of an array of which they own ranges: no bound is less than the one before. Else one
    /// share has to run all items.
    bool disjoint() const;
    /// Writes the arguments for a share to `own`: summed arrays are its own copies, which are zero at first. False: there is no
    /// memory.
    bool arguments_of(int share, FrameArgument* own);
    /// Bytes of a share's copies.
    size_t copy_bytes() const { return bytes; }
    /// Adds all copies to the arrays.
    void add_up(ThreadPool& pool, int priority);

private:
    struct Part;
    void add_part(int part) const;
    template <class T> void add(uint32_t sum, int64_t first, int64_t count) const;
    bool in_place(int share, uint32_t sum) const { return owned[sum] || (share == 0 && alone && record(sum).lanes == 1); }
    bool never_decrease(const ParameterRecord& of) const;
    const SumRecord& record(uint32_t sum) const { return launch.bundle->sums[native.sums.first + sum]; }

    const Launch& launch;
    const NativeRecord& native;
    const FrameArgument* const arguments;
    const bool alone;
    ScratchBlocks& blocks;
    bool owned[most_sums] = {};  ///< items own ranges of the array
    size_t bytes = 0, offsets[most_sums] = {};
    int64_t elements[most_sums] = {}, most_elements = 0;
    int64_t piece = 0;  ///< elements of a part of add_up
    ScratchBlocks::MemoryBlock copies[most_shares] = {};
};

}  // namespace pumice_rt
