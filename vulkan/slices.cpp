#include "vulkan/slices.h"

#include <algorithm>

#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {

std::array<int64_t, 3> slice_extents(const Box& box, int64_t most_groups) {
    std::array<int64_t, 3> extents;
    int64_t left = std::max<int64_t>(most_groups, 1);
    for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t all = box.end[axis] - box.begin[axis];
        extents[axis] = std::clamp<int64_t>(left, 1, std::max<int64_t>(all, 1));
        left = extents[axis] == all ? left / std::max<int64_t>(all, 1) : 1;
    }
    return extents;
}

Probe probe(const std::array<int64_t, 3>& groups) {
    size_t axis = 2;
    while (axis > 0 && groups[axis] < 2) --axis;
    Probe parts{{{}, groups}, {{}, groups}};
    parts.first.end[axis] = parts.others.begin[axis] = std::max<int64_t>(groups[axis] / 64, 1);
    return parts;
}

/// Takes what was timed, where it is done.
void Device::read_pace(Pace& pace) {
    if (!pace.timing.is_on || !queue.is_past(pace.timing.value)) return;
    if (const auto seconds = seconds_between(pace.timing.begin, pace.timing.end)) pace.seconds_a_group = *seconds / double(pace.timing.groups);
    pace.timing.is_on = false;
    const std::lock_guard lock(queue.mutex);
    queries.give_back(pace.timing.begin);
    queries.give_back(pace.timing.end);
}

/// Of the launch's first slice, which holds up those that come after it: once a pipeline.
Box Device::take_probe(const Variant::Recorded& recorded, const Launch& launch, Pace& pace) {
    const Probe parts = probe(groups_of(launch));
    const uint64_t value = record_slices(recorded, launch, parts.first, pace);
    {
        const std::lock_guard lock(queue.mutex);
        queue.submit();
    }
    queue.wait(value);
    read_pace(pace);
    return parts.others;
}

}  // namespace pumice::vulkan
