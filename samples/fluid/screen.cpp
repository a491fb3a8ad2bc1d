#define VOLK_IMPLEMENTATION
#include "samples/fluid/screen.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <pumice/pumice.h>

namespace fluid {

using pumice::fail;

void check(VkResult result, const char* call) {
    if (result < 0) fail(call, " gives VkResult ", int(result));
}

namespace {

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* message, void* complaints) {
    std::fprintf(stderr, "fluid: %s\n", message->pMessage);
    ++*static_cast<int*>(complaints);
    return VK_FALSE;
}

bool has_layer(const char* wanted) {
    uint32_t count = 0;
    check(vkEnumerateInstanceLayerProperties(&count, nullptr), "vkEnumerateInstanceLayerProperties");
    std::vector<VkLayerProperties> all(count);
    check(vkEnumerateInstanceLayerProperties(&count, all.data()), "vkEnumerateInstanceLayerProperties");
    return std::ranges::any_of(all, [&](const VkLayerProperties& layer) { return !std::strcmp(layer.layerName, wanted); });
}

std::vector<VkExtensionProperties> extensions_of(VkPhysicalDevice physical) {
    uint32_t count = 0;
    check(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr), "vkEnumerateDeviceExtensionProperties");
    std::vector<VkExtensionProperties> all(count);
    check(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, all.data()), "vkEnumerateDeviceExtensionProperties");
    return all;
}

}  // namespace

Screen::Screen(const Options& options) {
    if (volkInitialize() != VK_SUCCESS) fail("the fluid finds no Vulkan loader (libvulkan.so.1)");
    if (options.window) {
        if (!glfwInit()) fail("GLFW finds no display");
        glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
        window = glfwCreateWindow(options.width, options.height, "Pumice: fluid", nullptr, nullptr);
        if (!window) fail("GLFW opens no window of ", options.width, " x ", options.height, " pixels");
    }
    make_instance(options);
    if (window) check(glfwCreateWindowSurface(instance, window, nullptr, &surface), "glfwCreateWindowSurface");
    choose_device(options);
    make_device();
    if (window) make_swapchain();
}

Screen::~Screen() {
    if (device) vkDeviceWaitIdle(device);
    drop_swapchain();
    for (Slot& slot : slots) {
        vkDestroyFence(device, slot.done, nullptr);
        vkDestroySemaphore(device, slot.acquired, nullptr);
    }
    vkDestroyCommandPool(device, pool, nullptr);
    vkDestroyDevice(device, nullptr);
    if (surface) vkDestroySurfaceKHR(instance, surface, nullptr);
    if (messenger) vkDestroyDebugUtilsMessengerEXT(instance, messenger, nullptr);
    vkDestroyInstance(instance, nullptr);
    if (window) glfwDestroyWindow(window), glfwTerminate();
}

void Screen::make_instance(const Options& options) {
    auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
    application.apiVersion = VK_API_VERSION_1_2;
    std::vector<const char*> enabled, layers;
    if (window) {
        uint32_t count = 0;
        const char** needed = glfwGetRequiredInstanceExtensions(&count);
        if (!needed) fail("no Vulkan driver of this machine presents to a window");
        enabled.assign(needed, needed + count);
    }
    auto messages = structure<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
    messages.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    messages.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    messages.pfnUserCallback = on_message;
    messages.pUserData = &complaints_;
    const VkValidationFeatureEnableEXT synchronisation = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    auto more = structure<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
    more.enabledValidationFeatureCount = 1;
    more.pEnabledValidationFeatures = &synchronisation;
    messages.pNext = &more;
    const bool validate = options.validate && has_layer("VK_LAYER_KHRONOS_validation");
    if (options.validate && !validate) fail("Vulkan's validation layer is not installed (Debian: vulkan-validationlayers)");
    if (validate) layers.push_back("VK_LAYER_KHRONOS_validation"), enabled.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    auto info = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, validate ? &messages : nullptr);
    info.pApplicationInfo = &application;
    info.enabledLayerCount = uint32_t(layers.size());
    info.ppEnabledLayerNames = layers.data();
    info.enabledExtensionCount = uint32_t(enabled.size());
    info.ppEnabledExtensionNames = enabled.data();
    check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
    volkLoadInstance(instance);
    messages.pNext = nullptr;
    if (validate)
        check(vkCreateDebugUtilsMessengerEXT(instance, &messages, nullptr, &messenger), "vkCreateDebugUtilsMessengerEXT");
}

