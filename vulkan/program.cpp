#include "vulkan/program.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "codegen/spirv.h"
#include "core/debug.h"
#include "core/error.h"
#include "core/interp_program.h"
#include "core/named.h"
#include "vulkan/device.h"
#include "vulkan/group.h"

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
        fail(named(kernel), " needs ", shader.push_bytes, " bytes for its scalar arguments and array extents, and ",
             context.name, " has ", most);
}

bool binds_locks(const codegen::Shader& shader) {
    return std::any_of(shader.bindings.begin(), shader.bindings.end(),
                       [](const codegen::Binding& b) { return b.argument == codegen::Binding::locks; });
}

bool has_wide_atomics(const ir::Kernel& kernel) {
    return std::any_of(kernel.insts.begin(), kernel.insts.end(), [](const ir::Inst& i) {
        return (i.op == ir::Op::atomic || i.op == ir::Op::compare_exchange) && size_of(i.type) == 8;
    });
}

/// The specialisation constants of these values are numbered in their order.
std::vector<std::pair<uint32_t, uint32_t>> numbered(const std::vector<uint32_t>& values) {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    for (const uint32_t value : values) out.emplace_back(uint32_t(out.size()), value);
    return out;
}

/// The module of one pipeline, which goes once that is made; none where there is no SPIR-V.
struct OwnModule {
    OwnModule(Context& context, const std::vector<uint32_t>& spirv) : context(context) {
        VkShaderModuleCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        info.codeSize = spirv.size() * 4;
        info.pCode = spirv.data();
        if (!spirv.empty()) context.check(context.vk.CreateShaderModule(context.device, &info, nullptr, &module), "vkCreateShaderModule");
    }
    ~OwnModule() { context.vk.DestroyShaderModule(context.device, module, nullptr); }
    OwnModule(const OwnModule&) = delete;

    Context& context;
    VkShaderModule module = VK_NULL_HANDLE;
};

int64_t elements(const Launch::Array& array) {
    int64_t count = 1;
    for (const int64_t extent : array.extents) count *= extent;
    return count;
}

}  // namespace

std::optional<BoundBelow> bound_below(const Launch::Array& array, int64_t element_bytes, const VkPhysicalDeviceLimits& limits) {
    const int64_t step = int64_t(limits.minStorageBufferOffsetAlignment);
    // After so many steps the rests repeat.
    for (int64_t n = 0, begin = array.offset / step * step; n < element_bytes && begin >= 0; ++n, begin -= step) {
        const int64_t before = array.offset - begin;
        if (before + array.bytes > int64_t(limits.maxStorageBufferRange)) return std::nullopt;
        if (before % element_bytes == 0) return BoundBelow{begin, before / element_bytes};
    }
    return std::nullopt;
}

Variant::Variant(Context& context, codegen::Shader with, const ir::Kernel& kernel)
    : shader(std::move(with)), locks(binds_locks(shader)) {
    check_limits(context, shader, kernel);
    try {
        VkShaderModuleCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        info.codeSize = shader.spirv.size() * 4;
        info.pCode = shader.spirv.data();
        context.check(context.vk.CreateShaderModule(context.device, &info, nullptr, &module), "vkCreateShaderModule");
        make_layouts(context);
    } catch (const Error& error) {
        destroy(context);
        throw error.within(text("while making the pipeline of kernel \"", shader.name, "\""));
    }
    for (const codegen::Binding& binding : shader.bindings)
        if (binding.argument >= 0)
            uses.push_back({binding.argument, binding.access != ir::Access::in});
    shifted.resize(kernel.params.size());
    for (const auto* fields : {&shader.push, &shader.block})
        for (const codegen::Field& field : *fields)
            if (field.kind == codegen::Field::Kind::first) shifted[size_t(field.index)] = true;
            else if (field.kind == codegen::Field::Kind::address)
                uses.push_back({field.index, kernel[kernel.params[size_t(field.index)].memory].access != ir::Access::in});
    for (const ir::Parameter& parameter : kernel.params) {
        argument_types.push_back(parameter.type);
        element_bytes.push_back(parameter.is_array ? kernel[parameter.memory].element.size : 0);
    }
    buffers.resize(shader.bindings.size());
    for (size_t i = 0; i < buffers.size(); ++i) {
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstBinding = uint32_t(shader.bindings[i].binding);
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &buffers[i];
        writes.push_back(write);
    }
}

