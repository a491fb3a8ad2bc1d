// The peer that Pumice is measured against: compute through plain Vulkan, as a careful programmer writes it by hand. It shares
// no code with the library. Descriptor sets, pipelines and the command buffer are made ahead; a launch is record, submit, wait.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <volk.h>

namespace raw {

/// A physical device's queue for compute, with one command buffer that is recorded again for each submission.
class Device {
public:
    /// Opens a device by its place in the loader's order. Throws std::runtime_error where that cannot be.
    explicit Device(uint32_t index);
    ~Device();
    Device(const Device&) = delete;

    // ---- the recording: begin, commands, submit_and_wait ----
    void begin();
    /// Makes what dispatches so far wrote visible to the ones that follow.
    void barrier();
    /// Makes the results visible to the host, submits, and blocks until they are there.
    void submit_and_wait();

    uint32_t memory_type(uint32_t allowed, VkMemoryPropertyFlags wanted) const;
    void check(VkResult result, const char* call) const;

    std::string name;
    bool software = false;  ///< runs on the host's processor
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;

    /// Makes the results visible to what comes after on the queue, and submits. wait() follows before the next begin().
    void submit();
    void wait();

    // The arguments of vulkan::wrap.
    static VkInstance instance();
    VkQueue queue = VK_NULL_HANDLE;
    uint32_t family = 0;
    std::vector<const char*> extensions;
    VkPhysicalDeviceVulkan12Features features{};

private:
    VkCommandPool pool = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    VkPhysicalDeviceMemoryProperties memory{};
};

/// A storage buffer in the device's own memory; the host reaches it directly where it can, else through a staging buffer.
class Buffer {
public:
    Buffer(Device& device, size_t bytes, bool staging = false);
    template <class T> Buffer(Device& device, const std::vector<T>& host) : Buffer(device, host.size() * sizeof(T)) {
        upload(host);
    }
    ~Buffer();
    Buffer(const Buffer&) = delete;

    void upload(const void* from, size_t count);
    void download(void* to, size_t count);
    template <class T> void upload(const std::vector<T>& host) { upload(host.data(), host.size() * sizeof(T)); }
    template <class T> std::vector<T> download() {
        std::vector<T> host(bytes / sizeof(T));
        download(host.data(), bytes);
        return host;
    }

    VkBuffer buffer = VK_NULL_HANDLE;
    const size_t bytes;

private:
    Device& device;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    void* mapped = nullptr;
};

/// A sampled image of format rgba8_unorm with one level, in the layout for reads by shaders.
class Image {
public:
    /// `linear`: its sampler filters linearly, with coordinates clamped to the edge; otherwise to the nearest texel.
    Image(Device& device, uint32_t width, uint32_t height, bool linear, const std::vector<uint8_t>& pixels);
    ~Image();
    Image(const Image&) = delete;

    VkImageView view = VK_NULL_HANDLE;
    VkSampler sampler = VK_NULL_HANDLE;

private:
    Device& device;
    VkImage image = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
};

/// SPIR-V of GLSL, as `glslc -O --target-env=vulkan1.2` makes it. Throws std::runtime_error with the compiler's message.
std::vector<uint32_t> compile_glsl(const std::string& glsl, const std::string& name);

/// A compute shader whose storage buffers are the bindings 0, 1, ... of set 0, and whose sampled images are those after them.
class Pipeline {
public:
    /// The driver compiles anew unless `cache` already holds the pipeline. `max_sets`: how many bindings() may be made.
    Pipeline(Device& device, const std::vector<uint32_t>& spirv, uint32_t buffers, uint32_t push_bytes, uint32_t max_sets = 4,
             VkPipelineCache cache = VK_NULL_HANDLE, uint32_t images = 0);
    Pipeline(Device& device, const std::string& name, const std::string& glsl, uint32_t buffers, uint32_t push_bytes,
             uint32_t max_sets = 4, uint32_t images = 0)
        : Pipeline(device, compile_glsl(glsl, name), buffers, push_bytes, max_sets, VK_NULL_HANDLE, images) {}
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;

    /// A descriptor set of these buffers and images, which lives as long as the pipeline.
    VkDescriptorSet bindings(const std::vector<const Buffer*>& buffers, const std::vector<const Image*>& images = {});
    void bind();
    /// Records one dispatch; the pipeline is bound.
    void dispatch(VkDescriptorSet set, const void* push, uint32_t x, uint32_t y = 1, uint32_t z = 1);

private:
    Device& device;
    uint32_t push_bytes;
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
};

}  // namespace raw