/// The first device, cards before software, with a queue family that computes and, where there is a window, presents.
void Screen::choose_device(const Options& options) {
    uint32_t count = 0;
    check(vkEnumeratePhysicalDevices(instance, &count, nullptr), "vkEnumeratePhysicalDevices");
    std::vector<VkPhysicalDevice> all(count);
    check(vkEnumeratePhysicalDevices(instance, &count, all.data()), "vkEnumeratePhysicalDevices");
    int best = -1;
    for (const VkPhysicalDevice candidate : all) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(candidate, &properties);
        if (std::string(properties.deviceName).find(options.device) == std::string::npos ||
            properties.apiVersion < VK_API_VERSION_1_2)
            continue;
        vkGetPhysicalDeviceQueueFamilyProperties(candidate, &count, nullptr);
        std::vector<VkQueueFamilyProperties> families(count);
        vkGetPhysicalDeviceQueueFamilyProperties(candidate, &count, families.data());
        for (uint32_t f = 0; f < count; ++f) {
            VkBool32 presents = VK_TRUE;
            if (surface)
                check(vkGetPhysicalDeviceSurfaceSupportKHR(candidate, f, surface, &presents),
                      "vkGetPhysicalDeviceSurfaceSupportKHR");
            if (!(families[f].queueFlags & VK_QUEUE_COMPUTE_BIT) || !presents) continue;
            const int rank = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU     ? 3
                             : properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ? 2
                             : properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU            ? 0
                                                                                               : 1;
            if (rank > best) best = rank, physical = candidate, family = f, name = properties.deviceName;
            break;
        }
    }
    if (best < 0)
        fail("no Vulkan device", options.device.empty() ? "" : " with \"" + options.device + "\" in its name",
             surface ? " computes and presents to the window" : " computes");
}

