// Pumice on an application's own Vulkan device. Public; needs no Vulkan header: the handles are declared here as Vulkan declares
// them. docs/vulkan.md shows an example.
#pragma once
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "core/host/array.h"
#include "core/host/image.h"

struct VkInstance_T;
struct VkPhysicalDevice_T;
struct VkDevice_T;
struct VkQueue_T;
struct VkBuffer_T;
struct VkImage_T;
struct VkSemaphore_T;
struct VkPipelineCache_T;
struct VkDeviceMemory_T;
struct VkDeviceCreateInfo;

namespace pumice::vulkan {

// Vulkan's non-dispatchable handles are pointers on 64-bit systems, else integers.
using BufferHandle = std::conditional_t<sizeof(void*) == 8, VkBuffer_T*, uint64_t>;
using ImageHandle = std::conditional_t<sizeof(void*) == 8, VkImage_T*, uint64_t>;
using SemaphoreHandle = std::conditional_t<sizeof(void*) == 8, VkSemaphore_T*, uint64_t>;
using PipelineCacheHandle = std::conditional_t<sizeof(void*) == 8, VkPipelineCache_T*, uint64_t>;
using MemoryHandle = std::conditional_t<sizeof(void*) == 8, VkDeviceMemory_T*, uint64_t>;

/// The memory for which Pumice asks Application::allocate, for one of its buffers. Buffers are few and large: arrays are ranges
/// of them.
struct MemoryRequest {
    int64_t bytes = 0, alignment = 0;  ///< the offset is a multiple of the alignment
    uint32_t memory_type = 0;
    bool mapped = false;       ///< the host accesses the memory: `mapped` of the result is needed
    bool addressable = false;  ///< allocated with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT
};
/// A part of the application's VkDeviceMemory. Without `memory`: there is none left.
struct MemoryPart {
    MemoryHandle memory{};
    int64_t offset = 0;
    void* mapped = nullptr;  ///< the part's first byte, for as long as Pumice has the part
};

/// An application's device and a queue of it. They remain the application's, and must outlive all Devices, Streams and Arrays on
/// them; kernels and events may live longer.
struct Application {
    VkInstance_T* instance = nullptr;
    VkPhysicalDevice_T* physical_device = nullptr;
    VkDevice_T* device = nullptr;
    VkQueue_T* queue = nullptr;
    uint32_t queue_family = 0;  ///< the queue's family, which supports compute
    /// The enabled features and extensions of the device; Pumice uses no others. Only the feature timelineSemaphore is required.
    /// `features` is a chain as in VkDeviceCreateInfo::pNext, of VkPhysicalDeviceFeatures2 and other feature structures (unknown
    /// ones are skipped). Read only by wrap().
    const void* features = nullptr;
    std::vector<const char*> extensions;
    /// Alternative to both: the creation arguments of the device.
    const VkDeviceCreateInfo* created_with = nullptr;
    uint32_t api_version = 1u << 22 | 2u << 12;  ///< of VkApplicationInfo; VK_API_VERSION_1_2 or above
    /// Called around every use of the queue, on any thread, since a VkQueue must be used by one at a time. Empty if only Pumice
    /// uses the queue. The application must not call Pumice while it holds the lock.
    std::function<void()> lock, unlock;
    /// The application's cache, which then takes the place of Pumice's own one on disk. It must not be externally synchronised,
    /// and must outlive the device.
    PipelineCacheHandle pipeline_cache{};
    /// The application's allocator, instead of vkAllocateMemory and vkFreeMemory: both or none. Called on any thread, one at a
    /// time or several; must not call Pumice.
    std::function<MemoryPart(const MemoryRequest&)> allocate;
    std::function<void(const MemoryPart&)> free;
    /// vkGetInstanceProcAddr; null: that of the system's loader.
    void (*(*get_instance_proc_addr)(VkInstance_T*, const char*))() = nullptr;
};

/// Opens a Device that computes on the application's. Throws Error with the reason if it cannot be used.
pumice::Device wrap(const Application& application);

/// A value of a timeline semaphore; binary semaphores ignore it.
struct Point {
    SemaphoreHandle semaphore{};
    uint64_t value = 0;
};

/// Semaphores of one submission, binary or timeline ones: it starts when all of `wait` are reached, and signals all of `signal`.
struct Semaphores {
    std::vector<Point> wait{}, signal{};
};
/// Submits all work of the device so far, in one vkQueueSubmit; waits only for pending host calls (Stream::call). Later
/// submissions of the application to this queue follow it and see its results, without a barrier; other queues wait for the
/// returned point, or for a semaphore of `semaphores.signal`, as a present does. With semaphores there is a submission even if
/// there is no work. The device must be from wrap(), here and below.
Point submit(const pumice::Device& device, const Semaphores& semaphores = {});
/// Later work of the device, including host copies, starts when the point is reached, and sees what was written before it. The
/// signal of the point must be submitted already. Earlier submissions to the same queue need no point, except before host copies.
void wait_for(const pumice::Device& device, const Point& point);

/// A part of a buffer, in bytes; offset and size are multiples of 4.
struct Place {
    BufferHandle buffer{};
    int64_t offset = 0, bytes = 0;
    bool addressable = false;  ///< made with VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, and the feature is enabled
};

// Implementations of the two templates below, for arrays of any type.
Place place_of(const detail::ArrayState& array);
std::shared_ptr<detail::ArrayState> lend(const pumice::Device& device, const Place& place, const int64_t* extents, int rank,
                                         const internal::Element& element);

/// The place of an array's elements, valid until the array's last handle is gone or it is released. Submits the commands on the
/// array so far. The buffer may be used for transfers, and as a storage, uniform, vertex, index or indirect buffer, by queues of
/// the wrapped one's family.
template <class T, int N> Place place(const Array<T, N>& array) { return place_of(detail::held(array.state)); }

/// An array in a buffer of the application, which keeps the buffer until the device is done with it. The buffer needs the usages
/// STORAGE_BUFFER, TRANSFER_SRC and TRANSFER_DST. Arrays that overlap in one buffer are handled correctly.
template <class T, std::size_t N>
Array<T, int(N)> array(const pumice::Device& device, const Place& place, const int64_t (&extents)[N]) {
    return {detail::to_array(extents), lend(device, place, extents, int(N), detail::element_of<T>())};
}

/// An image of the application. It belongs to the application from one submit() to the first command of Pumice's on it after
/// that.
struct ImagePlace {
    ImageHandle image{};
    int32_t format = 0;  ///< VkFormat
    uint32_t usage = 0;  ///< VkImageUsageFlags: STORAGE to store to it, SAMPLED to read it, TRANSFER_SRC and TRANSFER_DST to copy
    int32_t before = 0;  ///< VkImageLayout in which each first command finds it; VK_IMAGE_LAYOUT_UNDEFINED: without its contents
    int32_t after = 1;   ///< VkImageLayout in which submit() leaves it
    int levels = 1;
};

// Implementations of the templates below.
std::shared_ptr<detail::ImageBinding> lend(const pumice::Device& device, const ImagePlace& place, internal::ImageShape shape,
                                           const internal::Element& texel);
ImagePlace place_of(const std::shared_ptr<detail::ImageBinding>& image, int32_t layout);

/// The application's image as an image of Pumice's; extents as those of Device::image. The application keeps it until the device
/// is done with it, and drops the handles before it destroys it. Lending the image again changes its layouts. Throws Error for a
/// format, extent, usage or layout that does not fit.
template <class T, std::size_t N>
Image<T, int(N)> image(const pumice::Device& device, const ImagePlace& place, const int64_t (&extents)[N]) {
    internal::ImageShape shape;
    shape.dimensions = int(N);
    for (size_t d = 0; d < N; ++d) shape.extents[N - 1 - d] = extents[d];
    return Image<T, int(N)>(lend(device, place, shape, detail::element_of<T>()));
}
/// The same for an array of images, of which kernels make textures.
template <class T, std::size_t N> Image<T, int(N), ImageLayout::layered> image_array(const pumice::Device& device,
                                                                                     const ImagePlace& place, int64_t layers,
                                                                                     const int64_t (&extents)[N]) {
    internal::ImageShape shape;
    shape.dimensions = int(N);
    shape.layout = ImageLayout::layered;
    shape.layers = layers;
    for (size_t d = 0; d < N; ++d) shape.extents[N - 1 - d] = extents[d];
    return Image<T, int(N), ImageLayout::layered>(lend(device, place, shape, detail::element_of<T>()));
}
/// The same for a cube, an image of six square layers made with VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT. `n`: pixels of a side.
template <class T> Image<T, 2, ImageLayout::cube> image_cube(const pumice::Device& device, const ImagePlace& place, int64_t n) {
    internal::ImageShape shape;
    shape.dimensions = 2;
    shape.layout = ImageLayout::cube;
    shape.layers = 6;
    shape.extents[0] = shape.extents[1] = n;
    return Image<T, 2, ImageLayout::cube>(lend(device, place, shape, detail::element_of<T>()));
}
/// The VkImage of an image of Pumice's. From now on, each submit() leaves the image in this VkImageLayout, in which the
/// application has to leave it, too. Valid until the image's last handle is gone or it is released.
template <class T, int N, ImageLayout L> ImagePlace place(const Image<T, N, L>& image, int32_t layout) {
    return place_of(image.binding, layout);
}

}  // namespace pumice::vulkan
