// Pumice inside an application's own Vulkan device. Public, and needs no header of Vulkan's: the handles are named here as Vulkan
// itself declares them. docs/vulkan.md shows it in use.
#pragma once
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "core/host/array.h"

struct VkInstance_T;
struct VkPhysicalDevice_T;
struct VkDevice_T;
struct VkQueue_T;
struct VkBuffer_T;
struct VkSemaphore_T;
struct VkDeviceCreateInfo;

namespace pumice::vulkan {

// VkBuffer and VkSemaphore: pointers where pointers have 64 bits, else integers.
using BufferHandle = std::conditional_t<sizeof(void*) == 8, VkBuffer_T*, uint64_t>;
using SemaphoreHandle = std::conditional_t<sizeof(void*) == 8, VkSemaphore_T*, uint64_t>;

/// An application's device and a queue of it. They stay the application's, and must live until the last Device, Stream and Array
/// on them is gone; kernels and events may stay.
struct Application {
    VkInstance_T* instance = nullptr;
    VkPhysicalDevice_T* physical_device = nullptr;
    VkDevice_T* device = nullptr;
    VkQueue_T* queue = nullptr;
    uint32_t queue_family = 0;  ///< of the queue; it computes
    /// The device's enabled features and extensions: Pumice uses these features and extensions, and no others. Only the feature timelineSemaphore
    /// must be. `features` is a chain as VkDeviceCreateInfo::pNext has it, of VkPhysicalDeviceFeatures2 and what else has features
    /// (others are passed over). Read by wrap() alone.
    const void* features = nullptr;
    std::vector<const char*> extensions;
    /// Instead of the two: what the device was made with.
    const VkDeviceCreateInfo* created_with = nullptr;
    uint32_t api_version = 1u << 22 | 2u << 12;  ///< VkApplicationInfo's; VK_API_VERSION_1_2 or above
    /// Called around every use of the queue, on any thread, since a VkQueue takes one at a time. Empty where the queue is Pumice's
    /// alone. The application does not call Pumice while it holds the lock.
    std::function<void()> lock, unlock;
    /// vkGetInstanceProcAddr; null: that of the system's Vulkan loader.
    void (*(*get_instance_proc_addr)(VkInstance_T*, const char*))() = nullptr;
};

/// A device like any other, that computes on the application's. Throws Error where it cannot be used; the sentence says why.
pumice::Device wrap(const Application& application);

/// A value of a timeline semaphore; of a binary one the value means nothing.
struct Point {
    SemaphoreHandle semaphore{};
    uint64_t value = 0;
};

/// Gives the queue everything that the device was told so far; waits for what it is to call on the host (Stream::call), and for
/// nothing else. What the application submits to this queue from now on comes after it and sees its results, without a barrier;
/// other queues wait for the returned point. The device must be one that wrap() made, here and below.
Point submit(const pumice::Device& device);
/// What the device is told from now on, copies to and from the host among them, starts when the point is reached and sees what was
/// written before it. What signals the point has been submitted. What was submitted to the same queue
/// before needs no point, unless the host copies.
void wait_for(const pumice::Device& device, const Point& point);

/// A part of a buffer, in bytes; offset and size are multiples of 4.
struct Place {
    BufferHandle buffer{};
    int64_t offset = 0, bytes = 0;
    bool addressable = false;  ///< was made with VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, where the feature is enabled
};

// What the two templates below do, for arrays of any type.
Place place_of(const detail::ArrayState& array);
std::shared_ptr<detail::ArrayState> lend(const pumice::Device& device, const Place& place, const int64_t* extents, int rank,
                                         const Element& element);

/// The place of an array's elements. They stay there while a handle of the array lives. Commands on the array so far
/// are submitted. The buffer may be used for transfers, as a
/// storage, uniform, vertex, index or indirect buffer, by queues of the wrapped one's family.
template <class T, int N>
Place place(const Array<T, N>& array) {
    return place_of(detail::held(array.state));
}

/// An array in a buffer of the application's, which keeps the buffer until the device is done with it. The buffer has the usages
/// STORAGE_BUFFER, TRANSFER_SRC and TRANSFER_DST. Two that overlap in one buffer are known to.
template <class T, std::size_t N>
Array<T, int(N)> array(const pumice::Device& device, const Place& place, const int64_t (&extents)[N]) {
    return {detail::to_array(extents), lend(device, place, extents, int(N), detail::element_of<T>())};
}

}  // namespace pumice::vulkan
