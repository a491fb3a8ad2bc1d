// Kernels compiled for this machine: a variant for each group size and kind of range, compiled for the first launch that needs
// it, or taken from the disk cache.
#pragma once
#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>

#include "core/host/backend.h"
#include "core/host/reports.h"
#include "core/support/disk_cache.h"
#include "core/support/recent_table.h"
#include "cpu/emit/emit_module.h"
#include "cpu/native/frame.h"
#include "cpu/native/llvm.h"
#include "cpu/plan/dependence_distance.h"
#include "cpu/plan/reduction_privatisation.h"
#include "cpu/threads/background_tasks.h"

namespace pumice::cpu {

/// Native code for one variant of a kernel.
struct Native {
    std::shared_ptr<Code> code;
    std::shared_ptr<void> registration;  ///< of the code with debuggers; null without PUMICE_DEBUG=source
    Entry* entry = nullptr;
    int64_t scratch_bytes = 0;
    std::vector<PrivatisedArray> sums;  ///< arrays of which each thread gets a private copy
    bool streaming = false;             ///< it may have non-temporal stores, after which a thread needs a fence
    bool clears = false;                ///< it only stores, and loads nothing
    bool peeled = false;                ///< groups may begin up to most_peeled items early
    std::vector<RowAccess> accesses;    ///< for each parameter of the kernel
    /// Nanoseconds of one thread for a group, first estimated and then measured.
    std::atomic<float> group_ns = 0;
    std::atomic<bool> measured = false;
};

/// The compiler and its options, shared by all kernels of a device.
class Compiler {
public:
    /// `width`: items a packet, 0 for the machine's own; `machine`: this one, or one with fewer instructions. Begins to load and
    /// warm up LLVM on another thread.
    Compiler(int width, const Machine& machine);
    ~Compiler();

    /// A compilation that has begun: its code from the disk cache, or what is left to do, which any thread may.
    struct Begun {
        std::shared_ptr<Native> native;
        std::function<std::shared_ptr<Native>()> rest;  ///< without `native`; throws only for a defect of the library
    };
    /// Looks in the cache, else makes LLVM's text. Throws Error if the kernel cannot be compiled. `kernel` outlives the rest.
    Begun begin(const ir::Kernel& kernel, const Variant& variant);
    /// True if launches need not wait for compilation: not for dumps and debuggers, which want one kernel after the other.
    bool in_background() const;

    Machine machine;
    Target target;
    bool for_debuggers = false;  ///< PUMICE_DEBUG=source: not optimised, with debug information, not in the disk cache

private:
    struct Unloaded;  ///< contents of a disk cache entry
    std::string key(const ir::Kernel& kernel, const Variant& variant) const;
    Emitted emit(const ir::Kernel& kernel, const Variant& variant) const;
    Unloaded make(const std::string& name, const Emitted& emitted) const;
    std::shared_ptr<Native> load(const Unloaded& unloaded, std::string& reason);

    void* sleef = nullptr;
    const DiskCache cache;
    std::shared_future<std::shared_ptr<Loader>> loader;

public:
    BackgroundTasks compilations;  ///< the last member: the tasks use the others
};

/// The kernel with its calls inlined, and group operations by local memory, as far as the rules ask for it. The program's
/// analyses look for barriers, and without the rule for accesses to local memory.
std::shared_ptr<const ir::Kernel> without_group_operations(std::shared_ptr<const ir::Kernel> kernel, const Rules& rules);
/// The time of a group in nanoseconds, from the number of its instructions.
float estimated_group_ns(const ir::Kernel& kernel, const Variant& variant, int width);

struct MemoisedLaunch;

class CpuProgram final : public Executable {
public:
    CpuProgram(std::shared_ptr<Compiler> compiler, std::shared_ptr<const ir::Kernel> kernel);
    ~CpuProgram() override;

    /// Code that is there, or that a thread is making.
    struct Code {
        std::shared_ptr<Native> native;                     ///< null if it is not there yet
        std::shared_future<std::shared_ptr<Native>> later;  ///< valid without `native`
    };
    /// The variant for a launch, which is compiled once, also if several threads ask. `threads`: how many may run the launch.
    /// `background`: another thread calls LLVM; else whoever calls get() first. Throws Error if the kernel cannot be compiled.
    Code code(const Launch& launch, int threads, bool background);
    /// The same, when the code is there.
    std::shared_ptr<Native> variant(const Launch& launch, int threads);

    /// Adapts the launch to the compiled kernel: swaps its axes if the kernel's are, and replaces the group size by a better one
    /// for the caches if items cannot tell. `followed`: see detail::NextLaunchHint.
    Launch arranged(const Launch& asked, int threads, bool followed);

    /// The partition of a launch among threads if some of its arrays are added to by owners.
    OwnershipPartition partition(const Launch& launch, int threads) const;

    const bool swapped;  ///< axes 1 and 2 of the range are swapped, so that rows of an array are along axis 1
    const std::shared_ptr<const ir::Kernel> kernel;
    const bool reports = pumice::reports(*kernel);  ///< it has print or require
    const std::vector<ir::MemoryId> added_to = only_added_to(*kernel);
    const bool added_on_data = adds_on_data(*kernel, added_to);
    const bool movable;         ///< items do not depend on groups, which may begin anywhere
    const uint32_t stencil;     ///< of a movable kernel: axes_of_stencils()
    const int across;           ///< the argument whose rows are along axis 1 of the range, or -1
    const int64_t jammed_rows;  ///< rows that are worth running together, if groups may have several; else 1
    const bool synchronises;    ///< it has barriers
    const bool asks_range;      ///< the code depends on the end of the range
    /// For each argument that is added to, owned_ranges; empty if there are none.
    const std::vector<OwnedRanges> ranges;
    /// Launches by Launch::number (cpu_launch.h). Guarded by Streams::mutex.
    RecentTable<std::shared_ptr<MemoisedLaunch>> memoised;

private:
    const std::vector<int> owners;  ///< for each argument that is added to, axis_of_owners; else -1; empty if all are -1
    std::array<int64_t, 3> group_of(const Launch& launch, int threads, bool followed) const;
    std::array<int64_t, 3> compiled_group(const Launch& launch, int threads);
    Variant variant_of(const Launch& launch, int threads) const;
    Compiler::Begun begin(const Variant& wanted) const;
    struct CompiledVariant {
        Variant variant;
        Code code;
    };
    const std::shared_ptr<Compiler> compiler;
    std::mutex mutex;
    std::vector<CompiledVariant> made;
};

}  // namespace pumice::cpu
