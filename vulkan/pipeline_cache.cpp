#include "vulkan/pipeline_cache.h"

namespace pumice::vulkan {

PipelineCache::PipelineCache(Context& c, DiskCache& d, const std::string& device_key)
    : context(c), disk(d), name("pipelines-" + device_key) {
    if (context.pipeline_cache) {
        handle = context.pipeline_cache;
        return;
    }
    const std::string stored = disk.read(name).value_or("");
    auto info = structure<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
    info.initialDataSize = stored.size();
    info.pInitialData = stored.data();
    context.check(context.vk.CreatePipelineCache(context.device, &info, nullptr, &handle), "vkCreatePipelineCache");
    saved_bytes = stored.size();
}

PipelineCache::~PipelineCache() {
    if (!context.pipeline_cache) context.vk.DestroyPipelineCache(context.device, handle, nullptr);
}

VkPipeline PipelineCache::make(const VkComputePipelineCreateInfo& info) {
    VkPipeline pipeline = VK_NULL_HANDLE;
    context.check(context.vk.CreateComputePipelines(context.device, handle, 1, &info, nullptr, &pipeline),
                  "vkCreateComputePipelines");
    bool due;
    {
        const std::lock_guard lock(mutex);
        due = ++made == save_at;
        if (due) save_at *= 2;
    }
    if (due) save();
    return pipeline;
}

void PipelineCache::save() {
    if (context.pipeline_cache) return;  // the application keeps it
    const std::lock_guard lock(mutex);
    size_t bytes = 0;
    if (!disk.on() || context.vk.GetPipelineCacheData(context.device, handle, &bytes, nullptr) != VK_SUCCESS) return;
    // Some drivers store only the header; then no file is written.
    if (bytes <= sizeof(VkPipelineCacheHeaderVersionOne) || bytes == saved_bytes) return;
    std::string data(bytes, '\0');
    if (context.vk.GetPipelineCacheData(context.device, handle, &bytes, data.data()) != VK_SUCCESS) return;
    data.resize(bytes);
    disk.write(name, data);
    saved_bytes = bytes;
}

}  // namespace pumice::vulkan