void Variant::make_layouts(Context& context) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (const codegen::Binding& binding : shader.bindings)
        bindings.push_back(
            {uint32_t(binding.binding), VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    VkDescriptorSetLayoutCreateInfo set{};
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set.flags = context.plan.push_descriptors ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0;
    set.bindingCount = uint32_t(bindings.size());
    set.pBindings = bindings.data();
    context.check(context.vk.CreateDescriptorSetLayout(context.device, &set, nullptr, &set_layout),
                  "vkCreateDescriptorSetLayout");

    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, (shader.push_bytes + 3) / 4 * 4};
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = 1;
    info.pSetLayouts = &set_layout;
    info.pushConstantRangeCount = shader.push_bytes > 0;
    info.pPushConstantRanges = &push;
    context.check(context.vk.CreatePipelineLayout(context.device, &info, nullptr, &layout), "vkCreatePipelineLayout");
}

void Variant::destroy(Context& context) {
    for (const Made& one : made) context.vk.DestroyPipeline(context.device, one.pipeline, nullptr);
    made.clear();
    // Vulkan ignores null handles here.
    context.vk.DestroyPipelineLayout(context.device, layout, nullptr);
    context.vk.DestroyDescriptorSetLayout(context.device, set_layout, nullptr);
    context.vk.DestroyShaderModule(context.device, module, nullptr);
}

VkPipeline Variant::pipeline(Context& context, VkPipelineCache cache, const ir::Kernel& kernel, const Launch& launch) {
    const Extents& group = launch.group;
    bool full = shader.asks_full_groups;
    for (size_t axis = 0; axis < 3 && full; ++axis) full = launch.extent[axis] % group[axis] == 0;
    for (const Made& one : made)
        if (one.group == group && one.full_groups == full) return one.pipeline;
    interp::check_local_memory(kernel, group, shader.local_bytes_for(group), context.plan.limits.local_memory,
                               context.name);
    std::vector<uint32_t> values{uint32_t(group[0]), uint32_t(group[1]), uint32_t(group[2]), full};
    std::vector<VkSpecializationMapEntry> entries;
    for (uint32_t id = 0; id < 4; ++id) entries.push_back({id, id * 4, 4});
    for (const codegen::SizedLocal& local : shader.sized_locals) {
        entries.push_back({local.constant, uint32_t(values.size() * 4), 4});
        values.push_back(uint32_t(shader.length_of(local, group)));
    }
    const VkSpecializationInfo specialization{uint32_t(entries.size()), entries.data(), values.size() * 4, values.data()};
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialization;
    info.layout = layout;
    // Not every driver makes arrays whose length is a specialisation constant (spirv.h).
    const OwnModule fixed(context, shader.sized_locals.empty() ? std::vector<uint32_t>() : codegen::with_constants(shader.spirv, numbered(values)));
    if (fixed.module) info.stage.module = fixed.module;
    VkPipeline pipeline = VK_NULL_HANDLE;
    const auto start = std::chrono::steady_clock::now();
    try {
        context.check(context.vk.CreateComputePipelines(context.device, cache, 1, &info, nullptr, &pipeline),
                      "vkCreateComputePipelines");
    } catch (const Error& error) {
        throw error.within(text("while making the pipeline of kernel \"", shader.name, "\""));
    }
    if (debug::time()) {
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        std::fputs(text("pumice: ", shader.name, ": pipeline ", fixed_text(took.count(), 3), " ms\n").c_str(), stderr);
    }
    made.push_back({group, full, pipeline});
    return pipeline;
}

Variants::Variants(std::shared_ptr<const ir::Kernel> k, Source from)
    : kernel(std::move(k)), reports(pumice::reports(*kernel)), wide_atomics(has_wide_atomics(*kernel)), source(std::move(from)) {
    for (size_t i = 0; i < kernel->params.size(); ++i)
        if (kernel->params[i].is_array) arrays.push_back(int(i));
}

/// True where every array fits a binding and 32-bit offsets.
bool Variants::ordinary(const Context& context, const Launch& launch) const {
    const VkPhysicalDeviceLimits& limits = context.snapshot.limits;
    for (const int parameter : arrays) {
        const Launch::Array& array = launch.arguments[size_t(parameter)].array;
        if (array.bytes > int64_t(limits.maxStorageBufferRange) || array.bytes > std::numeric_limits<int32_t>::max() ||
            array.offset % int64_t(limits.minStorageBufferOffsetAlignment) != 0)
            return false;
    }
    return true;
}

