// Kernels compiled for this machine: a variant a group size and kind of range, made when the first launch wants it, or taken from
// the disk cache.
#pragma once
#include <array>
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>

#include "core/host/backend.h"
#include "core/host/disk_cache.h"
#include "core/host/reports.h"
#include "cpu/emit/emit_module.h"
#include "cpu/native/frame.h"
#include "cpu/native/llvm.h"
#include "cpu/plan/dependence_distance.h"
#include "cpu/plan/reduction_privatisation.h"

namespace pumice::cpu {

/// Native code for one variant of a kernel.
struct Native {
    std::shared_ptr<Code> code;
    Entry* entry = nullptr;
    int64_t scratch_bytes = 0;
    std::vector<ArraySum> sums;  ///< arrays of which each thread takes a copy
    bool streaming = false;  ///< stores may go past the caches: behind them a thread waits until they have arrived
    bool clears = false;     ///< it stores, and loads nothing
    bool lead = false;       ///< groups may begin up to most_lead items early
    std::vector<RowAccess> accesses;  ///< by parameter of the kernel
    /// What one group takes a thread, guessed first and then measured.
    std::atomic<float> group_ns = 0;
};

/// What all kernels of a device are compiled with.
class Compiler {
public:
    /// `width`: items a packet, 0 for the machine's own; `machine`: this one, or one with fewer instructions. Begins to load and warm
    /// up LLVM's parts on another thread.
    Compiler(int width, const Machine& machine);
    ~Compiler();

    /// Throws Error when the kernel cannot be compiled.
    std::shared_ptr<Native> compile(const ir::Kernel& kernel, const Variant& variant);

    Machine machine;
    Target target;

private:
    struct Unloaded;  ///< what the disk cache keeps
    std::string key(const ir::Kernel& kernel, const Variant& variant) const;
    Unloaded make(const ir::Kernel& kernel, const Variant& variant) const;
    std::shared_ptr<Native> load(const Unloaded& unloaded, std::string& reason);

    void* sleef = nullptr;
    const DiskCache cache;
    std::shared_future<std::shared_ptr<Loader>> loader;
};

class Program final : public Executable {
public:
    Program(std::shared_ptr<Compiler> compiler, std::shared_ptr<const ir::Kernel> kernel);
    /// Of several threads that want a variant at once, one compiles it. `threads`: how many may run it.
    std::shared_ptr<Native> variant(const Launch& launch, int threads);

    /// The launch as the kernel takes it: its axes swapped where that is, and its group, or what is better for the caches where items cannot
    /// tell. `followed`: as detail::Followed says.
    Launch arranged(const Launch& asked, int threads, bool followed) const;

    /// How threads share a launch out where some of its arrays are added to by owners.
    Shares shares(const Launch& launch, int threads) const;

    const bool swapped;  ///< axes 1 and 2 of the range are the other way round, so that rows of an array run along axis 1
    const std::shared_ptr<const ir::Kernel> kernel;
    const bool reports = pumice::reports(*kernel);  ///< it prints or requires something
    const std::vector<ir::MemoryId> added_to = only_added_to(*kernel);
    const bool movable;     ///< items know nothing of groups, which may begin anywhere
    const uint32_t stencil;  ///< of a movable kernel: axes_of_stencils()
    const int across;       ///< the argument whose rows run along axis 1 of the range, or -1
    const bool asks_range;  ///< what the code does depends on where the range ends

private:
    const std::vector<int> owners;  ///< of each argument that is added to, axis_of_owners; else -1; empty where all are

    std::array<int64_t, 3> group_of(const Launch& launch, int threads, bool followed) const;
    struct Made {
        Variant variant;
        std::shared_ptr<Native> native;
    };
    const std::shared_ptr<Compiler> compiler;
    std::mutex mutex;
    std::vector<Made> made;
};

}  // namespace pumice::cpu
