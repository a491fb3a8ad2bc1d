// The same frame by hand-written Vulkan: the peer of the fluid's kernels. It shares no code with them but the constants of a
// frame.
#pragma once
#include <vector>

#include "samples/fluid/fluid_kernels.h"
#include "samples/fluid/screen.h"

namespace fluid {

class ByHand {
public:
    ByHand(Screen& screen, int width, int height);
    ~ByHand();
    ByHand(const ByHand&) = delete;

    /// Room for pixels of this size, for each frame in flight. No frame may be under way.
    void resize(VkExtent2D extent);
    /// Records the frame's dispatches, the last of which paints into pixels(slot).
    void record(VkCommandBuffer commands, const Step& step, uint32_t slot, bool bgra);
    VkBuffer pixels(uint32_t slot) const { return painted[slot].buffer; }
    /// The pixels of a slot; the device is idle.
    std::vector<uint32_t> download(uint32_t slot) const;

private:
    struct Buffer {
        VkBuffer buffer = VK_NULL_HANDLE;
        VkDeviceMemory memory = VK_NULL_HANDLE;
    };
    struct Pipeline {
        VkPipeline pipeline = VK_NULL_HANDLE;
        VkPipelineLayout layout = VK_NULL_HANDLE;
        VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
        uint32_t buffers = 0;
    };
    Buffer make_buffer(VkDeviceSize bytes, VkMemoryPropertyFlags properties);
    void drop(Buffer& buffer);
    Pipeline make_pipeline(const char* name, const char* body, uint32_t buffers);
    VkDescriptorSet bind(const Pipeline& pipeline, std::initializer_list<VkBuffer> buffers);
    void dispatch(VkCommandBuffer commands, const Pipeline& pipeline, VkDescriptorSet set, const void* constants, uint32_t bytes,
                  VkExtent2D items);

    Screen& screen;
    const int width, height;
    VkExtent2D extent{};
    VkDescriptorPool pool = VK_NULL_HANDLE;
    Pipeline push, curl, confine, diverge, relax, project, advect_velocity, advect_dye, shade;
    Buffer velocity[2], dye[2], pressure[2], divergence, vorticity;
    Buffer painted[Screen::frames_in_flight];
    // Sets by which half of a pair holds the current field.
    VkDescriptorSet push_set[2], curl_set[2], confine_set[2], diverge_set[2], relax_set[2], project_set[2], velocity_set[2],
        dye_set[2], shade_set[Screen::frames_in_flight][2];
    int current = 0;
};

}  // namespace fluid
