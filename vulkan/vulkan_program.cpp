#include "vulkan/vulkan_program.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>

#include "codegen/artifact/assemble.h"
#include "core/interp/interp_program.h"
#include "core/ir/named.h"
#include "core/support/debug.h"
#include "core/support/error.h"
#include "core/support/float_mode.h"
#include "core/support/trace.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {

const char* name_of(Feature feature) {
    switch (feature) {
        case Feature::int8: return "8-bit integers";
        case Feature::int16: return "16-bit integers";
        case Feature::int64: return "64-bit integers";
        case Feature::float16: return "half-precision floats (float16)";
        case Feature::float64: return "double-precision floats (float64)";
    }
    return "";
}

void check_limits(const Context& context, const codegen::Shader& shader, const ir::Kernel& kernel) {
    for (const Feature feature : shader.features)
        if (!context.plan.supports(feature))
            fail(named(kernel), " uses ", name_of(feature), ", which ", context.name, " does not have");
    const uint32_t most = context.snapshot.limits.maxPushConstantsSize;
    if (shader.push_bytes > most)
        fail(named(kernel), " needs ", shader.push_bytes, " bytes for its scalar arguments and array extents, and ", context.name,
             " has ", most);
}

VkDescriptorType descriptor_type(codegen::Binding::Kind kind) {
    switch (kind) {
        case codegen::Binding::Kind::buffer: return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        case codegen::Binding::Kind::texels: return VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
        case codegen::Binding::Kind::sampler: return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
        case codegen::Binding::Kind::storage_image: return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    }
    library_bug("a binding has no kind");
}

/// Throws Error if the shader has more images than the device binds.
void check_images(const Context& context, const codegen::Shader& shader, const ir::Kernel& kernel) {
    const VkPhysicalDeviceLimits& limits = context.snapshot.limits;
    const auto count = [&](codegen::Binding::Kind kind) {
        return uint32_t(std::ranges::count_if(shader.bindings, [&](const codegen::Binding& b) { return b.kind == kind; }));
    };
    const auto check = [&](uint32_t wanted, uint32_t most, const char* what) {
        if (wanted > most) fail(named(kernel), " uses ", wanted, " ", what, ", and ", context.name, " binds at most ", most);
    };
    const uint32_t samplers = count(codegen::Binding::Kind::sampler);
    check(samplers, limits.maxPerStageDescriptorSamplers, "textures that the device samples");
    check(samplers + count(codegen::Binding::Kind::texels), limits.maxPerStageDescriptorSampledImages, "images to read");
    check(count(codegen::Binding::Kind::storage_image), limits.maxPerStageDescriptorStorageImages, "images to write");
}

bool binds_locks(const codegen::Shader& shader) {
    return std::ranges::any_of(shader.bindings, [](const codegen::Binding& b) { return b.argument == codegen::Binding::locks; });
}

bool uses_subgroups(const codegen::Shader& shader) {
    return std::ranges::any_of(shader.capabilities, [](const std::string& c) { return c.starts_with("GroupNonUniform"); });
}

/// Part of a message: ", which needs Float64 and Int64", for drivers that promise more than they support.
std::string needs_of(const codegen::Shader& shader) {
    std::string out;
    for (const std::string& capability : shader.capabilities)
        if (capability != "Shader") out += (out.empty() ? ", which needs " : ", ") + capability;
    return out;
}

/// Specialisation constants with their numbers, in order.
std::vector<std::pair<uint32_t, uint32_t>> numbered(const std::vector<uint32_t>& values) {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    for (const uint32_t value : values) out.emplace_back(uint32_t(out.size()), value);
    return out;
}

/// The module of one pipeline, destroyed after the pipeline is made; none without SPIR-V.
struct OwnModule {
    OwnModule(Context& context, const std::vector<uint32_t>& spirv) : context(context) {
        auto info = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
        info.codeSize = spirv.size() * 4;
        info.pCode = spirv.data();
        if (!spirv.empty())
            context.check(context.vk.CreateShaderModule(context.device, &info, nullptr, &module), "vkCreateShaderModule");
    }
    ~OwnModule() { context.vk.DestroyShaderModule(context.device, module, nullptr); }
    OwnModule(const OwnModule&) = delete;

    Context& context;
    VkShaderModule module = VK_NULL_HANDLE;
};

}  // namespace

