// The driver's pipeline cache, kept on disk between processes.
#pragma once
#include <mutex>
#include <string>

#include "vulkan/code_cache.h"
#include "vulkan/context.h"

namespace pumice::vulkan {

/// Any thread.
class PipelineCache {
public:
    /// Begins with what the disk has of this device and driver. The driver ignores data that is not its own.
    PipelineCache(Context& context, DiskCache& disk, const std::string& device_key);
    PipelineCache(const PipelineCache&) = delete;
    PipelineCache& operator=(const PipelineCache&) = delete;
    ~PipelineCache();

    /// Throws Error where the driver refuses. Behind the first pipeline, the second, the fourth and so on it saves, so that a process that
    /// is killed loses no more than half of its work.
    VkPipeline make(const VkComputePipelineCreateInfo& info);
    /// Writes to the disk what is new since the last time.
    void save();

private:
    Context& context;
    DiskCache& disk;
    const std::string name;  // of the file
    VkPipelineCache handle = VK_NULL_HANDLE;
    std::mutex mutex;        // over all below
    size_t saved_bytes = 0;
    uint64_t made = 0, save_at = 1;
};

}  // namespace pumice::vulkan
