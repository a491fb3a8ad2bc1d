// Kernels on a device: which module a launch takes, and pipelines for each group size.
//
// A kernel has several modules, best first. The device runs those whose `wants` are all properties of it, and whose bindings and
// push constants are within its limits. Of these, a launch takes the first one that can bind its arrays; shifted ones come last.
#include "runtime/vulkan/rt_program.h"

#include <stdio.h>

#include "runtime/vulkan/rt_arrays.h"

namespace pumice_rt::vulkan {
namespace {

/// True if the device has what the module wants, and room for its push constants.
bool suits(const Context& context, const ModuleRecord& module) {
    const uint32_t most = context.facts.basic.limits.maxPushConstantsSize;
    return !(module.wants & ~context.plan.properties) && module.push_bytes <= most && module.push_bytes <= most_push_bytes;
}

/// The module as a shader, without handles.
Shader* make_shader(Context& context, const Bundle& bundle, const ModuleRecord& module, uint32_t number) {
    Shader* const shader = make<Shader>(context.hooks);
    if (!shader) return nullptr;
    shader->module = &module;
    shader->number = number;
    for (uint32_t i = 0; i < module.bindings.count; ++i) {
        const BindingRecord& binding = bundle.bindings[module.bindings.first + i];
        if (binding.binding + 1 > shader->bindings) shader->bindings = binding.binding + 1;
        shader->reports |= binding.argument == BindingRecord::ring;
        shader->locks |= binding.argument == BindingRecord::locks;
        shader->broken |= binding.argument == BindingRecord::argument_block && module.block_bytes == 0;
    }
    for (const RecordRange* span : {&module.push, &module.block})
        for (uint32_t i = 0; i < span->count; ++i) {
            const FieldRecord& field = bundle.fields[span->first + i];
            shader->wide |= FieldKind(field.kind) == FieldKind::extent && (field.type == PUMICE_I64 || field.type == PUMICE_U64);
            shader->addresses += FieldKind(field.kind) == FieldKind::address;
        }
    return shader;
}

/// The error of a kernel that no module of its bundle lets run on the device.
pumice_status no_module(const Context& context, const Bundle& bundle, const KernelRecord& kernel) {
    const char *const name = bundle.text(kernel.name), *const source = bundle.text(kernel.source);
    if (kernel.modules.count == 0)
        return fail(PUMICE_ERROR_FEATURE, "kernel \"%s\" (%s) was not built for Vulkan devices, such as %s", name, source,
                    context.name);
    // The features that the kernel cannot do without; else what the module that lacks least lacks.
    uint64_t lacking = ~0ull;
    for (uint32_t i = 0; i < kernel.modules.count; ++i) {
        const ModuleRecord& module = bundle.modules[kernel.modules.first + i];
        const uint64_t all = module.wants & ~context.plan.properties, features = all & module.features;
        const uint64_t one = features ? features : all;
        if (__builtin_popcountll(one) < __builtin_popcountll(lacking)) lacking = one;
    }
    if (lacking == 0)
        return fail(PUMICE_ERROR_FEATURE,
                    "kernel \"%s\" (%s) has more arguments than %s binds: at most %u arrays and %u bytes of scalars", name,
                    source, context.name, context.plan.max_bindings, context.facts.basic.limits.maxPushConstantsSize);
    char names[256] = "";
    const char* last = "";
    for (size_t used = 0; lacking && used < sizeof names - 1; lacking &= lacking - 1) {
        const char* const one = property_name(lacking);  // the same for all defects
        if (one != last) used += size_t(snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", one));
        last = one;
    }
    return fail(PUMICE_ERROR_FEATURE, "kernel \"%s\" (%s) needs %s, which %s does not have", name, source, names, context.name);
}

/// The reason why a launch cannot use a shader.
struct ShaderRefusal {
    uint32_t argument = 0;
    enum { none, too_long, unaligned, too_many_elements, no_address } reason = none;
};

/// True if 32 bits do not number the elements.
bool has_many_elements(const Launch& launch, uint32_t argument) {
    const int64_t bytes = launch.arguments[argument].bytes;
    return bytes > INT32_MAX && bytes / launch.parameter(argument).element_bytes > INT32_MAX;
}

ShaderRefusal refuses(const Context& context, const Shader& shader, const Launch& launch) {
    const Bundle& bundle = *launch.bundle;
    const VkPhysicalDeviceLimits& limits = context.facts.basic.limits;
    const bool shifted = shader.module->flags & ModuleRecord::shifted;
    for (uint32_t i = 0; i < shader.module->bindings.count; ++i) {
        const BindingRecord& binding = bundle.bindings[shader.module->bindings.first + i];
        if (binding.argument < 0) continue;
        const uint32_t argument = uint32_t(binding.argument);
        const Launch::Argument& array = launch.arguments[argument];
        if (!array.memory) continue;
        const int64_t begin = static_cast<const VulkanMemory*>(array.memory)->range.offset + array.offset;
        if (array.bytes > int64_t(limits.maxStorageBufferRange)) return {argument, ShaderRefusal::too_long};
        const int64_t element_bytes = launch.parameter(argument).element_bytes;
        if (!shader.wide && has_many_elements(launch, argument)) return {argument, ShaderRefusal::too_many_elements};
        const bool fits = shifted ? shifted_begin(begin, begin + array.bytes, element_bytes, limits) >= 0
                                  : begin % int64_t(limits.minStorageBufferOffsetAlignment) == 0;
        if (!fits) return {argument, ShaderRefusal::unaligned};
    }
    for (const RecordRange* span : {&shader.module->push, &shader.module->block})
        for (uint32_t i = 0; i < span->count; ++i) {
            const FieldRecord& field = bundle.fields[span->first + i];
            const FieldKind kind = FieldKind(field.kind);
            if (kind != FieldKind::address && kind != FieldKind::extent) continue;
            const Launch::Argument& array = launch.arguments[field.index];
            if (!shader.wide &&
                (kind == FieldKind::extent ? array.extents[field.axis] > INT32_MAX : has_many_elements(launch, field.index)))
                return {field.index, ShaderRefusal::too_many_elements};
            if (kind == FieldKind::address && array.memory &&
                !static_cast<const VulkanMemory*>(array.memory)->range.block->address)
                return {field.index, ShaderRefusal::no_address};
        }
    return {};
}

pumice_status refused(const Context& context, const Launch& launch, const ShaderRefusal& refusal) {
    const Launch::Argument& array = launch.arguments[refusal.argument];
    const char *const name = launch.kernel_name(), *const source = launch.bundle->text(launch.record().source);
    const unsigned number = refusal.argument + 1;
    switch (refusal.reason) {
        case ShaderRefusal::too_long:
            return fail(PUMICE_ERROR_ARGUMENT, "kernel \"%s\" (%s): argument %u spans %lld bytes, and %s binds at most %u", name,
                        source, number, longest(array.bytes), context.name, context.facts.basic.limits.maxStorageBufferRange);
        case ShaderRefusal::unaligned:
            return fail(
                PUMICE_ERROR_ARGUMENT,
                "kernel \"%s\" (%s): argument %u begins at byte %lld of its memory; %s binds arrays at multiples of %llu bytes, "
                "and the kernel was built for no others",
                name, source, number, longest(array.offset), context.name,
                static_cast<unsigned long long>(context.facts.basic.limits.minStorageBufferOffsetAlignment));
        case ShaderRefusal::too_many_elements:
            return fail(PUMICE_ERROR_ARGUMENT,
                        "kernel \"%s\" (%s): argument %u has more than %d elements, and the kernel was built for fewer", name,
                        source, number, INT32_MAX);
        default:
            return fail(
                PUMICE_ERROR_ARGUMENT,
                "kernel \"%s\" (%s): argument %u is reached by its address, which an application's buffer does not have on %s",
                name, source, number, context.name);
    }
}

pumice_status make_handles(Context& context, Shader& shader, const Bundle& bundle) {
    if (shader.layout) return PUMICE_OK;
    const ModuleRecord& module = *shader.module;
    if (!shader.handle) {
        auto info = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
        info.codeSize = size_t(module.words.count) * 4;
        info.pCode = bundle.words + module.words.first;
        RT_TRY(
            context.check(context.vk.CreateShaderModule(context.device, &info, nullptr, &shader.handle), "vkCreateShaderModule"));
    }
    if (!shader.set_layout) {
        VkDescriptorSetLayoutBinding bindings[most_buffers];
        for (uint32_t i = 0; i < shader.bindings; ++i)
            bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
        auto set = structure<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
        set.flags = context.plan.push_descriptors ? uint32_t(VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR) : 0;
        set.bindingCount = shader.bindings;
        set.pBindings = bindings;
        RT_TRY(context.check(context.vk.CreateDescriptorSetLayout(context.device, &set, nullptr, &shader.set_layout),
                             "vkCreateDescriptorSetLayout"));
    }
    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, (module.push_bytes + 3) / 4 * 4};
    auto info = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
    info.setLayoutCount = 1;
    info.pSetLayouts = &shader.set_layout;
    info.pushConstantRangeCount = module.push_bytes > 0;
    info.pPushConstantRanges = &push;
    return context.check(context.vk.CreatePipelineLayout(context.device, &info, nullptr, &shader.layout),
                         "vkCreatePipelineLayout");
}

/// Checks the local arrays of a launch in groups of these extents.
pumice_status check_local(const Context& context, const Shader& shader, const Launch& launch, const int64_t (&group)[3]) {
    const Bundle& bundle = *launch.bundle;
    const KernelRecord& kernel = launch.record();
    const char *const name = launch.kernel_name(), *const source = bundle.text(kernel.source);
    const int64_t items = group[0] * group[1] * group[2];
    const char* const plural = items == 1 ? "" : "s";
    for (uint32_t i = 0; i < kernel.locals.count; ++i) {
        const int64_t elements = bundle.size_of(bundle.locals[kernel.locals.first + i].steps, group);
        if (elements < 1)
            return fail(
                PUMICE_ERROR_ARGUMENT,
                "kernel \"%s\" (%s) has a local array of %lld elements in a group of %lld work-item%s; it takes at least 1", name,
                source, longest(elements), longest(items), plural);
    }
    int64_t bytes = shader.module->local_bytes;
    for (uint32_t i = 0; i < shader.module->sized_locals.count; ++i) {
        const SizedLocalRecord& local = bundle.sized_locals[shader.module->sized_locals.first + i];
        bytes += bundle.size_of(local.steps, group) * local.element_bytes;
    }
    const int64_t limit = context.facts.basic.limits.maxComputeSharedMemorySize;
    if (bytes > limit)
        return fail(
            PUMICE_ERROR_ARGUMENT,
            "kernel \"%s\" (%s) needs %lld bytes of local memory for a group of %lld work-item%s; the limit of %s is %lld bytes",
            name, source, longest(bytes), longest(items), plural, context.name, longest(limit));
    return PUMICE_OK;
}

/// Values of specialisation constants: the group's extents, full_groups, at_origin, and the lengths of local arrays.
struct Constants {
    static constexpr uint32_t most = 64;
    uint32_t values[most];
    VkSpecializationMapEntry entries[most];
    uint32_t count = 0;
    void add(uint32_t id, uint32_t value) {
        entries[count] = {id, count * 4, 4};
        values[count++] = value;
    }
};

pumice_status fill_constants(const Shader& shader, const Launch& launch, const Pipeline& variant, Constants& constants) {
    const ModuleRecord& module = *shader.module;
    for (uint32_t axis = 0; axis < 3; ++axis) constants.add(axis, uint32_t(variant.group[axis]));
    if (module.flags & ModuleRecord::asks_full_groups) constants.add(3, variant.full_groups);
    if (module.flags & ModuleRecord::asks_at_origin) constants.add(4, variant.at_origin);
    if (module.sized_locals.count > Constants::most - constants.count)
        return fail(PUMICE_ERROR_BUNDLE,
                    "kernel \"%s\" has %u local arrays whose lengths depend on the group, and the limit is %u",
                    launch.kernel_name(), module.sized_locals.count, Constants::most - constants.count);
    for (uint32_t i = 0; i < module.sized_locals.count; ++i) {
        const SizedLocalRecord& local = launch.bundle->sized_locals[module.sized_locals.first + i];
        const int64_t size = launch.bundle->size_of(local.steps, variant.group), elements = size > 1 ? size : 1;
        constants.add(local.constant, uint32_t(local.in_words ? (elements * local.element_bytes + 3) / 4 : elements));
    }
    return PUMICE_OK;
}

}  // namespace

int64_t shifted_begin(int64_t begin, int64_t end, int64_t element_bytes, const VkPhysicalDeviceLimits& limits) {
    const int64_t step = int64_t(limits.minStorageBufferOffsetAlignment);
    // After as many steps as an element has bytes the remainders repeat.
    int64_t at = begin / step * step;
    for (int64_t n = 0; at >= 0 && n < element_bytes; at -= step, ++n) {
        if (end - at > int64_t(limits.maxStorageBufferRange)) return -1;
        if ((begin - at) % element_bytes == 0) return at;
    }
    return -1;
}

Pipeline variant_of(const Context& context, const Shader& shader, const Launch& launch) {
    Pipeline v{{launch.group[0], launch.group[1], launch.group[2]}, false, false, VK_NULL_HANDLE, {}, nullptr};
    const uint32_t flags = shader.module->flags;
    if (flags & ModuleRecord::asks_full_groups)
        v.full_groups =
            launch.extent[0] % v.group[0] == 0 && launch.extent[1] % v.group[1] == 0 && launch.extent[2] % v.group[2] == 0;
    if ((flags & ModuleRecord::asks_at_origin) && context.plan.pipelines_at_origin) {
        v.at_origin = true;
        for (int axis = 0; axis < 3; ++axis)
            v.at_origin = v.at_origin && launch.start[axis] == 0 &&
                          (launch.extent[axis] + v.group[axis] - 1) / v.group[axis] <=
                              int64_t(context.facts.basic.limits.maxComputeWorkGroupCount[axis]);
    }
    return v;
}

Pipeline* find_pipeline(const Shader& shader, const Pipeline& v) {
    for (Pipeline* one = shader.pipelines; one; one = one->next)
        if (one->group[0] == v.group[0] && one->group[1] == v.group[1] && one->group[2] == v.group[2] &&
            one->full_groups == v.full_groups && one->at_origin == v.at_origin)
            return one;
    return nullptr;
}

pumice_status make_program(Context& context, const Bundle& bundle, uint32_t number, VulkanProgram*& program) {
    const KernelRecord& kernel = bundle.kernels[number];
    program = make<VulkanProgram>(context.hooks);
    bool whole = program;
    if (whole) program->bundle = bundle.serial, program->kernel = number;
    Shader** last = whole ? &program->shaders : nullptr;
    // A shifted module can do every launch, at the cost of an addition an access: it comes after all others.
    for (const uint32_t shifted : {0u, ModuleRecord::shifted})
        for (uint32_t i = 0; i < kernel.modules.count && whole; ++i) {
            const ModuleRecord& module = bundle.modules[kernel.modules.first + i];
            if ((module.flags & ModuleRecord::shifted) != shifted || !suits(context, module)) continue;
            Shader* const shader = make_shader(context, bundle, module, i);
            whole = shader;
            if (!whole) break;
            // Each binding has one buffer: a module whose arrays share bindings is not for this reader.
            if (shader->broken || shader->bindings > context.plan.max_bindings || shader->bindings != module.bindings.count ||
                shader->bindings + shader->addresses > most_buffers) {
                destroy(context.hooks, shader);
                continue;
            }
            *last = shader;
            last = &shader->next;
        }
    if (whole && program->shaders) return PUMICE_OK;
    destroy_program(context, program);
    return whole ? no_module(context, bundle, kernel)
                 : fail(PUMICE_ERROR_MEMORY, "the host has no memory for kernel \"%s\"", bundle.text(kernel.name));
}

pumice_status choose_shader(const Context& context, const VulkanProgram& program, const Launch& launch, Shader*& shader) {
    ShaderRefusal first;
    for (Shader* one = program.shaders; one; one = one->next) {
        const ShaderRefusal refusal = refuses(context, *one, launch);
        if (refusal.reason == ShaderRefusal::none) {
            shader = one;
            return PUMICE_OK;
        }
        if (one == program.shaders) first = refusal;
    }
    return refused(context, launch, first);
}

pumice_status make_pipeline(Context& context, PipelineCache& cache, Shader& shader, const Launch& launch, Pipeline& variant) {
    const ModuleRecord& module = *shader.module;
    RT_TRY(check_local(context, shader, launch, variant.group));
    RT_TRY(make_handles(context, shader, *launch.bundle));
    Constants constants;
    RT_TRY(fill_constants(shader, launch, variant, constants));
    const VkSpecializationInfo specialization{constants.count, constants.entries, constants.count * 4, constants.values};
    auto info = structure<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = shader.handle;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialization;
    info.layout = shader.layout;
    // Slices do not begin at the first group.
    if (variant.at_origin && context.plan.most_seconds > 0) info.flags |= VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
    auto size = structure<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    size.requiredSubgroupSize = context.plan.required_subgroup_size;
    // If a device allows fewer subgroups of a required size than a group has, no size is required (lavapipe).
    const uint64_t items = uint64_t(variant.group[0] * variant.group[1] * variant.group[2]);
    const uint64_t most_items = uint64_t(size.requiredSubgroupSize) * context.facts.max_group_subgroups;
    if ((module.flags & ModuleRecord::subgroups) && size.requiredSubgroupSize > 0 && items <= most_items) {
        info.stage.pNext = &size;
        // Work-items are assigned to subgroups along axis 0.
        if ((context.plan.features & feature::full_subgroups) && variant.group[0] % int64_t(size.requiredSubgroupSize) == 0)
            info.stage.flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    }
    const pumice_status status = cache.make(info, variant.handle);
    return status == PUMICE_OK ? status : within(status, ", while making the pipeline of kernel \"%s\"", launch.kernel_name());
}

void destroy_program(Context& context, VulkanProgram* program) {
    if (!program) return;
    while (Shader* const shader = program->shaders) {
        program->shaders = shader->next;
        while (Pipeline* const one = shader->pipelines) {
            shader->pipelines = one->next;
            context.vk.DestroyPipeline(context.device, one->handle, nullptr);
            destroy(context.hooks, one);
        }
        // Vulkan ignores null handles.
        context.vk.DestroyPipelineLayout(context.device, shader->layout, nullptr);
        context.vk.DestroyDescriptorSetLayout(context.device, shader->set_layout, nullptr);
        context.vk.DestroyShaderModule(context.device, shader->handle, nullptr);
        destroy(context.hooks, shader);
    }
    destroy(context.hooks, program);
}

}  // namespace pumice_rt::vulkan