void Screen::make_device() {
    // All features of Vulkan 1.2 that the device has: kernels use some where they are there.
    features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    features11.pNext = &features12;
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = &features11;
    vkGetPhysicalDeviceFeatures2(physical, &features);
    features.features.robustBufferAccess = VK_FALSE;
    features12.bufferDeviceAddressCaptureReplay = features12.bufferDeviceAddressMultiDevice = VK_FALSE;
    const std::vector<VkExtensionProperties> there = extensions_of(physical);
    for (const char* wanted : {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, VK_KHR_SWAPCHAIN_EXTENSION_NAME}) {
        const bool has =
            std::ranges::any_of(there, [&](const VkExtensionProperties& e) { return !std::strcmp(e.extensionName, wanted); });
        if (has && (surface || std::strcmp(wanted, VK_KHR_SWAPCHAIN_EXTENSION_NAME) != 0)) extensions.push_back(wanted);
    }
    const float priority = 1;
    auto queue_info = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
    queue_info.queueFamilyIndex = family;
    queue_info.queueCount = 1;
    queue_info.pQueuePriorities = &priority;
    auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features);
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue_info;
    info.enabledExtensionCount = uint32_t(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    check(vkCreateDevice(physical, &info, nullptr, &device), "vkCreateDevice");
    volkLoadDevice(device);
    vkGetDeviceQueue(device, family, 0, &queue);

    auto pool_info = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool_info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool_info.queueFamilyIndex = family;
    check(vkCreateCommandPool(device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
    const auto new_commands = [&] {
        auto buffer_info = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
        buffer_info.commandPool = pool;
        buffer_info.commandBufferCount = 1;
        VkCommandBuffer made = VK_NULL_HANDLE;
        check(vkAllocateCommandBuffers(device, &buffer_info, &made), "vkAllocateCommandBuffers");
        return made;
    };
    other_commands = new_commands();
    for (Slot& slot : slots) {
        slot.commands = new_commands();
        auto fence_info = structure<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
        fence_info.flags = VK_FENCE_CREATE_SIGNALED_BIT;
        check(vkCreateFence(device, &fence_info, nullptr, &slot.done), "vkCreateFence");
        auto semaphore_info = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
        check(vkCreateSemaphore(device, &semaphore_info, nullptr, &slot.acquired), "vkCreateSemaphore");
    }
}

void Screen::make_swapchain() {
    VkSurfaceCapabilitiesKHR can{};
    check(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(physical, surface, &can), "vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
    int width = 0, height = 0;
    glfwGetFramebufferSize(window, &width, &height);
    extent_ = can.currentExtent.width != UINT32_MAX ? can.currentExtent : VkExtent2D{uint32_t(width), uint32_t(height)};
    if (extent_.width == 0 || extent_.height == 0) return;  // minimised
    uint32_t count = 0;
    check(vkGetPhysicalDeviceSurfaceFormatsKHR(physical, surface, &count, nullptr), "vkGetPhysicalDeviceSurfaceFormatsKHR");
    std::vector<VkSurfaceFormatKHR> formats(count);
    check(vkGetPhysicalDeviceSurfaceFormatsKHR(physical, surface, &count, formats.data()),
          "vkGetPhysicalDeviceSurfaceFormatsKHR");
    const auto wanted = std::ranges::find_if(formats, [](const VkSurfaceFormatKHR& f) {
        return f.format == VK_FORMAT_B8G8R8A8_UNORM || f.format == VK_FORMAT_R8G8B8A8_UNORM;
    });
    if (wanted == formats.end()) fail("the window takes no 8-bit normalised pixels");
    format = wanted->format;

    auto info = structure<VkSwapchainCreateInfoKHR>(VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR);
    info.surface = surface;
    info.minImageCount = std::max(can.minImageCount, 3u);
    if (can.maxImageCount) info.minImageCount = std::min(info.minImageCount, can.maxImageCount);
    info.imageFormat = format;
    info.imageColorSpace = wanted->colorSpace;
    info.imageExtent = extent_;
    info.imageArrayLayers = 1;
    info.imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    info.preTransform = can.currentTransform;
    info.compositeAlpha = VkCompositeAlphaFlagBitsKHR(can.supportedCompositeAlpha & -can.supportedCompositeAlpha);
    info.presentMode = VK_PRESENT_MODE_FIFO_KHR;
    info.clipped = VK_TRUE;
    check(vkCreateSwapchainKHR(device, &info, nullptr, &swapchain), "vkCreateSwapchainKHR");
    check(vkGetSwapchainImagesKHR(device, swapchain, &count, nullptr), "vkGetSwapchainImagesKHR");
    images.resize(count);
    check(vkGetSwapchainImagesKHR(device, swapchain, &count, images.data()), "vkGetSwapchainImagesKHR");
    drawn.resize(count);
    for (VkSemaphore& semaphore : drawn) {
        auto semaphore_info = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
        check(vkCreateSemaphore(device, &semaphore_info, nullptr, &semaphore), "vkCreateSemaphore");
    }
    ++swapchains_;
}

void Screen::drop_swapchain() {
    if (!swapchain) return;
    vkDeviceWaitIdle(device);
    for (const VkSemaphore semaphore : drawn) vkDestroySemaphore(device, semaphore, nullptr);
    drawn.clear();
    vkDestroySwapchainKHR(device, swapchain, nullptr);
    swapchain = VK_NULL_HANDLE;
}

bool Screen::begin(Frame& frame) {
    glfwPollEvents();
    int width = 0, height = 0;
    glfwGetFramebufferSize(window, &width, &height);
    if (swapchain && (uint32_t(width) != extent_.width || uint32_t(height) != extent_.height)) drop_swapchain();
    if (!swapchain) make_swapchain();
    if (!swapchain) return glfwWaitEventsTimeout(0.1), false;
    Slot& slot = slots[next_slot];
    check(vkWaitForFences(device, 1, &slot.done, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    const VkResult got = vkAcquireNextImageKHR(device, swapchain, UINT64_MAX, slot.acquired, VK_NULL_HANDLE, &image_index);
    if (got == VK_ERROR_OUT_OF_DATE_KHR) return drop_swapchain(), false;
    check(got, "vkAcquireNextImageKHR");
    check(vkResetFences(device, 1, &slot.done), "vkResetFences");
    auto info = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    check(vkBeginCommandBuffer(slot.commands, &info), "vkBeginCommandBuffer");
    frame = {next_slot, slot.commands, images[image_index], extent_};
    return true;
}

void Screen::end(const Frame& frame, VkBuffer pixels, VkDeviceSize offset, VkPipelineStageFlags written) {
    Slot& slot = slots[frame.slot];
    auto painted = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    painted.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    painted.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    auto to_copy = structure<VkImageMemoryBarrier>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
    to_copy.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    to_copy.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
    to_copy.newLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    to_copy.srcQueueFamilyIndex = to_copy.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    to_copy.image = frame.image;
    to_copy.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    // The transfer stage waits for the image to be acquired.
    vkCmdPipelineBarrier(frame.commands, written | VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &painted,
                         0, nullptr, 1, &to_copy);
    VkBufferImageCopy region{};
    region.bufferOffset = offset;
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {frame.extent.width, frame.extent.height, 1};
    vkCmdCopyBufferToImage(frame.commands, pixels, frame.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    VkImageMemoryBarrier to_present = to_copy;
    to_present.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    to_present.dstAccessMask = 0;
    to_present.oldLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    to_present.newLayout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
    vkCmdPipelineBarrier(frame.commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0, 0, nullptr, 0,
                         nullptr, 1, &to_present);
    check(vkEndCommandBuffer(frame.commands), "vkEndCommandBuffer");

    const VkPipelineStageFlags at = VK_PIPELINE_STAGE_TRANSFER_BIT;
    auto submission = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
    submission.waitSemaphoreCount = submission.signalSemaphoreCount = submission.commandBufferCount = 1;
    submission.pWaitSemaphores = &slot.acquired;
    submission.pWaitDstStageMask = &at;
    submission.pCommandBuffers = &frame.commands;
    submission.pSignalSemaphores = &drawn[image_index];
    check(vkQueueSubmit(queue, 1, &submission, slot.done), "vkQueueSubmit");
    auto present = structure<VkPresentInfoKHR>(VK_STRUCTURE_TYPE_PRESENT_INFO_KHR);
    present.waitSemaphoreCount = present.swapchainCount = 1;
    present.pWaitSemaphores = &drawn[image_index];
    present.pSwapchains = &swapchain;
    present.pImageIndices = &image_index;
    next_slot = (next_slot + 1) % frames_in_flight;
    const VkResult shown = vkQueuePresentKHR(queue, &present);
    if (shown == VK_ERROR_OUT_OF_DATE_KHR || shown == VK_SUBOPTIMAL_KHR) return drop_swapchain();
    check(shown, "vkQueuePresentKHR");
}

void Screen::submit(const std::function<void(VkCommandBuffer)>& record) {
    auto begin = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    check(vkBeginCommandBuffer(other_commands, &begin), "vkBeginCommandBuffer");
    record(other_commands);
    check(vkEndCommandBuffer(other_commands), "vkEndCommandBuffer");
    auto submission = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
    submission.commandBufferCount = 1;
    submission.pCommandBuffers = &other_commands;
    check(vkQueueSubmit(queue, 1, &submission, VK_NULL_HANDLE), "vkQueueSubmit");
}

void Screen::wait() { check(vkDeviceWaitIdle(device), "vkDeviceWaitIdle"); }

Mouse Screen::mouse() const {
    double x = 0, y = 0;
    int width = 1, height = 1;
    glfwGetCursorPos(window, &x, &y);
    glfwGetWindowSize(window, &width, &height);
    return {float(x / std::max(width, 1)), float(y / std::max(height, 1)),
            glfwGetMouseButton(window, GLFW_MOUSE_BUTTON_LEFT) == GLFW_PRESS};
}

}  // namespace fluid
