// A kernel on one device: its shader permutations and their pipelines.
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
#include "vulkan/repeated_launch.h"
#include "vulkan/slices.h"
#include "vulkan/staging.h"
#include "vulkan/vulkan_memory.h"

namespace pumice::vulkan {

using Extents = std::array<int64_t, 3>;
/// The number of groups of a launch along each axis.
Extents groups_of(const Launch& launch);
/// True if one dispatch may have this many groups.
bool is_one_dispatch(const Launch& launch, const VkPhysicalDeviceLimits& limits);

/// An array as a range of bytes of its buffer.
struct ArrayRange {
    int64_t begin = 0, end = 0;
    int64_t element_bytes = 1;
};
/// The first byte of a binding that covers all of these arrays of one buffer: the last valid offset that is a whole number of
/// elements before each array. None if there is no such offset, or if the binding would be too long.
std::optional<int64_t> common_begin(std::span<const ArrayRange> arrays, const VkPhysicalDeviceLimits& limits);

ArrayRange array_range(const Launch::Array& array, int64_t element_bytes);
/// The block in which an array lies; null for an array without elements.
const MemoryBlock* block_of(const Launch::Array& array);
/// Bindings of a shader, which are numbered without gaps.
size_t binding_count(const codegen::Shader& shader);

class ShaderPermutations;

/// One shader on the device with a pipeline for every group size launched so far. Handles are destroyed by destroy(), which the
/// caller calls when the device is done with them.
class ShaderPermutation {
public:
    /// Throws Error if the device lacks a feature, or if a limit is exceeded.
    ShaderPermutation(Context& context, codegen::Shader shader, const ir::Kernel& kernel);
    ShaderPermutation(const ShaderPermutation&) = delete;
    ShaderPermutation& operator=(const ShaderPermutation&) = delete;
    void destroy(Context& context);
    /// The pipeline for this launch's group size, made at the first use.
    struct Pipeline {
        VkPipeline handle;
        bool at_origin;  // see codegen::Shader
        Pace* pace;
    };
    Pipeline pipeline(Context& context, PipelineCache& cache, const ir::Kernel& kernel, const Launch& launch);

    struct ArrayUse {
        int argument;
        bool write;
    };
    /// A binding of an image.
    struct BoundImage {
        int argument, binding;
        codegen::Binding::Kind kind;
        ImageInfo info;
    };
    /// The contents of a binding: arrays of one buffer, mostly a single one, or another kind of codegen::Binding.
    struct BoundArrays {
        std::vector<int> arguments;
        bool write = false;
    };
    /// The part of a buffer that a launch binds, in bytes. Without a block, nothing is bound.
    struct BufferRange {
        const MemoryBlock* block = nullptr;
        int64_t begin = 0, end = 0;
    };
    using BufferRanges = std::vector<BufferRange>;  // by binding
    /// The state that the slices of a launch share.
    struct RecordedLaunch {
        ShaderPermutations& permutations;
        ShaderPermutation& permutation;
        Pipeline pipeline;
        const BufferRanges& buffer_ranges;
        Staging::Piece* block;  ///< argument block; null: none
    };
    /// The buffer ranges of the arrays' bindings, by binding; other bindings have none.
    BufferRanges buffer_ranges(const Launch& launch, const VkPhysicalDeviceLimits& limits) const;
    /// A scalar argument as a field has it: sign-extended integers, all else zero-extended.
    uint64_t scalar(const Launch& launch, size_t parameter) const;
    /// Of the push constants: a multiple of 4.
    uint32_t push_bytes() const { return (shader.push_bytes + 3) / 4 * 4; }

    const codegen::Shader shader;
    const std::string label;         ///< for tools: "advect (sim.cpp:57)"
    const bool locks;                ///< it binds the device's locks
    const bool subgroups;            ///< it uses subgroups
    std::vector<BoundArrays> bound;  ///< by binding; images have no arguments there
    std::vector<BoundImage> images;
    bool shares_bindings = false;        ///< some binding has several arrays
    std::vector<int> binding_of;         ///< by parameter; -1: none
    std::vector<ArrayUse> uses;          ///< the arrays that the shader accesses
    std::vector<Scalar> argument_types;  ///< by parameter; meaningless for arrays
    std::vector<int64_t> element_bytes;  ///< by parameter; 0 for scalars
    std::vector<bool> shifted;           ///< by parameter: the array does not begin at its binding's begin
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    /// Filled at each launch, with the queue's mutex held; `writes` points into `buffers` and `textures`, which are by binding.
    std::vector<VkDescriptorBufferInfo> buffers;
    std::vector<VkDescriptorImageInfo> textures;
    std::vector<VkWriteDescriptorSet> writes;
    /// A new set for launches that come again, without contents; null if there are many. The queue's mutex is held.
    KeptSet* new_set(Context& context);
    std::vector<std::unique_ptr<KeptSet>> kept_sets;

private:
    struct CachedPipeline {
        Extents group;
        bool full_groups, at_origin;  // see codegen::Shader
        VkPipeline pipeline;
        std::unique_ptr<Pace> pace;
    };
    void make_layouts(Context& context);

    VkShaderModule module = VK_NULL_HANDLE;
    VkDescriptorPool pool = VK_NULL_HANDLE;  // of kept_sets
    std::vector<CachedPipeline> made;
};

/// All permutations of one kernel, kept alive by the device until its work with them is done.
class ShaderPermutations {
public:
    /// Compiles the shader for the options.
    using Source = std::function<codegen::Shader(const codegen::Options&)>;

    ShaderPermutations(std::shared_ptr<const ir::Kernel> kernel, Source source);
    struct ChosenPermutation {
        ShaderPermutation* permutation;
        ShaderPermutation::Pipeline pipeline;
    };
    /// The permutation for this launch: with device addresses if an array is too large for a binding or there are too many, and
    /// with 64-bit offsets if an array has too many elements. Thread-safe.
    ChosenPermutation choose(Context& context, PipelineCache& cache, const Launch& launch);
    /// Makes the permutation that most launches need, if that can be told.
    void prepare(Context& context);
    void destroy(Context& context);

    const std::shared_ptr<const ir::Kernel> kernel;
    const bool reports;         ///< it has print or require, so that a binding is the device's ring
    RepeatedLaunches repeated;  ///< guarded by the queue's mutex

private:
    struct CachedPermutation {
        codegen::Options options;
        std::unique_ptr<ShaderPermutation> permutation;
    };
    int64_t element_bytes(int parameter) const;
    bool ordinary(const Context& context, const Launch& launch) const;
    size_t bindings(const Context& context) const;
    bool crowded(const Context& context) const;
    void share_bindings(const Context& context, const Launch& launch, codegen::Options& options) const;
    codegen::Options options_for(const Context& context, const Launch* launch) const;
    ShaderPermutation* permutation(Context& context, const Launch* launch);

    const Source source;
    std::vector<int> arrays;                   // parameter indices
    size_t image_bindings = 0;                 // at most
    const bool wide_in_arrays, wide_in_local;  // atomics of 64 bits
    std::mutex mutex;
    std::vector<CachedPermutation> made;
    ShaderPermutation* usual = nullptr;  // the one of them that most launches need
    size_t for_block = 0;                // bindings reserved for the argument block: 1 once the shader needs one
};

}  // namespace pumice::vulkan
