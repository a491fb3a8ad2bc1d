// Copies between host and device, fills, and copies within the device.
#pragma once
#include "runtime/vulkan/rt_arrays.h"
#include "runtime/vulkan/rt_vulkan_streams.h"

namespace pumice_rt::vulkan {

class Transfers {
public:
    Transfers(Context& context, Queue& queue, Arrays& arrays, Streams& streams)
        : context(context), queue(queue), arrays(arrays), streams(streams) {}

    /// Memory whose bytes are all 0.
    pumice_status allocate(int64_t bytes, VulkanMemory*& memory);
    pumice_status write(VulkanMemory& to, int64_t offset, const void* from, int64_t bytes);
    pumice_status read(VulkanMemory& from, int64_t offset, void* to, int64_t bytes);
    /// A read by way of staging memory.
    pumice_status read_staged(VulkanMemory& from, int64_t offset, char* to, int64_t bytes);
    pumice_status fill(VulkanMemory& to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_bytes,
                       pumice_stream stream);
    /// Offset and bytes are multiples of 4.
    pumice_status fill_words(VulkanMemory& to, int64_t offset, int64_t bytes, uint32_t value, pumice_stream stream);
    pumice_status copy(VulkanMemory& from, int64_t from_offset, VulkanMemory& to, int64_t to_offset, int64_t bytes,
                       pumice_stream stream);

private:
    pumice_status take(StagingRing& ring, int64_t bytes, int64_t& offset);
    pumice_status write_staged(VulkanMemory& to, int64_t offset, const char* from, int64_t bytes);
    pumice_status fill_staged(VulkanMemory& to, int64_t offset, int64_t bytes, const char* pattern, int64_t pattern_bytes,
                              pumice_stream stream);
    pumice_status copy_now(VulkanMemory& from, int64_t from_offset, VulkanMemory& to, int64_t to_offset, int64_t bytes,
                           pumice_stream stream);
    pumice_status copy_out(VulkanMemory& from, int64_t offset, int64_t piece, int64_t bytes, uint64_t& value);

    Context& context;
    Queue& queue;
    Arrays& arrays;
    Streams& streams;
};

}  // namespace pumice_rt::vulkan
