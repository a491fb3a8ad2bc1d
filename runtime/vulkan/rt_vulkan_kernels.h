// The kernels that a device has run: their programs, and the choice and making of pipelines.
#pragma once
#include "runtime/vulkan/rt_program.h"
#include "runtime/vulkan/rt_transfer.h"

namespace pumice_rt::vulkan {

/// Chooses the extents of groups if the launch does not, and checks them.
pumice_status set_group(const Context& context, Launch& launch);

class Kernels {
public:
    Kernels(pumice_device_t& device, Context& context, Queue& queue, Transfers& transfers, OwnMemory& own)
        : device(device), context(context), queue(queue), transfers(transfers), own(own), pipelines(context) {}

    pumice_status start() { return pipelines.start(); }
    /// The device is idle.
    void stop();
    /// Finds shader and pipeline; `missing` if they have to be made first. The queue's mutex is held.
    pumice_status choose(const Launch& launch, Shader*& shader, Pipeline*& pipeline, bool& missing);
    /// Makes what a launch needs and does not exist: program, pipeline, locks. Without the queue's mutex.
    pumice_status build(const Launch& launch);
    /// Makes what the most likely launch of a kernel needs.
    pumice_status prepare(const Bundle& bundle, const pumice_library& library, uint32_t kernel);

private:
    VulkanProgram* find_program(const Bundle& bundle, uint32_t kernel);
    pumice_status need_program(const Bundle& bundle, uint32_t kernel, VulkanProgram*& program);

    pumice_device_t& device;
    Context& context;
    Queue& queue;
    Transfers& transfers;
    OwnMemory& own;
    PipelineCache pipelines;
    Mutex building;  // before the mutexes of arrays and queue
    static constexpr uint32_t program_lists = 64;
    VulkanProgram* programs[program_lists] = {};
    VulkanProgram* last_program = nullptr;
};

}  // namespace pumice_rt::vulkan
