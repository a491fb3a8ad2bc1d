// A kernel on one device: the shaders of its modules, and their pipelines.
#pragma once
#include "runtime/device/rt_device.h"
#include "runtime/vulkan/rt_time_stamps.h"
#include "runtime/vulkan_context/rt_memory.h"
#include "runtime/vulkan_context/rt_pipeline_cache.h"

namespace pumice_rt::vulkan {

/// Arrays that a kernel reaches, with argument block, locks and ring.
constexpr uint32_t most_buffers = most_arguments + 3;
constexpr uint32_t most_push_bytes = 256;  ///< that the runtime has room for

/// One pipeline of a shader.
struct Pipeline {
    int64_t group[3];
    bool full_groups, at_origin;
    VkPipeline handle;
    Pace pace;
    Pipeline* next;
};

/// One module of a kernel on the device. The records that it refers to are the bundle's, which exists whenever a launch uses it.
struct Shader {
    const ModuleRecord* module = nullptr;
    uint32_t number = 0;                     ///< of the module in its kernel
    uint32_t bindings = 0;                   ///< storage buffers, numbered without gaps
    uint32_t addresses = 0;                  ///< arrays that are reached by their addresses
    bool reports = false;                    ///< it binds the ring
    bool locks = false;                      ///< it binds the device's locks
    bool wide = false;                       ///< it indexes arrays by 64 bits
    bool broken = false;                     ///< it binds an argument block without bytes
    VkShaderModule handle = VK_NULL_HANDLE;  ///< this and the layouts are made with the first pipeline
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    Pipeline* pipelines = nullptr;  ///< none is removed before the shader
    Shader* next = nullptr;
};

/// All shaders of one kernel that the device can run, best first.
struct VulkanProgram {
    uint64_t bundle = 0;  ///< Bundle::serial
    uint32_t kernel = 0;
    Shader* shaders = nullptr;
    VulkanProgram* next = nullptr;
};

/// The variant of a pipeline that a launch needs. The group's extents are set.
Pipeline variant_of(const Context& context, const Shader& shader, const Launch& launch);
/// The existing pipeline of this variant, or null.
Pipeline* find_pipeline(const Shader& shader, const Pipeline& variant);

/// Makes the shaders of a kernel's modules that the device can run, without handles of the driver. An error if there is none.
pumice_status make_program(Context& context, const Bundle& bundle, uint32_t kernel, VulkanProgram*& program);
/// The first shader that can do this launch; an error if there is none.
pumice_status choose_shader(const Context& context, const VulkanProgram& program, const Launch& launch, Shader*& shader);
/// Makes a pipeline of the variant, and before it the shader's handles. Checks local memory. The caller inserts it.
pumice_status make_pipeline(Context& context, PipelineCache& cache, Shader& shader, const Launch& launch, Pipeline& variant);
void destroy_program(Context& context, VulkanProgram* program);

/// The first byte of the binding of a shifted array: the last valid offset that is a whole number of elements before the array.
/// -1 if there is none, or if the binding would be too long.
int64_t shifted_begin(int64_t begin, int64_t end, int64_t element_bytes, const VkPhysicalDeviceLimits& limits);

}  // namespace pumice_rt::vulkan
