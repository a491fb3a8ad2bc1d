// The driver's pipeline cache, kept on disk between processes.
#pragma once
#include "runtime/vulkan_context/rt_context.h"

namespace pumice_rt::vulkan {

/// The file is in the folder of the environment variable PUMICE_CACHE_DIR ("off": none), else in $XDG_CACHE_HOME/pumice or
/// ~/.cache/pumice. Failures of the disk are no errors.
class PipelineCache {
public:
    explicit PipelineCache(Context& context) : context(context) {}
    ~PipelineCache();
    PipelineCache(const PipelineCache&) = delete;
    PipelineCache& operator=(const PipelineCache&) = delete;
    /// Begins with the disk's data for this device and driver.
    pumice_status start();
    pumice_status make(const VkComputePipelineCreateInfo& info, VkPipeline& pipeline);
    /// Writes new data to the disk.
    void save();

private:
    bool find_path();

    Context& context;
    VkPipelineCache handle = VK_NULL_HANDLE;
    char folder[512] = "", path[640] = "";  // "": no file
    size_t saved_bytes = 0;
    bool made = false;
};

}  // namespace pumice_rt::vulkan