size_t binding_count(const codegen::Shader& shader) {
    int count = 0;
    for (const codegen::Binding& binding : shader.bindings) count = std::max(count, binding.binding + 1);
    return size_t(count);
}

ArrayRange array_range(const Launch::Array& array, int64_t element_bytes) {
    const int64_t begin = static_cast<const Buffer*>(array.memory)->range.offset + array.offset;
    return {begin, begin + array.bytes, element_bytes};
}

const MemoryBlock* block_of(const Launch::Array& array) {
    return array.memory && array.bytes > 0 ? static_cast<const Buffer*>(array.memory)->range.block : nullptr;
}

std::optional<int64_t> common_begin(std::span<const ArrayRange> arrays, const VkPhysicalDeviceLimits& limits) {
    const int64_t step = int64_t(limits.minStorageBufferOffsetAlignment);
    int64_t first = INT64_MAX, end = 0, period = 1;
    for (const ArrayRange& array : arrays) {
        first = std::min(first, array.begin);
        end = std::max(end, array.end);
        period = std::lcm(period, array.element_bytes);  // after this many steps the remainders repeat
    }
    for (int64_t begin = first / step * step, n = 0; begin >= 0 && n < period; begin -= step, ++n) {
        if (end - begin > int64_t(limits.maxStorageBufferRange)) return std::nullopt;
        if (std::ranges::all_of(arrays, [&](const ArrayRange& a) { return (a.begin - begin) % a.element_bytes == 0; }))
            return begin;
    }
    return std::nullopt;
}

ShaderPermutation::ShaderPermutation(Context& context, codegen::Shader with, const ir::Kernel& kernel)
    : shader(std::move(with)),
      label(text(kernel.name, " (", kernel.where(kernel.loc), ")")),
      locks(binds_locks(shader)),
      subgroups(uses_subgroups(shader)),
      binding_of(kernel.params.size(), -1) {
    check_limits(context, shader, kernel);
    check_images(context, shader, kernel);
    try {
        auto info = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
        info.codeSize = shader.spirv.size() * 4;
        info.pCode = shader.spirv.data();
        context.check(context.vk.CreateShaderModule(context.device, &info, nullptr, &module), "vkCreateShaderModule");
        context.names.name(context.device, VK_OBJECT_TYPE_SHADER_MODULE, module, label);
        make_layouts(context);
    } catch (const Error& error) {
        destroy(context);
        throw error.within(text("while making the pipeline of kernel \"", shader.name, "\"", needs_of(shader)));
    }
    for (const codegen::Binding& binding : shader.bindings) {
        const size_t number = size_t(binding.binding);
        if (bound.size() <= number) bound.resize(number + 1);
        if (binding.kind != codegen::Binding::Kind::buffer) {
            const ImageInfo& info = kernel[kernel.params[size_t(binding.argument)].memory].image;
            images.push_back({binding.argument, binding.binding, binding.kind, info});
            continue;
        }
        bound[number].arguments.push_back(binding.argument);
        shares_bindings |= bound[number].arguments.size() > 1;
        if (binding.argument < 0) continue;
        const bool write = binding.access != ir::Access::in;
        bound[number].write |= write;
        binding_of.resize(std::max(binding_of.size(), size_t(binding.argument) + 1), -1);  // the ring follows the parameters
        binding_of[size_t(binding.argument)] = binding.binding;
        uses.push_back({binding.argument, write});
    }
    shifted.resize(kernel.params.size());
    for (const auto* fields : {&shader.push, &shader.block})
        for (const codegen::Field& field : *fields)
            if (field.kind == codegen::Field::Kind::first)
                shifted[size_t(field.index)] = true;
            else if (field.kind == codegen::Field::Kind::address)
                uses.push_back({field.index, kernel[kernel.params[size_t(field.index)].memory].access != ir::Access::in});
    for (const ir::Parameter& parameter : kernel.params) {
        argument_types.push_back(parameter.type);
        const bool is_array = parameter.is_array && !kernel[parameter.memory].image;
        element_bytes.push_back(is_array ? kernel[parameter.memory].element.size : 0);
    }
    buffers.resize(bound.size());
    textures.resize(bound.size());
    for (size_t i = 0; i < buffers.size(); ++i) {
        auto write = structure<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
        write.dstBinding = uint32_t(i);
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &buffers[i];
        writes.push_back(write);
    }
    for (const BoundImage& image : images) {
        VkWriteDescriptorSet& write = writes[size_t(image.binding)];
        write.descriptorType = descriptor_type(image.kind);
        write.pBufferInfo = nullptr;
        write.pImageInfo = &textures[size_t(image.binding)];
    }
}

