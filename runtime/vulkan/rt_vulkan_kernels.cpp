// The kernels that a device has run: their programs, and the choice and making of pipelines.
//
// In steady state the choice allocates nothing, and begins with the last program. A missing pipeline is made without
// the queue's mutex.
#include "runtime/vulkan/rt_vulkan_kernels.h"

#include "runtime/vulkan/rt_group_size.h"

namespace pumice_rt::vulkan {

pumice_status set_group(const Context& context, Launch& launch) {
    const VkPhysicalDeviceLimits& limits = context.facts.basic.limits;
    const KernelRecord& kernel = launch.record();
    if (launch.group[0] == 0 && kernel.group[0] == 0) {
        GroupLimits with{
            limits.maxComputeWorkGroupInvocations, {}, {}, limits.maxComputeSharedMemorySize, context.plan.row_groups};
        for (int axis = 0; axis < 3; ++axis) {
            with.max_extent[axis] = limits.maxComputeWorkGroupSize[axis];
            with.max_count[axis] = limits.maxComputeWorkGroupCount[axis];
        }
        choose_group(launch, with, launch.group);
        return PUMICE_OK;
    }
    for (int axis = 0; axis < 3; ++axis) {
        if (launch.group[0] == 0 || kernel.group[0] != 0) launch.group[axis] = kernel.group[axis];
        if (launch.group[axis] > limits.maxComputeWorkGroupSize[axis])
            return fail(PUMICE_ERROR_ARGUMENT,
                        "kernel \"%s\" (%s): its group has extent %lld along axis %d; the limit of %s is %u",
                        launch.kernel_name(), launch.bundle->text(kernel.source), longest(launch.group[axis]), axis, context.name,
                        limits.maxComputeWorkGroupSize[axis]);
    }
    const int64_t items = launch.group[0] * launch.group[1] * launch.group[2];
    if (items > limits.maxComputeWorkGroupInvocations)
        return fail(PUMICE_ERROR_ARGUMENT, "kernel \"%s\" (%s): its group has %lld work-items; the limit of %s is %u",
                    launch.kernel_name(), launch.bundle->text(kernel.source), longest(items), context.name,
                    limits.maxComputeWorkGroupInvocations);
    return PUMICE_OK;
}

VulkanProgram* Kernels::find_program(const Bundle& bundle, uint32_t kernel) {
    if (last_program && last_program->bundle == bundle.serial && last_program->kernel == kernel) return last_program;
    for (VulkanProgram* one = programs[(bundle.serial * 31 + kernel) % program_lists]; one; one = one->next)
        if (one->bundle == bundle.serial && one->kernel == kernel) return last_program = one;
    return nullptr;
}

pumice_status Kernels::choose(const Launch& launch, Shader*& shader, Pipeline*& pipeline, bool& missing) {
    missing = true;
    const VulkanProgram* const program = find_program(*launch.bundle, launch.kernel);
    if (!program) return PUMICE_OK;
    RT_TRY(choose_shader(context, *program, launch, shader));
    pipeline = find_pipeline(*shader, variant_of(context, *shader, launch));
    missing = !pipeline || (shader->locks && !own.lock_words);
    return PUMICE_OK;
}

/// `building` is held.
pumice_status Kernels::need_program(const Bundle& bundle, uint32_t kernel, VulkanProgram*& program) {
    {
        const Lock lock(queue.mutex);
        program = find_program(bundle, kernel);
    }
    if (program) return PUMICE_OK;
    RT_TRY(make_program(context, bundle, kernel, program));
    const Lock lock(queue.mutex);
    VulkanProgram*& list = programs[(bundle.serial * 31 + kernel) % program_lists];
    program->next = list;
    list = program;
    return PUMICE_OK;
}

pumice_status Kernels::build(const Launch& launch) {
    const Lock alone(building);
    VulkanProgram* program = nullptr;
    RT_TRY(need_program(*launch.bundle, launch.kernel, program));
    Shader* shader = nullptr;
    Pipeline variant{};
    bool exists;
    {
        const Lock lock(queue.mutex);
        RT_TRY(choose_shader(context, *program, launch, shader));
        variant = variant_of(context, *shader, launch);
        exists = find_pipeline(*shader, variant);
    }
    if (shader->locks && !own.lock_words) {
        VulkanMemory* words = nullptr;
        RT_TRY(transfers.allocate(int64_t(BindingRecord::lock_count) * 4, words));
        const Lock lock(queue.mutex);
        own.lock_words = words;
    }
    if (exists) return PUMICE_OK;
    RT_TRY(make_pipeline(context, pipelines, *shader, launch, variant));
    device.log("kernel %s: pipeline of module %u for groups of %lld x %lld x %lld", launch.kernel_name(), shader->number,
               longest(variant.group[0]), longest(variant.group[1]), longest(variant.group[2]));
    Pipeline* const made = make<Pipeline>(device.hooks, variant);
    if (!made) {
        context.vk.DestroyPipeline(context.device, variant.handle, nullptr);
        return fail(PUMICE_ERROR_MEMORY, "the host has no memory for the pipeline of kernel \"%s\"", launch.kernel_name());
    }
    const Lock lock(queue.mutex);
    made->next = shader->pipelines;
    shader->pipelines = made;
    return PUMICE_OK;
}

pumice_status Kernels::prepare(const Bundle& bundle, const pumice_library& library, uint32_t number) {
    RT_TRY(context.alive());
    const KernelRecord& kernel = bundle.kernels[number];
    {
        const Lock alone(building);
        VulkanProgram* program = nullptr;
        RT_TRY(need_program(bundle, number, program));
    }
    if (kernel.parameters.count > most_arguments) return PUMICE_OK;
    // The pipeline of the most likely launch: arrays at good offsets, a large range, the kernel's groups or the default ones.
    Launch launch;
    Launch::Argument nothing[most_arguments];
    launch.bundle = &bundle;
    launch.library = &library;
    launch.kernel = number;
    launch.rank = kernel.rank > 0 ? int(kernel.rank) : 1;
    for (int axis = 0; axis < 3; ++axis)
        launch.extent[axis] = kernel.range[0] ? kernel.range[axis] : axis < launch.rank ? int64_t(1) << (20 / launch.rank) : 1;
    launch.arguments = nothing;
    launch.argument_count = kernel.parameters.count;
    RT_TRY(set_group(context, launch));
    return build(launch);
}

void Kernels::stop() {
    pipelines.save();
    for (VulkanProgram*& list : programs)
        while (VulkanProgram* const program = list) {
            list = program->next;
            destroy_program(context, program);
        }
}

}  // namespace pumice_rt::vulkan
