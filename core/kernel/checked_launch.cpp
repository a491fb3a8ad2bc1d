// Memoisation of the checks of a launch, by value: range, group, of every array its memory, place, extents and type, and of every
// scalar its type.
//
// A program launches the same kernels on the same arrays step by step. The checks of a launch (launch_check.h) depend on nothing
// but these values, the kernel, and the device, so that a launch with the same values passes, too. Two conditions may change
// meanwhile, and are checked each time: an array may be released, and the device may be another one at the same address. Cost: a
// comparison of some words an array. Limits: 1,024 launches a kernel (recent_table.h); launches without arrays, and those with
// images, streams, time stamps or indirect ranges are not kept.
#include "core/kernel/checked_launch.h"

#include <algorithm>
#include <utility>

namespace pumice::detail {
namespace {

bool is_same_owner(const std::weak_ptr<DeviceState>& a, const std::shared_ptr<DeviceState>& b) {
    return !a.owner_before(b) && !b.owner_before(a);
}

/// True if all elements are equal; without a branch an element.
bool same(const std::array<int64_t, ir::max_rank>& a, const std::array<int64_t, ir::max_rank>& b) {
    int64_t other = 0;
    for (size_t d = 0; d < a.size(); ++d) other |= a[d] ^ b[d];
    return other == 0;
}

}  // namespace

CheckedLaunch::CheckedLaunch(const ir::Kernel& kernel, const Range& range, std::span<const HostArgument> arguments,
                             const std::shared_ptr<DeviceState>& device, const std::shared_ptr<Executable>& executable,
                             Launch launch)
    : device(device),
      backend(device->backend.get()),
      executable(&executable),
      launch(std::move(launch)),
      rank(range.rank),
      group_rank(range.group_rank),
      from(range.from),
      to(range.to),
      group_extents(range.group_extents) {
    static std::atomic<uint64_t> numbers = 0;
    this->launch.number = ++numbers;
    size_t next = 0;
    for (size_t p = 0; p < kernel.params.size(); ++p) {
        if (kernel.params[p].origin != ir::ParameterOrigin::argument) continue;
        const HostArgument& a = arguments[next++];
        given.push_back({p, a.is_array, a.type, arrays.size()});
        if (a.is_array) arrays.push_back({a.element, a.rank, a.extents, a.array->memory.get(), a.array->offset, a.array->bytes});
    }
}

bool CheckedLaunch::is_like(const Range& range, std::span<const HostArgument> arguments) const {
    if (range.rank != rank || range.group_rank != group_rank || arguments.size() != given.size()) return false;
    if (!same(range.to, to) || !same(range.from, from) || !same(range.group_extents, group_extents)) return false;
    const DeviceState* here = nullptr;
    for (size_t i = 0; i < given.size(); ++i) {
        const HostArgument& a = arguments[i];
        if (a.is_array != given[i].is_array) return false;
        if (!a.is_array) {
            if (a.type != given[i].type) return false;
            continue;
        }
        const GivenArray& array = arrays[given[i].array];
        if (!a.array || a.array->released || a.image || a.element != array.element || a.rank != array.rank ||
            a.array->memory.get() != array.memory || a.array->offset != array.offset || a.array->bytes != array.bytes ||
            !same(a.extents, array.extents))
            return false;
        if (a.array->device.get() == here) continue;
        if (!is_same_owner(device, a.array->device)) return false;
        here = a.array->device.get();
    }
    return true;
}

const Launch& CheckedLaunch::with(std::span<const HostArgument> arguments) {
    for (size_t i = 0; i < given.size(); ++i)
        if (!given[i].is_array) launch.arguments[given[i].parameter].bits = arguments[i].bits;
    return launch;
}

bool CheckedLaunches::takes(const Range& range, std::span<const HostArgument> arguments) {
    bool any = false;
    for (const HostArgument& a : arguments) {
        any = any || a.is_array;
        if (a.image) return false;
    }
    return any && !range.counts && !range.is_timed && !range.stream.state;
}

uint64_t CheckedLaunches::hash(const Range& range, std::span<const HostArgument> arguments) {
    uint64_t all = uint64_t(range.rank);
    for (size_t d = 0; d < size_t(range.rank); ++d)
        all = hash_with(hash_with(all, uint64_t(range.from[d])), uint64_t(range.to[d]));
    for (const HostArgument& a : arguments)
        if (a.is_array && a.array)
            all = hash_with(all, uint64_t(reinterpret_cast<uintptr_t>(a.array->memory.get())) + uint64_t(a.array->offset));
    return all;
}

}  // namespace pumice::detail