void ShaderPermutation::make_layouts(Context& context) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (uint32_t number = 0; number < binding_count(shader); ++number)
        bindings.push_back({number, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    for (const codegen::Binding& binding : shader.bindings)
        bindings[size_t(binding.binding)].descriptorType = descriptor_type(binding.kind);
    auto set = structure<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
    set.flags = context.plan.push_descriptors ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0;
    set.bindingCount = uint32_t(bindings.size());
    set.pBindings = bindings.data();
    context.check(context.vk.CreateDescriptorSetLayout(context.device, &set, nullptr, &set_layout),
                  "vkCreateDescriptorSetLayout");

    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, (shader.push_bytes + 3) / 4 * 4};
    auto info = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
    info.setLayoutCount = 1;
    info.pSetLayouts = &set_layout;
    info.pushConstantRangeCount = shader.push_bytes > 0;
    info.pPushConstantRanges = &push;
    context.check(context.vk.CreatePipelineLayout(context.device, &info, nullptr, &layout), "vkCreatePipelineLayout");
}

void ShaderPermutation::destroy(Context& context) {
    for (const CachedPipeline& one : made) context.vk.DestroyPipeline(context.device, one.pipeline, nullptr);
    made.clear();
    // Vulkan ignores null handles.
    context.vk.DestroyDescriptorPool(context.device, pool, nullptr);
    context.vk.DestroyPipelineLayout(context.device, layout, nullptr);
    context.vk.DestroyDescriptorSetLayout(context.device, set_layout, nullptr);
    context.vk.DestroyShaderModule(context.device, module, nullptr);
}

ShaderPermutation::BufferRanges ShaderPermutation::buffer_ranges(const Launch& launch,
                                                                 const VkPhysicalDeviceLimits& limits) const {
    std::vector<BufferRange> result(bound.size());
    std::vector<ArrayRange> arrays;
    for (size_t number = 0; number < bound.size(); ++number) {
        arrays.clear();
        BufferRange& range = result[number];
        bool within = false;
        for (const int argument : bound[number].arguments) {
            if (argument < 0) continue;
            const Launch::Array& array = launch.arguments[size_t(argument)].array;
            const MemoryBlock* const block = block_of(array);
            if (!block) continue;
            range.block = block;
            const bool is_parameter = size_t(argument) < element_bytes.size();  // otherwise the ring
            within = within || (is_parameter && shifted[size_t(argument)]);
            arrays.push_back(array_range(array, is_parameter ? element_bytes[size_t(argument)] : 4));
        }
        if (arrays.empty()) continue;
        range.begin = within ? common_begin(arrays, limits).value_or(arrays[0].begin) : arrays[0].begin;
        for (const ArrayRange& array : arrays) range.end = std::max(range.end, array.end);
    }
    return result;
}

KeptSet* ShaderPermutation::new_set(Context& context) {
    constexpr uint32_t most = 16;
    if (kept_sets.size() == most) return nullptr;
    if (!pool) {
        const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, most * uint32_t(bound.size())};
        auto info = structure<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
        info.maxSets = most;
        info.poolSizeCount = 1;
        info.pPoolSizes = &size;
        context.check(context.vk.CreateDescriptorPool(context.device, &info, nullptr, &pool), "vkCreateDescriptorPool");
    }
    auto info = structure<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    info.descriptorPool = pool;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &set_layout;
    auto set = std::make_unique<KeptSet>();
    context.check(context.vk.AllocateDescriptorSets(context.device, &info, &set->handle), "vkAllocateDescriptorSets");
    kept_sets.push_back(std::move(set));
    return kept_sets.back().get();
}

uint64_t ShaderPermutation::scalar(const Launch& launch, size_t parameter) const {
    const Scalar type = argument_types[parameter];
    const uint64_t bits = launch.arguments[parameter].bits;
    const int unused = 64 - 8 * size_of(type);
    if (is_signed_int(type)) return uint64_t(int64_t(bits << unused) >> unused);
    return bits << unused >> unused;
}

