// Launches that have passed their checks: a like one needs none of them again.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "core/host/device.h"
#include "core/kernel/host_argument.h"
#include "core/kernel/range.h"
#include "core/support/recent_table.h"

namespace pumice::detail {

/// A launch of one kernel on arrays, and everything that its checks depend on.
struct CheckedLaunch {
    CheckedLaunch(const ir::Kernel& kernel, const Range& range, std::span<const HostArgument> arguments,
                  const std::shared_ptr<DeviceState>& device, const std::shared_ptr<Executable>& executable, Launch launch);
    /// True if the launch differs in nothing but the values of scalars, and no array is released.
    bool is_like(const Range& range, std::span<const HostArgument> arguments) const;
    /// The launch with these scalars.
    const Launch& with(std::span<const HostArgument> arguments);

    std::weak_ptr<DeviceState> device;
    Backend* backend;                               ///< of the device
    const std::shared_ptr<Executable>* executable;  ///< lies in the device

private:
    struct GivenArray {
        const Element* element;
        int rank;
        std::array<int64_t, ir::max_rank> extents;
        const Allocation* memory;
        int64_t offset, bytes;
    };
    struct Given {
        size_t parameter;
        bool is_array;
        Scalar type;
        size_t array;
    };
    Launch launch;
    int rank, group_rank;
    std::array<int64_t, ir::max_rank> from, to, group_extents;
    std::vector<Given> given;
    std::vector<GivenArray> arrays;
};

/// The launches of one kernel that were used last. One thread has them at a time; another one meanwhile has none.
class CheckedLaunches {
public:
    /// True if launches like this one can be kept: on arrays, over a range of the host's, without a stream, and not timed.
    static bool takes(const Range& range, std::span<const HostArgument> arguments);
    static uint64_t hash(const Range& range, std::span<const HostArgument> arguments);
    /// By this hash.
    RecentTable<CheckedLaunch> launches;

    /// Takes the launches while it lives, unless another thread has them.
    class Loan {
    public:
        explicit Loan(CheckedLaunches& launches)
            : launches(launches.is_taken.exchange(true, std::memory_order_acquire) ? nullptr : &launches) {}
        ~Loan() {
            if (launches) launches->is_taken.store(false, std::memory_order_release);
        }
        Loan(const Loan&) = delete;
        CheckedLaunches* get() const { return launches; }

    private:
        CheckedLaunches* const launches;
    };

private:
    std::atomic<bool> is_taken = false;
};

}  // namespace pumice::detail
