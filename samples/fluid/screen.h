// The Vulkan application around the fluid, as any other would be: an instance, a device with one queue, a window and its
// swapchain, and two frames in flight. Without a window it is a device alone.
#pragma once
#include <array>
#include <functional>
#include <string>
#include <vector>

#include <volk.h>
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

namespace fluid {

/// Throws pumice::Error with the name of the call where Vulkan gives an error.
void check(VkResult result, const char* call);

/// An empty structure of this type.
template <class T> T structure(VkStructureType type, decltype(T::pNext) next = nullptr) {
    T made{};
    made.sType = type;
    made.pNext = next;
    return made;
}

struct Mouse {
    float x = 0, y = 0;  ///< from 0 to 1, from the left and the top
    bool pressed = false;
};

class Screen {
public:
    static constexpr uint32_t frames_in_flight = 2;

    struct Options {
        bool window = true;
        int width = 768, height = 768;
        bool validate = false;  ///< with the validation layer; complaints() counts what it says
        std::string device;     ///< a part of the physical device's name; "": the first one that can present
    };
    explicit Screen(const Options& options);
    ~Screen();
    Screen(const Screen&) = delete;

    /// A frame that is being recorded. `commands` is begun, `image` is the swapchain's and undefined.
    struct Frame {
        uint32_t slot = 0;  ///< below frames_in_flight; its last commands are done
        VkCommandBuffer commands = VK_NULL_HANDLE;
        VkImage image = VK_NULL_HANDLE;
        VkExtent2D extent{};
    };
    /// Waits until a slot is free, and takes the next image. False while the window has no area, or has changed: try again.
    bool begin(Frame& frame);
    /// Copies 32-bit pixels from a buffer to the frame's image, submits, and presents. `written`: the stage that wrote the
    /// buffer.
    void end(const Frame& frame, VkBuffer pixels, VkDeviceSize offset, VkPipelineStageFlags written);
    /// Records commands that belong to no frame, and submits them. The last ones given here are done.
    void submit(const std::function<void(VkCommandBuffer)>& record);
    /// Waits until the device is idle.
    void wait();

    bool closed() const { return !window || glfwWindowShouldClose(window); }
    void resize(int width, int height) { glfwSetWindowSize(window, width, height); }
    Mouse mouse() const;
    VkExtent2D extent() const { return extent_; }
    bool bgra() const { return format == VK_FORMAT_B8G8R8A8_UNORM || format == VK_FORMAT_B8G8R8A8_SRGB; }
    int complaints() const { return complaints_; }
    int swapchains() const { return swapchains_; }  ///< made so far

    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    uint32_t family = 0;
    VkPhysicalDeviceFeatures2 features{};
    std::vector<const char*> extensions;
    std::string name;

private:
    void make_instance(const Options& options);
    void choose_device(const Options& options);
    void make_device();
    void make_swapchain();
    void drop_swapchain();

    GLFWwindow* window = nullptr;
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
    int complaints_ = 0, swapchains_ = 0;
    VkPhysicalDeviceVulkan11Features features11{};
    VkPhysicalDeviceVulkan12Features features12{};
    VkSurfaceKHR surface = VK_NULL_HANDLE;
    VkSwapchainKHR swapchain = VK_NULL_HANDLE;
    VkFormat format = VK_FORMAT_UNDEFINED;
    VkExtent2D extent_{};
    std::vector<VkImage> images;
    std::vector<VkSemaphore> drawn;  ///< one an image: presenting waits for it
    struct Slot {
        VkCommandBuffer commands = VK_NULL_HANDLE;
        VkFence done = VK_NULL_HANDLE;
        VkSemaphore acquired = VK_NULL_HANDLE;
    };
    std::array<Slot, frames_in_flight> slots;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer other_commands = VK_NULL_HANDLE;  ///< of submit()
    uint32_t next_slot = 0, image_index = 0;
};

}  // namespace fluid