Extents groups_of(const Launch& launch) {
    Extents groups;
    for (size_t axis = 0; axis < 3; ++axis) groups[axis] = (launch.extent[axis] + launch.group[axis] - 1) / launch.group[axis];
    return groups;
}

bool is_one_dispatch(const Launch& launch, const VkPhysicalDeviceLimits& limits) {
    const Extents groups = groups_of(launch);
    for (size_t axis = 0; axis < 3; ++axis)
        if (groups[axis] > int64_t(limits.maxComputeWorkGroupCount[axis])) return false;
    return true;
}

ShaderPermutation::Pipeline ShaderPermutation::pipeline(Context& context, PipelineCache& cache, const ir::Kernel& kernel,
                                                        const Launch& launch) {
    const Extents& group = launch.group;
    bool full = shader.asks_full_groups;
    for (size_t axis = 0; axis < 3 && full; ++axis) full = launch.extent[axis] % group[axis] == 0;
    const bool at_origin = shader.asks_at_origin && context.plan.pipelines_at_origin && launch.start == Extents{} &&
                           is_one_dispatch(launch, context.snapshot.limits);
    for (const CachedPipeline& one : made)
        if (one.group == group && one.full_groups == full && one.at_origin == at_origin)
            return {one.pipeline, at_origin, one.pace.get()};
    interp::check_local_memory(kernel, group, shader.local_bytes_for(group), context.plan.limits.local_memory, context.name);
    std::vector<uint32_t> values{uint32_t(group[0]), uint32_t(group[1]), uint32_t(group[2]), full, at_origin};
    std::vector<VkSpecializationMapEntry> entries;
    for (uint32_t id = 0; id < 5; ++id) entries.push_back({id, id * 4, 4});
    for (const codegen::SizedLocal& local : shader.sized_locals) {
        entries.push_back({local.constant, uint32_t(values.size() * 4), 4});
        values.push_back(uint32_t(shader.length_of(local, group)));
    }
    const VkSpecializationInfo specialization{uint32_t(entries.size()), entries.data(), values.size() * 4, values.data()};
    auto info = structure<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialization;
    info.layout = layout;
    // Slices do not begin at the first group.
    if (at_origin && context.plan.most_seconds > 0) info.flags |= VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
    auto size = structure<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    size.requiredSubgroupSize = uint32_t(context.plan.required_subgroup_size);
    // If a device allows fewer subgroups of a required size than a group has, no size is required (lavapipe).
    const uint64_t items = uint64_t(group[0] * group[1] * group[2]);
    const uint64_t most_items = uint64_t(size.requiredSubgroupSize) * context.snapshot.max_group_subgroups;
    if (subgroups && size.requiredSubgroupSize > 0 && items <= most_items) {
        info.stage.pNext = &size;
        // Work-items are assigned to subgroups along axis 0.
        if (context.plan.full_subgroups && group[0] % int64_t(size.requiredSubgroupSize) == 0)
            info.stage.flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    }
    // Some drivers do not support arrays whose length is a specialisation constant (assemble.h).
    const OwnModule fixed(
        context, shader.sized_locals.empty() ? std::vector<uint32_t>() : codegen::with_constants(shader.spirv, numbered(values)));
    if (fixed.module) info.stage.module = fixed.module;
    VkPipeline pipeline = VK_NULL_HANDLE;
    const auto start = std::chrono::steady_clock::now();
    try {
        const FloatMode mode;
        trace::Span span("compile", "pipeline");
        span.add("kernel", shader.name);
        pipeline = cache.make(info);
    } catch (const Error& error) {
        throw error.within(text("while making the pipeline of kernel \"", shader.name, "\"", needs_of(shader)));
    }
    if (debug::time()) {
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        std::fputs(text("pumice: ", shader.name, ": pipeline ", fixed_text(took.count(), 3), " ms\n").c_str(), stderr);
    }
    context.names.name(context.device, VK_OBJECT_TYPE_PIPELINE, pipeline, label);
    made.push_back({group, full, at_origin, pipeline, std::make_unique<Pace>()});
    return {pipeline, at_origin, made.back().pace.get()};
}

}  // namespace pumice::vulkan
