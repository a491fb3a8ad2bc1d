#include "runtime/vulkan/rt_group_size.h"

namespace pumice_rt::vulkan {
int64_t local_memory(const Bundle& bundle, const KernelRecord& kernel, const int64_t (&group)[3]) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < kernel.locals.count; ++i) {
        const LocalRecord& one = bundle.locals[kernel.locals.first + i];
        bytes += bundle.size_of(one.steps, group) * one.element_bytes;
    }
    return bytes;
}

void choose_group(const Launch& launch, const GroupLimits& limits, int64_t (&group)[3]) {
    const auto bytes = [&](const int64_t(&of)[3]) { return local_memory(*launch.bundle, launch.record(), of); };
    choose_extents(launch.extent, launch.rank, limits, bytes, group);
}

}  // namespace pumice_rt::vulkan
