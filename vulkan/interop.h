// Arrays and images in memory that other processes, other interfaces or the host have as well, and semaphores that order them.
// Public; needs no Vulkan header.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "vulkan/wrap.h"

namespace pumice::vulkan {

/// A way by which a file descriptor names device memory: opaque to all but the same driver, or as a buffer of the Linux kernel.
enum class FdKind { opaque, dma_buf };

/// The kinds of memory and semaphores that the wrapped device can share, by the extensions that the application has enabled.
struct Interop {
    bool opaque_out = false, opaque_in = false;    ///< VK_KHR_external_memory_fd
    bool dma_buf_out = false, dma_buf_in = false;  ///< the same with VK_EXT_external_memory_dma_buf
    /// Images by dma-buf: the same with VK_EXT_image_drm_format_modifier; of 8-bit rgba, and image_modifiers() tells of others.
    bool dma_buf_image_out = false, dma_buf_image_in = false;
    int64_t host_alignment = 0;                      ///< VK_EXT_external_memory_host: of pointers and sizes in bytes; 0: none
    bool binary_out = false, binary_in = false;      ///< VK_KHR_external_semaphore_fd, opaque
    bool timeline_out = false, timeline_in = false;  ///< the same for timeline semaphores
};
Interop interop(const pumice::Device& device);

/// The place of a plane of an image in a dma-buf, in bytes.
struct ImagePlane {
    int64_t offset = 0, row_pitch = 0;
};
/// Device memory as another process gets it: the descriptor is sent (SCM_RIGHTS, or inherited), the rest as plain values. A
/// dma-buf that does not come from share() needs no `memory_type`, and an image in it no `bytes` and `allocated`.
struct SharedMemory {
    int fd = -1;
    FdKind kind = FdKind::opaque;
    int64_t bytes = 0, allocated = 0;  ///< of the elements; of the memory
    uint32_t memory_type = 0;
    // Of an image by dma-buf: the layout of its texels.
    uint64_t modifier = 0;  ///< DRM format modifier; 0 (DRM_FORMAT_MOD_LINEAR): plain rows
    int plane_count = 0;    ///< as many as the modifier has, all in the one descriptor
    std::array<ImagePlane, 4> planes{};
};

/// A layout of texels in memory, by which devices and drivers understand each other, for images of one format and extent.
struct ImageModifier {
    uint64_t modifier = 0;         ///< DRM format modifier of Linux
    int plane_count = 1;           ///< of memory
    bool out = false, in = false;  ///< for shareable_image(); for shared_image()
};

// Implementations of the templates below, for arrays of any type.
std::shared_ptr<detail::ArrayState> new_shared(const pumice::Device& device, FdKind kind, const int64_t* extents, int rank,
                                               const internal::Element& element);
std::shared_ptr<detail::ArrayState> from_shared(const pumice::Device& device, const SharedMemory& memory, const int64_t* extents,
                                                int rank, const internal::Element& element);
std::shared_ptr<detail::ArrayState> on_host(const pumice::Device& device, void* host, int64_t bytes,
                                            const internal::Element& element);
SharedMemory share(const detail::ArrayState& array);
void hand_over(const detail::ArrayState& array, bool take);
std::shared_ptr<detail::ImageBinding> new_shared(const pumice::Device& device, internal::ImageShape shape,
                                                 const internal::Element& texel, const ImageOptions& options, FdKind kind,
                                                 std::span<const uint64_t> modifiers);
std::shared_ptr<detail::ImageBinding> from_shared(const pumice::Device& device, const SharedMemory& memory,
                                                  internal::ImageShape shape, const internal::Element& texel,
                                                  const ImageOptions& options);
SharedMemory share(const std::shared_ptr<detail::ImageBinding>& image);
void hand_over(const std::shared_ptr<detail::ImageBinding>& image, bool take);
std::vector<ImageModifier> modifiers_of(const pumice::Device& device, internal::ImageShape shape, const ImageOptions& options);
template <std::size_t N> internal::ImageShape shape_of(Format format, const int64_t (&extents)[N], const ImageOptions& options) {
    internal::ImageShape shape{format, ImageLayout::plain, int(N), {1, 1, 1}, options.levels, 1, false};
    for (std::size_t d = 0; d < N; ++d) shape.extents[N - 1 - d] = extents[d];
    return shape;
}

/// An array of zeros in memory of its own, which share() can give away. Throws Error if the device cannot.
template <class T, std::size_t N>
Array<T, int(N)> shareable(const pumice::Device& device, const int64_t (&extents)[N], FdKind kind = FdKind::opaque) {
    return {detail::to_array(extents), new_shared(device, kind, extents, int(N), detail::element_of<T>())};
}
/// A new descriptor of the memory, which the caller closes or gives away. The array is one of shareable().
template <class T, int N> SharedMemory share(const Array<T, N>& array) { return share(detail::held(array.state)); }
/// An array in memory that another process has shared. Takes the descriptor over if there is no Error.
template <class T, std::size_t N>
Array<T, int(N)> shared(const pumice::Device& device, const SharedMemory& memory, const int64_t (&extents)[N]) {
    return {detail::to_array(extents), from_shared(device, memory, extents, int(N), detail::element_of<T>())};
}
/// An array in the host's own memory, which the device then reads and writes in place. Pointer and size are multiples of
/// Interop::host_alignment; the memory must exist until the device is done with the array.
template <class T, std::size_t E> Array<T, 1> host_array(const pumice::Device& device, std::span<T, E> host) {
    return {{int64_t(host.size())}, on_host(device, host.data(), int64_t(host.size_bytes()), detail::element_of<T>())};
}

/// The modifiers with which the device gives away or takes images by dma-buf that kernels can use in every way; format, extents
/// and options are those of Device::image. Empty without the extensions (Interop).
template <std::size_t N> std::vector<ImageModifier> image_modifiers(const pumice::Device& device, Format format,
                                                                    const int64_t (&extents)[N],
                                                                    const ImageOptions& options = {}) {
    return modifiers_of(device, shape_of(format, extents, options), options);
}
/// An image of zeros in memory of its own, which share() can give away; format, extents and options are those of Device::image.
/// A dma-buf holds an image of two dimensions and one level; its driver chooses the modifier, of `modifiers` (those that the
/// other side takes) unless they are empty. Throws Error if the device cannot.
template <class T, std::size_t N>
pumice::Image<T, int(N)> shareable_image(const pumice::Device& device, Format format, const int64_t (&extents)[N],
                                         const ImageOptions& options = {}, FdKind kind = FdKind::opaque,
                                         const std::vector<uint64_t>& modifiers = {}) {
    return pumice::Image<T, int(N)>(
        new_shared(device, shape_of(format, extents, options), detail::element_of<T>(), options, kind, modifiers));
}
/// A new descriptor of the memory, which the caller closes or gives away; of a dma-buf also the modifier that the driver has
/// chosen, and the planes. The image is one of shareable_image().
template <class T, int N> SharedMemory share(const pumice::Image<T, N>& image) { return share(image.binding); }
/// The image that another process, or another driver by dma-buf, has shared; format, extents and options are those with which it
/// was made. Takes the descriptor over if there is no Error. Its texels are defined after acquire().
template <class T, std::size_t N> pumice::Image<T, int(N)> shared_image(const pumice::Device& device, const SharedMemory& memory,
                                                                        Format format, const int64_t (&extents)[N],
                                                                        const ImageOptions& options = {}) {
    return pumice::Image<T, int(N)>(
        from_shared(device, memory, shape_of(format, extents, options), detail::element_of<T>(), options));
}

/// Ownership of an array or image that several processes have: one uses it at a time. release() comes after the work of this
/// process, and acquire() before its next work; in between, the processes order themselves, by a semaphore or by their hosts. A
/// released image is in VK_IMAGE_LAYOUT_GENERAL.
template <class T, int N> void release(const Array<T, N>& array) { hand_over(detail::held(array.state), false); }
template <class T, int N> void acquire(const Array<T, N>& array) { hand_over(detail::held(array.state), true); }
template <class T, int N> void release(const pumice::Image<T, N>& image) { hand_over(image.binding, false); }
template <class T, int N> void acquire(const pumice::Image<T, N>& image) { hand_over(image.binding, true); }

/// A semaphore that other processes have, too. Copies share it; it goes with the last copy, when the device is done with it.
class SharedSemaphore {
public:
    /// For submit() and wait_for(): the value of a timeline semaphore, 0 for a binary one.
    Point point(uint64_t value = 0) const;
    bool is_timeline() const;

    struct State;
    std::shared_ptr<State> state;
};
/// A semaphore that share() can give away, unsignalled or at 0. Throws Error if the device cannot (Interop).
SharedSemaphore shareable_semaphore(const pumice::Device& device, bool is_timeline);
/// A new opaque descriptor of the semaphore, which the caller closes or gives away. A binary semaphore is then one payload for
/// both processes: one signals it, and the other waits.
int share(const SharedSemaphore& semaphore);
/// The semaphore that another process has shared. Takes the descriptor over if there is no Error.
SharedSemaphore shared_semaphore(const pumice::Device& device, int fd, bool is_timeline);

}  // namespace pumice::vulkan
