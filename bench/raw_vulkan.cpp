#define VOLK_IMPLEMENTATION
#include "bench/raw_vulkan.h"

#include <cstring>
#include <stdexcept>

namespace raw {
namespace {

void require(VkResult result, const char* call) {
    if (result != VK_SUCCESS) throw std::runtime_error(std::string(call) + " gives VkResult " + std::to_string(result));
}

VkInstance make_instance() {
    if (volkInitialize() != VK_SUCCESS) throw std::runtime_error("raw Vulkan finds no loader (libvulkan.so.1)");
    VkApplicationInfo app{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    VkInstance instance;
    require(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
    volkLoadInstanceOnly(instance);
    return instance;
}

}  // namespace

/// One for the process, never destroyed, as Pumice's: the threads that lavapipe computes on belong to it.
VkInstance Device::instance() {
    static const VkInstance one = make_instance();
    return one;
}

Device::Device(uint32_t index) {
    const VkInstance of = instance();  // loads the functions
    uint32_t count = 0;
    check(vkEnumeratePhysicalDevices(of, &count, nullptr), "vkEnumeratePhysicalDevices");
    std::vector<VkPhysicalDevice> all(count);
    check(vkEnumeratePhysicalDevices(of, &count, all.data()), "vkEnumeratePhysicalDevices");
    if (index >= count) throw std::runtime_error("raw Vulkan finds no device " + std::to_string(index));
    physical = all[index];
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(physical, &properties);
    name = properties.deviceName;
    software = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    vkGetPhysicalDeviceMemoryProperties(physical, &memory);

    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
    while (family < count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) ++family;
    if (family == count) throw std::runtime_error(name + " has no queue for compute");

    const float priority = 1;
    VkDeviceQueueCreateInfo queue_info{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                       .queueFamilyIndex = family,
                                       .queueCount = 1,
                                       .pQueuePriorities = &priority};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features.timelineSemaphore = VK_TRUE;
    check(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr), "vkEnumerateDeviceExtensionProperties");
    std::vector<VkExtensionProperties> offered(count);
    check(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, offered.data()),
          "vkEnumerateDeviceExtensionProperties");
    for (const VkExtensionProperties& one : offered)
        if (std::strcmp(one.extensionName, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME) == 0)
            extensions = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME};
    VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                            .pNext = &features,
                            .queueCreateInfoCount = 1,
                            .pQueueCreateInfos = &queue_info,
                            .enabledExtensionCount = uint32_t(extensions.size()),
                            .ppEnabledExtensionNames = extensions.data()};
    check(vkCreateDevice(physical, &info, nullptr, &device), "vkCreateDevice");
    volkLoadDevice(device);
    vkGetDeviceQueue(device, family, 0, &queue);

    VkCommandPoolCreateInfo pool_info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family};
    check(vkCreateCommandPool(device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
    VkCommandBufferAllocateInfo commands_info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    check(vkAllocateCommandBuffers(device, &commands_info, &commands), "vkAllocateCommandBuffers");
    VkFenceCreateInfo fence_info{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    check(vkCreateFence(device, &fence_info, nullptr, &fence), "vkCreateFence");
}

Device::~Device() {
    if (device) {
        vkDeviceWaitIdle(device);
        vkDestroyFence(device, fence, nullptr);
        vkDestroyCommandPool(device, pool, nullptr);
        vkDestroyDevice(device, nullptr);
    }
}

void Device::check(VkResult result, const char* call) const { require(result, call); }

uint32_t Device::memory_type(uint32_t allowed, VkMemoryPropertyFlags wanted) const {
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
        if ((allowed >> i & 1) && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
    return UINT32_MAX;
}

void Device::begin() {
    check(vkResetCommandPool(device, pool, 0), "vkResetCommandPool");
    VkCommandBufferBeginInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                  .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    check(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
}

void Device::barrier() {
    VkMemoryBarrier all{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &all, 0,
                         nullptr, 0, nullptr);
}

void Device::submit_and_wait() {
    VkMemoryBarrier to_host{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                            .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                            .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, nullptr, 0, nullptr);
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    check(vkQueueSubmit(queue, 1, &submit, fence), "vkQueueSubmit");
    check(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    check(vkResetFences(device, 1, &fence), "vkResetFences");
}

void Device::submit() {
    barrier();
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    check(vkQueueSubmit(queue, 1, &info, fence), "vkQueueSubmit");
}

void Device::wait() {
    check(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    check(vkResetFences(device, 1, &fence), "vkResetFences");
}

Buffer::Buffer(Device& device, size_t bytes, bool staging) : bytes(bytes), device(device) {
    VkBufferCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = bytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    device.check(vkCreateBuffer(device.device, &info, nullptr, &buffer), "vkCreateBuffer");
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device.device, buffer, &needs);
    constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    // A discrete GPU's window into its own memory is small, and slow to read: mapped device memory is for software drivers only.
    const VkMemoryPropertyFlags wanted = staging ? host : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | (device.software ? host : 0);
    VkMemoryAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  .allocationSize = needs.size,
                                  .memoryTypeIndex = device.memory_type(needs.memoryTypeBits, wanted)};
    if (allocate.memoryTypeIndex == UINT32_MAX) throw std::runtime_error("raw Vulkan finds no memory for a buffer");
    device.check(vkAllocateMemory(device.device, &allocate, nullptr, &memory), "vkAllocateMemory");
    device.check(vkBindBufferMemory(device.device, buffer, memory, 0), "vkBindBufferMemory");
    if ((wanted & host) == host) {
        device.check(vkMapMemory(device.device, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
        std::memset(mapped, 0, bytes);
    }
}

Buffer::~Buffer() {
    vkDestroyBuffer(device.device, buffer, nullptr);
    vkFreeMemory(device.device, memory, nullptr);
}

void Buffer::upload(const void* from, size_t count) {
    if (mapped) {
        std::memcpy(mapped, from, count);
        return;
    }
    Buffer staging(device, count, true);
    std::memcpy(staging.mapped, from, count);
    VkBufferCopy whole{0, 0, count};
    device.begin();
    vkCmdCopyBuffer(device.commands, staging.buffer, buffer, 1, &whole);
    device.submit_and_wait();
}

void Buffer::download(void* to, size_t count) {
    if (mapped) {
        std::memcpy(to, mapped, count);
        return;
    }
    Buffer staging(device, count, true);
    VkBufferCopy whole{0, 0, count};
    device.begin();
    vkCmdCopyBuffer(device.commands, buffer, staging.buffer, 1, &whole);
    device.submit_and_wait();
    std::memcpy(to, staging.mapped, count);
}

Image::Image(Device& device, uint32_t width, uint32_t height, bool linear, const std::vector<uint8_t>& pixels) : device(device) {
    constexpr VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    VkImageCreateInfo info{.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                           .imageType = VK_IMAGE_TYPE_2D,
                           .format = format,
                           .extent = {width, height, 1},
                           .mipLevels = 1,
                           .arrayLayers = 1,
                           .samples = VK_SAMPLE_COUNT_1_BIT,
                           .tiling = VK_IMAGE_TILING_OPTIMAL,
                           .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                           .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED};
    device.check(vkCreateImage(device.device, &info, nullptr, &image), "vkCreateImage");
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(device.device, image, &needs);
    VkMemoryAllocateInfo allocate{
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs.size,
        .memoryTypeIndex = device.memory_type(needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)};
    if (allocate.memoryTypeIndex == UINT32_MAX) throw std::runtime_error("raw Vulkan finds no memory for an image");
    device.check(vkAllocateMemory(device.device, &allocate, nullptr, &memory), "vkAllocateMemory");
    device.check(vkBindImageMemory(device.device, image, memory, 0), "vkBindImageMemory");

    constexpr VkImageSubresourceRange whole{VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    Buffer staging(device, pixels.size());
    staging.upload(pixels);
    const auto transition = [&](VkImageLayout from, VkImageLayout to, VkAccessFlags before, VkAccessFlags after) {
        VkImageMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                     .srcAccessMask = before,
                                     .dstAccessMask = after,
                                     .oldLayout = from,
                                     .newLayout = to,
                                     .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                     .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                     .image = image,
                                     .subresourceRange = whole};
        vkCmdPipelineBarrier(device.commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                             nullptr, 0, nullptr, 1, &barrier);
    };
    VkBufferImageCopy copy{.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {width, height, 1}};
    device.begin();
    transition(VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 0, VK_ACCESS_TRANSFER_WRITE_BIT);
    vkCmdCopyBufferToImage(device.commands, staging.buffer, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &copy);
    transition(VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, VK_ACCESS_TRANSFER_WRITE_BIT,
               VK_ACCESS_SHADER_READ_BIT);
    device.submit_and_wait();

    VkImageViewCreateInfo view_info{.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                    .image = image,
                                    .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                    .format = format,
                                    .subresourceRange = whole};
    device.check(vkCreateImageView(device.device, &view_info, nullptr, &view), "vkCreateImageView");
    const VkFilter filter = linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
    VkSamplerCreateInfo sampler_info{.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                     .magFilter = filter,
                                     .minFilter = filter,
                                     .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                     .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                     .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
    device.check(vkCreateSampler(device.device, &sampler_info, nullptr, &sampler), "vkCreateSampler");
}

Image::~Image() {
    vkDestroySampler(device.device, sampler, nullptr);
    vkDestroyImageView(device.device, view, nullptr);
    vkDestroyImage(device.device, image, nullptr);
    vkFreeMemory(device.device, memory, nullptr);
}

Pipeline::Pipeline(Device& device, const std::vector<uint32_t>& spirv, uint32_t buffers, uint32_t push_bytes, uint32_t max_sets,
                   VkPipelineCache cache, uint32_t images)
    : device(device), push_bytes(push_bytes) {
    std::vector<VkDescriptorSetLayoutBinding> bindings(buffers + images);
    for (uint32_t b = 0; b < buffers + images; ++b)
        bindings[b] = {b, b < buffers ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1,
                       VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo set_info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                             .bindingCount = buffers + images,
                                             .pBindings = bindings.data()};
    device.check(vkCreateDescriptorSetLayout(device.device, &set_info, nullptr, &set_layout), "vkCreateDescriptorSetLayout");
    VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes};
    VkPipelineLayoutCreateInfo layout_info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                           .setLayoutCount = 1,
                                           .pSetLayouts = &set_layout,
                                           .pushConstantRangeCount = push_bytes ? 1u : 0u,
                                           .pPushConstantRanges = &push};
    device.check(vkCreatePipelineLayout(device.device, &layout_info, nullptr, &layout), "vkCreatePipelineLayout");

    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers * max_sets},
                                          {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, images * max_sets}};
    VkDescriptorPoolCreateInfo pool_info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                         .maxSets = max_sets,
                                         .poolSizeCount = images ? 2u : 1u,
                                         .pPoolSizes = sizes};
    device.check(vkCreateDescriptorPool(device.device, &pool_info, nullptr, &pool), "vkCreateDescriptorPool");

    VkShaderModule module;
    VkShaderModuleCreateInfo module_info{
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = spirv.size() * 4, .pCode = spirv.data()};
    device.check(vkCreateShaderModule(device.device, &module_info, nullptr, &module), "vkCreateShaderModule");
    VkComputePipelineCreateInfo info{.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                     .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                               .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                               .module = module,
                                               .pName = "main"},
                                     .layout = layout};
    device.check(vkCreateComputePipelines(device.device, cache, 1, &info, nullptr, &pipeline), "vkCreateComputePipelines");
    vkDestroyShaderModule(device.device, module, nullptr);
}

Pipeline::~Pipeline() {
    vkDestroyPipeline(device.device, pipeline, nullptr);
    vkDestroyDescriptorPool(device.device, pool, nullptr);
    vkDestroyPipelineLayout(device.device, layout, nullptr);
    vkDestroyDescriptorSetLayout(device.device, set_layout, nullptr);
}

VkDescriptorSet Pipeline::bindings(const std::vector<const Buffer*>& buffers, const std::vector<const Image*>& images) {
    VkDescriptorSetAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                         .descriptorPool = pool,
                                         .descriptorSetCount = 1,
                                         .pSetLayouts = &set_layout};
    VkDescriptorSet set;
    device.check(vkAllocateDescriptorSets(device.device, &allocate, &set), "vkAllocateDescriptorSets");
    uint32_t binding = 0;
    for (const Buffer* buffer : buffers) {
        VkDescriptorBufferInfo whole{buffer->buffer, 0, VK_WHOLE_SIZE};
        VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                   .dstSet = set,
                                   .dstBinding = binding++,
                                   .descriptorCount = 1,
                                   .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                   .pBufferInfo = &whole};
        vkUpdateDescriptorSets(device.device, 1, &write, 0, nullptr);
    }
    for (const Image* image : images) {
        VkDescriptorImageInfo whole{image->sampler, image->view, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
        VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                   .dstSet = set,
                                   .dstBinding = binding++,
                                   .descriptorCount = 1,
                                   .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                   .pImageInfo = &whole};
        vkUpdateDescriptorSets(device.device, 1, &write, 0, nullptr);
    }
    return set;
}

void Pipeline::bind() { vkCmdBindPipeline(device.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline); }

void Pipeline::dispatch(VkDescriptorSet set, const void* push, uint32_t x, uint32_t y, uint32_t z) {
    vkCmdBindDescriptorSets(device.commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
    if (push_bytes) vkCmdPushConstants(device.commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes, push);
    vkCmdDispatch(device.commands, x, y, z);
}

}  // namespace raw
