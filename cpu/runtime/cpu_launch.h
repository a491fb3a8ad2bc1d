// The kinds of work on streams of the CPU device.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/host/traced_work.h"
#include "cpu/runtime/cpu_memory.h"
#include "cpu/runtime/cpu_program.h"
#include "cpu/runtime/sum_copies.h"
#include "cpu/threads/cpu_streams.h"

namespace pumice::cpu {

/// Bytes that one thread copies or fills in a nanosecond, roughly.
inline constexpr double bytes_per_ns = 8;
/// Fewest bytes that are worth another thread.
inline constexpr int64_t bytes_piece = 256 << 10;

/// The description of the work that the calling thread gives the device, for PUMICE_TRACE; else null.
inline std::shared_ptr<const detail::TracedWork> take_traced() { return trace::on() ? detail::TracedScope::take() : nullptr; }
/// Writes an event as long as it lives, if the work is described.
class TracedRun {
public:
    explicit TracedRun(const std::shared_ptr<const detail::TracedWork>& work) : work(work), begin(work ? trace::ticks() : 0) {}
    ~TracedRun() {
        if (work) trace::event(work, begin, trace::ticks());
    }
    TracedRun(const TracedRun&) = delete;

private:
    const std::shared_ptr<const detail::TracedWork>& work;
    const int64_t begin;
};

/// A launch of a kernel.
class LaunchWork final : public Work {
public:
    /// `across`: the argument whose rows the kernel walks along axis 1 of the range, or -1.
    LaunchWork(std::shared_ptr<Native> native, const Launch& launch, int across, const OwnershipPartition& partition,
               const std::shared_ptr<MemoryPool>& pool);
    LaunchWork(LaunchWork&& other);
    /// For a launch that comes again (Launch::number): takes its scalars. False if one of its arrays lies elsewhere.
    bool bind(const Launch& again);
    bool can_be_copied() const { return !sums; }
    /// The same work, without memory held.
    std::unique_ptr<LaunchWork> copy() const;
    /// Makes the kernel report into this ring, under this launch number.
    void report(uint32_t* ring, uint32_t number);
    void run(const WorkerThreads& workers) override;
    std::unique_ptr<Work> with(const Work& next, int threads) const override;
    double cost() const override { return double(groups) * double(native->group_ns.load(std::memory_order_relaxed)); }

    /// The groups as rows along the slowest axis of the range.
    struct Rows {
        int64_t start = 0;  ///< index of the first item along the axis
        int64_t items = 1;  ///< items of a row along the axis
        int64_t early = 0;  ///< number of items by which a row may begin and end early
        int64_t count = 1;
    };
    Rows rows() const;
    /// A thread's own frame, with scratch() bytes at `memory`.
    Frame frame_with(std::byte* memory) const;
    int64_t scratch() const { return native->scratch_bytes; }
    void run_rows(const Frame& own, int64_t first, int64_t count) const;
    double row_ns() const { return cost() / double(frame.count[slowest]); }
    /// Records that a row took `times` times as long as row_ns().
    void note_pace(double times) const;

private:
    LaunchWork(const LaunchWork& other) = default;
    bool in_rows() const;
    bool worth_sharing() const;
    std::vector<RowsTouched> touched() const;
    void run_all(const WorkerThreads& workers);
    bool owns(const OwnedRanges& ranges) const;
    void run_alone();
    void run_groups(int64_t first, int64_t count, bool is_timed = true) const;
    template <class Some> void run_some(const Some& some, bool is_timed = true) const;
    int64_t run_part(Frame& own, int64_t wavefront, int64_t number) const;
    void note_group(float ns) const;
    int64_t run_patch(Frame& own, int64_t number) const;

    std::shared_ptr<Native> native;
    std::shared_ptr<SumCopies> sums;  ///< if the kernel has sums; of this launch alone
    OwnershipPartition partition;
    std::vector<OwnedRanges> ranges;  ///< of the sums that items own by ranges, if these are disjoint
    std::vector<FrameArgument> arguments;
    std::vector<std::array<int64_t, ir::max_rank>> extents;  ///< of the arguments, which point into this
    Frame frame;
    int64_t groups = 1, units = 1;          ///< a unit is a group, or a patch of them
    int64_t patch[2] = {0, 0}, across = 1;  ///< groups of a patch along axes 0 and 1 (0: no patches); patches along axis 0
    size_t slowest = 0;                     ///< axis of the range
    int64_t row_items = 1;                  ///< items of a group along that axis
    uint8_t untimed = 0;                    ///< so many of the next times are not measured
    int64_t begin = 0, down = 1;            ///< along axis 1: patch n begins at `begin` + n * patch[1]; number of patches

public:
    std::vector<std::shared_ptr<CpuMemory>> held;                      ///< kept until the work is done
    std::shared_ptr<const detail::TracedWork> traced = take_traced();  ///< with PUMICE_TRACE
};

/// Memoisation of a launch by Launch::number: its work, but for the scalars, and its uses of memory. Its variant of the code and
/// its group size are those of the first launch.
struct MemoisedLaunch {
    LaunchWork work;
    std::vector<MemoryUse> uses;
};

/// A launch that is made when its turn comes: then its code has been compiled, and the extents of an indirect launch are known.
class DeferredLaunch final : public Work {
public:
    /// Makes the launch; none if its range is empty.
    using Make = std::function<std::optional<LaunchWork>()>;
    /// `ns`: the estimated time.
    DeferredLaunch(double ns, Make make) : ns(ns), make(std::move(make)) {}
    void report(uint32_t* to, uint32_t launch_number) { ring = to, number = launch_number; }
    void run(const WorkerThreads& workers) override;
    double cost() const override { return ns; }

private:
    double ns;
    Make make;
    uint32_t* ring = nullptr;
    uint32_t number = 0;

public:
    std::vector<std::shared_ptr<CpuMemory>> held;                      ///< kept until the work is done
    std::shared_ptr<const detail::TracedWork> traced = take_traced();  ///< with PUMICE_TRACE
};

/// A description of the launch with the extents that an indirect launch finds in memory; none if its range is empty.
std::optional<Launch> with_counts(const Launch& launch);

/// Fills `bytes` of memory with a repeated pattern.
struct FillWork final : Work {
    std::shared_ptr<CpuMemory> to;
    int64_t offset = 0, bytes = 0, pattern_size = 1;
    std::array<std::byte, 64> pattern{};
    std::shared_ptr<const detail::TracedWork> traced = take_traced();
    void run(const WorkerThreads& workers) override;
    double cost() const override { return double(bytes) / bytes_per_ns; }
};

/// Copies bytes; within one allocation the two may overlap.
struct CopyWork final : Work {
    std::shared_ptr<CpuMemory> held[2];
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    int64_t bytes = 0;
    std::shared_ptr<const detail::TracedWork> traced = take_traced();
    void run(const WorkerThreads& workers) override;
    double cost() const override { return double(bytes) / bytes_per_ns; }
};

/// A call of the user's function.
struct CallWork final : Work {
    std::function<void()> act;
    void run(const WorkerThreads&) override;
    /// True if the calling thread runs such a function, which may not wait for later work.
    static bool inside();
    double cost() const override { return 1e6; }  // unknown; high, so that the submitting thread never runs it
};

/// The calling thread's scratch memory, at least this large, aligned to 64 bytes.
std::byte* thread_scratch(int64_t bytes);
/// A steady clock, in nanoseconds.
double now_ns();

}  // namespace pumice::cpu
