// A kernel on one device: its shader in the variants that launches need, and their pipelines.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "codegen/glsl/codegen.h"
#include "core/host/backend.h"
#include "vulkan/context.h"
#include "vulkan/pipeline_cache.h"
#include "vulkan/slices.h"
#include "vulkan/staging.h"
#include "vulkan/vulkan_memory.h"

namespace pumice::vulkan {

using Extents = std::array<int64_t, 3>;
/// The number of groups of a launch along each axis.
Extents groups_of(const Launch& launch);
/// Whether one dispatch may have so many groups.
bool is_one_dispatch(const Launch& launch, const VkPhysicalDeviceLimits& limits);

/// An array as bytes of the buffer that its memory lies in.
struct Placed {
    int64_t begin = 0, end = 0;
    int64_t element_bytes = 1;
};
/// The byte at which a binding begins that reaches all of these arrays of one buffer: the last one where a binding may begin and that is
/// a whole number of elements before each array. Nothing where there is none, or the binding would be too long.
std::optional<int64_t> common_begin(std::span<const Placed> arrays, const VkPhysicalDeviceLimits& limits);

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
    struct Pipeline {
        VkPipeline handle;
        bool at_origin;  // see codegen::Shader
        Pace* pace;
    };
    Pipeline pipeline(Context& context, PipelineCache& cache, const ir::Kernel& kernel, const Launch& launch);

    struct Use {
        int argument;
        bool write;
    };
    /// The contents of a binding: arrays of one buffer, mostly one, or one of codegen::Binding's.
    struct Bound {
        std::vector<int> arguments;
        bool write = false;
    };
    /// The part of a buffer that a binding is given at a launch, in bytes. No block: there is nothing to bind.
    struct Place {
        const Block* block = nullptr;
        int64_t begin = 0, end = 0;
    };
    using Places = std::vector<Place>;  // by binding
    /// The state that the slices of a launch share.
    struct Recorded {
        Variant& variant;
        Pipeline pipeline;
        const Places& places;
        Staging::Piece* block;  ///< of arguments; null: none
    };
    /// The places of the arrays' bindings, by binding; those of other bindings are left out.
    Places places(const Launch& launch, const VkPhysicalDeviceLimits& limits) const;

    const codegen::Shader shader;
    const bool locks;                     ///< it binds the device's locks
    const bool subgroups;                 ///< it uses them
    std::vector<Bound> bound;             ///< by binding
    bool shares_bindings = false;         ///< some binding has several arrays
    std::vector<int> binding_of;          ///< by parameter; -1: none
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
        bool full_groups, at_origin;  // see codegen::Shader
        VkPipeline pipeline;
        std::unique_ptr<Pace> pace;
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
        Variant::Pipeline pipeline;
    };
    /// The variant that runs this launch: through device addresses where an array is too large for a binding, or there are too many, with 64-bit offsets
    /// where it has too many elements. Any thread.
    Choice choose(Context& context, PipelineCache& cache, const Launch& launch);
    /// Makes the variant that most launches need, where that can be told.
    void prepare(Context& context);
    void destroy(Context& context);

    const std::shared_ptr<const ir::Kernel> kernel;
    const bool reports;       ///< it prints or requires something, so that a binding is the device's ring

private:
    struct Made {
        codegen::Options options;
        std::unique_ptr<Variant> variant;
    };
    bool ordinary(const Context& context, const Launch& launch) const;
    size_t bindings(const Context& context) const;
    bool crowded(const Context& context) const;
    void share_bindings(const Context& context, const Launch& launch, codegen::Options& options) const;
    codegen::Options options_for(const Context& context, const Launch* launch) const;
    Variant* variant(Context& context, const Launch* launch);

    const Source source;
    std::vector<int> arrays;     // parameter indices
    const bool wide_in_arrays, wide_in_local;  // atomics of 64 bits
    std::mutex mutex;
    std::vector<Made> made;
    Variant* usual = nullptr;    // of these: most launches need it
    size_t for_block = 0;        // bindings that are left for the argument block: 1 once the shader has turned out to need one
};

}  // namespace pumice::vulkan
