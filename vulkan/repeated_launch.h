// Launches that come again: the commands of one, computed once.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codegen/glsl/codegen.h"
#include "core/host/backend.h"
#include "core/support/recent_table.h"
#include "vulkan/hazards.h"
#include "vulkan/slices.h"
#include "vulkan/vulkan_functions.h"

namespace pumice::vulkan {

class ShaderPermutation;

/// A descriptor set that is written once, for a launch that comes again. Guarded by the queue's mutex.
struct KeptSet {
    VkDescriptorSet handle = VK_NULL_HANDLE;
    bool is_kept = true;       ///< by a RepeatedLaunch
    uint64_t last_use = 0;     ///< timeline value
    uint64_t recorded_in = 0;  ///< number of the last recording that uses it
    int recordings = 0;        ///< that use it and are not released
};

/// A launch that one dispatch does, without its scalars, and what its commands need. Plain values only: blocks and buffers may
/// go.
struct RepeatedLaunch {
    /// An array argument. `buffer`: the number of its Buffer, 0 without elements.
    struct ArrayArgument {
        size_t index;
        Launch::Array array;
        uint64_t buffer;
    };
    uint64_t number = 0;  ///< Launch::number
    std::array<int64_t, 3> start, extent, group;
    std::vector<ArrayArgument> arrays;

    ShaderPermutation* permutation = nullptr;
    VkPipeline pipeline = VK_NULL_HANDLE;
    std::array<uint32_t, 3> groups;
    Pace* pace = nullptr;                         ///< null: its time is never measured
    int64_t all_groups = 0;                       ///< the product of `groups`
    std::vector<BufferAccess> accesses;           ///< for the hazard tracker
    std::vector<VkDescriptorBufferInfo> buffers;  ///< by binding
    KeptSet* set = nullptr;                       ///< with these buffers; none on devices with push descriptors
    std::vector<std::byte> push;                  ///< push constants, but for the scalars
    std::vector<codegen::Field> scalars;          ///< fields of scalar arguments

    /// True if the launch differs in nothing but scalars.
    bool is_like(const Launch& launch) const;
    /// True if the arrays of the launch, which has the same allocations' addresses, lie in the same buffers.
    bool has_same_buffers(const Launch& launch) const;
    /// True if an array of the launch lies where one of this launch was that is gone.
    bool is_stale(const Launch& launch) const;
};

/// The launches of one kernel that were used last. Guarded by the queue's mutex.
class RepeatedLaunches {
public:
    /// Null if no launch was like this one. Valid until the next add().
    const RepeatedLaunch* find(const Launch& launch);
    /// True if the launch, which was not found, is worth an add(): many different ones are not. Forgets launches on arrays that
    /// are gone.
    bool takes_more(const Launch& launch);
    void add(const Launch& launch, RepeatedLaunch made);

private:
    static uint64_t hash(const Launch& launch);
    RecentTable<RepeatedLaunch> launches;
};

}  // namespace pumice::vulkan
