// The driver's pipeline cache, kept on disk between processes.
#pragma once
#include <mutex>
#include <string>

#include "vulkan/code_cache.h"
#include "vulkan/context.h"

namespace pumice::vulkan {

/// Thread-safe.
class PipelineCache {
public:
    /// Begins with the disk's data for this device and driver. The driver ignores foreign data. An application's cache is used as
    /// it is, and never written to the disk.
    PipelineCache(Context& context, DiskCache& disk, const std::string& device_key);
    PipelineCache(const PipelineCache&) = delete;
    PipelineCache& operator=(const PipelineCache&) = delete;
    ~PipelineCache();

    /// Throws Error if the driver refuses. Saves after the first pipeline, the second, the fourth and so on, so that a killed
    /// process loses at most half of its work.
    VkPipeline make(const VkComputePipelineCreateInfo& info);
    /// Writes new data to the disk.
    void save();

private:
    Context& context;
    DiskCache& disk;
    const std::string name;  // of the file
    VkPipelineCache handle = VK_NULL_HANDLE;
    std::mutex mutex;  // guards all members below
    size_t saved_bytes = 0;
    uint64_t made = 0, save_at = 1;
};

}  // namespace pumice::vulkan
