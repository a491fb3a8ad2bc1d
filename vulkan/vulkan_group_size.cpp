#include "vulkan/vulkan_group_size.h"

#include "core/interp/interp_program.h"
#include "runtime/vulkan_rules/group_size_rule.h"

namespace pumice::vulkan {
namespace {

using Extents = std::array<int64_t, 3>;

int64_t bytes_of(const ir::Kernel& kernel, const ir::Memory& memory, const Extents& group) {
    return interp::asked_elements(kernel, memory, group) * memory.element.size;
}

}  // namespace

int64_t local_memory(const ir::Kernel& kernel, const Extents& group) {
    int64_t bytes = 0;
    for (const ir::Memory& memory : kernel.memories)
        if (memory.kind == ir::MemoryKind::local) bytes += bytes_of(kernel, memory, group);
    return bytes;
}

Extents choose_group(const ir::Kernel& kernel, const Extents& extent, int rank, const GroupLimits& with) {
    const auto& [x, y, z] = with.limits.max_group_extent;
    const auto& [count_x, count_y, count_z] = with.max_count;
    const pumice_rt::vulkan::GroupLimits limits{
        with.limits.max_group_size, {x, y, z}, {count_x, count_y, count_z}, with.limits.local_memory, with.rows};
    Extents group;
    choose_extents(extent, rank, limits, [&](const Extents& of) { return local_memory(kernel, of); }, group);
    return group;
}

}  // namespace pumice::vulkan
