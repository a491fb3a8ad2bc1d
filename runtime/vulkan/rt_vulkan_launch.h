// The commands of a launch.
#pragma once
#include "runtime/vulkan/rt_arrays.h"
#include "runtime/vulkan/rt_program.h"
#include "runtime/vulkan/rt_vulkan_streams.h"

namespace pumice_rt::vulkan {

using GroupRange = GroupBox<int64_t[3]>;

struct RecordedLaunch {
    const Launch& launch;
    const Shader& shader;
    Pipeline& pipeline;
    uint32_t number = 0;       ///< of a launch that reports
    int64_t block_offset = 0;  ///< of the argument block
    int64_t groups[3] = {};    ///< of the whole range
    uint64_t value = 0;        ///< result: the timeline value of the launch
};

/// Records launches. The queue's mutex is held.
class LaunchRecorder {
public:
    LaunchRecorder(Context& context, Queue& queue, Streams& streams, const OwnMemory& own, TimeStamps& times)
        : context(context), queue(queue), streams(streams), own(own), times(times), arguments(context, arguments_bytes) {
        for (uint32_t i = 0; i < most_buffers; ++i) {
            writes[i] = {};
            writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
            writes[i].dstBinding = i;
            writes[i].descriptorCount = 1;
            writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
            writes[i].pBufferInfo = &buffers[i];
        }
    }

    /// Records some groups of a launch, with the time that they take if `timed`.
    pumice_status record_part(RecordedLaunch& recorded, const GroupRange& part, bool timed);

private:
    static constexpr int64_t arguments_bytes = int64_t(4) << 20;
    struct BoundRange {
        const MemoryBlock* block;
        int64_t begin, end;
    };
    uint32_t list_accesses(const RecordedLaunch& recorded);
    BoundRange bound_range(const RecordedLaunch& recorded, const BindingRecord& binding) const;
    pumice_status bind_arrays(VkCommandBuffer commands, const RecordedLaunch& recorded);
    pumice_status fill_block(RecordedLaunch& recorded);
    uint64_t field_value(const RecordedLaunch& recorded, const FieldRecord& field) const;
    void push_fields(VkCommandBuffer commands, const RecordedLaunch& recorded, const int64_t (&base)[3]);
    void dispatch(VkCommandBuffer commands, const RecordedLaunch& recorded, const GroupRange& part);

    Context& context;
    Queue& queue;
    Streams& streams;
    const OwnMemory& own;
    TimeStamps& times;
    StagingRing arguments;  // argument blocks

    BufferAccess accesses[most_buffers];  // of the command being recorded
    VkDescriptorBufferInfo buffers[most_buffers];
    VkWriteDescriptorSet writes[most_buffers];
    /// Last bindings of the batch being recorded. Drivers copy descriptors and push constants at every call, so a launch like the
    /// previous one skips them.
    struct {
        uint64_t batch = 0;
        const Shader* shader = nullptr;  // whose buffers are bound
        uint32_t push_count = 0;         // 0: nothing was pushed for it
        char push[most_push_bytes];
    } bound;
    char push[most_push_bytes];
};

}  // namespace pumice_rt::vulkan