codegen::Options Variants::options_for(const Context& context, const Launch* launch) const {
    const Plan& plan = context.plan;
    const VkPhysicalDeviceLimits& limits = context.snapshot.limits;
    codegen::Options options;
    options.float_atomics = plan.float_atomics;
    options.local_float_atomics = plan.local_float_atomics;
    options.int64_atomics = plan.int64_atomics;
    options.memory_barriers = plan.memory_barriers;
    options.idle_lanes = plan.idle_lanes;
    options.ordered_as_unsigned = plan.ordered_as_unsigned;
    options.unsigned_rounds_twice = plan.unsigned_rounds_twice;
    options.unrolled_imprecise = plan.unrolled_imprecise;
    options.exact_conversions = plan.exact_conversions;
    options.byte_storage = plan.int8;
    options.pairs = !plan.int64;
    options.subgroups = plan.subgroups;
    options.rounded_division = plan.rounded_division;
    options.linear_subgroups = plan.linear_subgroups;
    options.subgroup_sums = (plan.subgroups & codegen::Subgroups::arithmetic) != 0;
    options.recall = context.snapshot.software();
    options.by_address.assign(kernel->params.size(), false);
    bool any = false;
    options.push_bytes = limits.maxPushConstantsSize;
    size_t bound = size_t(reports) + (wide_atomics && !plan.int64_atomics);
    // One binding is left for the argument block, where there may be one.
    const size_t bindings = plan.max_bindings - (kernel->params.size() > 8 ? 1 : 0);
    for (const int parameter : arrays) {
        const Launch::Array* array = launch ? &launch->arguments[size_t(parameter)].array : nullptr;
        const bool large = array && array->bytes > int64_t(limits.maxStorageBufferRange);
        const bool unaligned = array && array->offset % int64_t(limits.minStorageBufferOffsetAlignment) != 0;
        if (array && elements(*array) > std::numeric_limits<int32_t>::max()) options.wide_offsets = true;
        if (!plan.all_by_address && !large && !unaligned && bound < bindings) {
            ++bound;
            continue;
        }
        const bool has_address = plan.device_addresses && (!array || !array->memory || static_cast<const Buffer*>(array->memory)->range.block->address);
        const int64_t element_bytes = (*kernel)[kernel->params[size_t(parameter)].memory].element.size;
        if (unaligned && !has_address && bound < bindings && bound_below(*array, element_bytes, limits)) {
            ++bound;
            options.shifted.resize(kernel->params.size());
            options.shifted[size_t(parameter)] = true;
            continue;
        }
        if (!plan.device_addresses) {
            const std::string which = text(kernel->label(size_t(parameter)), " of ", named(*kernel));
            if (large)
                fail(which, " spans ", array->bytes, " bytes, and ", context.name, " binds at most ",
                     limits.maxStorageBufferRange, " and has no device addresses");
            if (unaligned && bound < bindings)
                fail(which, " begins at byte ", array->offset, " of its memory, and ", context.name, " binds at most ",
                     limits.maxStorageBufferRange, " bytes from a multiple of ", limits.minStorageBufferOffsetAlignment,
                     " on and has no device addresses");
            fail(named(*kernel), " has ", arrays.size(), " array arguments, and ", context.name, " binds at most ",
                 bindings, " and has no device addresses");
        }
        options.by_address[size_t(parameter)] = any = true;
    }
    if (!any) options.by_address.clear();
    if (options.wide_offsets && !plan.int64)
        fail(named(*kernel), " is given an array of more than ", std::numeric_limits<int32_t>::max(),
             " elements, and ", context.name, " has no 64-bit integers to index it");
    return options;
}

Variant& Variants::variant(Context& context, const codegen::Options& options) {
    for (const Made& one : made)
        if (one.options == options) return *one.variant;
    made.push_back({options, std::make_unique<Variant>(context, source(options), *kernel)});
    return *made.back().variant;
}

void Variants::prepare(Context& context) {
    const std::lock_guard lock(mutex);
    variant(context, options_for(context, nullptr));
}

Variants::Choice Variants::choose(Context& context, VkPipelineCache cache, const Launch& launch) {
    const std::lock_guard lock(mutex);
    Variant& chosen = !made.empty() && ordinary(context, launch) ? *made.front().variant
                                                                 : variant(context, options_for(context, &launch));
    return {&chosen, chosen.pipeline(context, cache, *kernel, launch)};
}

void Variants::destroy(Context& context) {
    const std::lock_guard lock(mutex);
    for (const Made& one : made) one.variant->destroy(context);
    made.clear();
}

}  // namespace pumice::vulkan
