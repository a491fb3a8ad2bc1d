#include "vulkan/record.h"

#include "vulkan/command_recorder.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {

Recording::Recording(const pumice::Device& device) {
    const auto backend = std::dynamic_pointer_cast<VulkanDevice>(device.state->backend);
    if (!backend || !backend->context.wrapped)
        fail("vulkan::record is called for ", device.name(), ", which is no device of an application's (vulkan::wrap)");
    state = std::make_shared<CommandRecorder>(backend);
}

void Recording::record(VkCommandBuffer_T* commands, const std::function<void()>& act, const Around& around) {
    if (!state) throw Error("Recording::record is called for a recording without a device");
    state->record(commands, act, around);
}

void Recording::report() {
    if (state) state->report();
}

void Recording::release() {
    if (state) state->clear();
}

Recording record(const pumice::Device& device, VkCommandBuffer_T* commands, const std::function<void()>& act,
                 const Around& around) {
    Recording recording(device);
    try {
        recording.record(commands, act, around);
    } catch (...) {
        recording.state->abandon();
        throw;
    }
    return recording;
}

}  // namespace pumice::vulkan
