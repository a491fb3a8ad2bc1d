// A kernel on one device: its shader in the variants that launches need, and their pipelines.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "codegen/codegen.h"
#include "core/backend.h"
#include "vulkan/context.h"

namespace pumice::vulkan {

using Extents = std::array<int64_t, 3>;

/// How a binding reaches an array that does not begin where a binding may.
struct BoundBelow {
    int64_t begin = 0;  ///< of the binding: bytes from the allocation's start
    int64_t first = 0;  ///< the array's first element, counted from there
};
/// The nearest such place with whole elements between; nothing where there is none in the allocation, or the binding would be too long.
std::optional<BoundBelow> bound_below(const Launch::Array& array, int64_t element_bytes, const VkPhysicalDeviceLimits& limits);

/// One shader on the device with a pipeline for every group size it was launched with. Handles are destroyed by destroy(), by
/// whoever knows that the device is done with them.
class Variant {
public:
    /// Throws Error where the device lacks a feature or a limit is exceeded.
    Variant(Context& context, codegen::Shader shader, const ir::Kernel& kernel);
    Variant(const Variant&) = delete;
    Variant& operator=(const Variant&) = delete;
    void destroy(Context& context);
    /// The pipeline for this launch's group, made at the first use.
    VkPipeline pipeline(Context& context, VkPipelineCache cache, const ir::Kernel& kernel, const Launch& launch);

    struct Use {
        int argument;
        bool write;
    };
    const codegen::Shader shader;
    const bool locks;                     ///< it binds the device's locks
    std::vector<Use> uses;                ///< the arrays that the shader touches
    std::vector<Scalar> argument_types;   ///< by parameter; those of arrays mean nothing
    std::vector<int64_t> element_bytes;   ///< by parameter; those of scalars are 0
    std::vector<bool> shifted;            ///< by parameter: arrays that begin within their bindings
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    /// Filled at each launch, with the queue's mutex held; `writes` points into `buffers`.
    std::vector<VkDescriptorBufferInfo> buffers;
    std::vector<VkWriteDescriptorSet> writes;

private:
    struct Made {
        Extents group;
        bool full_groups;  // see codegen::Shader
        VkPipeline pipeline;
    };
    void make_layouts(Context& context);

    VkShaderModule module = VK_NULL_HANDLE;
    std::vector<Made> made;
};

/// All variants of one kernel, kept alive by the device until its work with them is done.
class Variants {
public:
    /// Makes the shader for the options.
    using Source = std::function<codegen::Shader(const codegen::Options&)>;

    Variants(std::shared_ptr<const ir::Kernel> kernel, Source source);
    struct Choice {
        Variant* variant;
        VkPipeline pipeline;
    };
    /// What runs this launch: through device addresses where an array is too large for a binding, with 64-bit offsets where it
    /// has too many elements. Any thread.
    Choice choose(Context& context, VkPipelineCache cache, const Launch& launch);
    /// Makes the variant that most launches need.
    void prepare(Context& context);
    void destroy(Context& context);

    const std::shared_ptr<const ir::Kernel> kernel;
    const bool reports;       ///< it prints or requires something, so that a binding is the device's ring
    const bool wide_atomics;  ///< it has atomics of 64 bits, which may take the device's locks

private:
    struct Made {
        codegen::Options options;
        std::unique_ptr<Variant> variant;
    };
    bool ordinary(const Context& context, const Launch& launch) const;
    codegen::Options options_for(const Context& context, const Launch* launch) const;
    Variant& variant(Context& context, const codegen::Options& options);

    const Source source;
    std::vector<int> arrays;  // parameter indices
    std::mutex mutex;
    std::vector<Made> made;   // made[0] is the ordinary one
};

}  // namespace pumice::vulkan
