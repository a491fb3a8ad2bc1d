// Images in device memory, and textures: images seen through a sampler.
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/format/image_format.h"
#include "core/host/array.h"
#include "core/host/device.h"
#include "core/host/element_type.h"

namespace pumice {

/// The state of a texture: what is read between its texels and past its edges.
struct Sampler {
    Filter filter = Filter::linear;
    Wrap wrap = Wrap::clamp;
    std::array<float, 4> border{};        ///< for Wrap::border
    Sampling sampling = Sampling::exact;  ///< exact: the same weights in f32 on all devices
    Filter mip_filter = Filter::nearest;  ///< between levels: nearest or linear
};

namespace detail {

/// The memory of an image. Shared by copies of the handle.
struct ImageState {
    std::shared_ptr<DeviceState> device;
    ImageShape shape;
    std::shared_ptr<ArrayState> words;   ///< null if the device has memory for the image
    std::shared_ptr<Allocation> memory;  ///< that memory
    bool released = false;

    /// True if the device has memory for the image.
    bool is_native() const { return memory != nullptr; }
    /// Its memory, or that of its words. Null after release().
    const std::shared_ptr<Allocation>& allocation() const { return words ? words->memory : memory; }
};
/// An image as a kernel's argument.
struct ImageBinding {
    std::shared_ptr<ImageState> image;
    ImageInfo info;  ///< resolved
};

template <class T, int N, ImageLayout L> struct is_image<Image<T, N, L>> : std::true_type {};
template <class T, int N, ImageLayout L> struct is_image<Texture<T, N, L>> : std::true_type {};

/// The channels of an image's T: f32, i32 or u32, 1, 2 or 4 of them.
template <class T> concept Texel =
    (leaf_count<T>() == 1 || leaf_count<T>() == 2 || leaf_count<T>() == 4) && sizeof(T) == size_t(4 * leaf_count<T>());

std::shared_ptr<ImageBinding> make_image(const std::shared_ptr<DeviceState>& device, const ImageShape& shape,
                                         const Element& texel, const ImageOptions& options);
/// The same without memory, for code that is made before the image is.
std::shared_ptr<ImageBinding> described_image(const std::shared_ptr<DeviceState>& device, ImageShape shape, const Element& texel,
                                              const ImageOptions& options);
/// A new image, all zeros. `native`: in the device's memory for images, otherwise as an array of words.
std::shared_ptr<ImageState> new_image(const std::shared_ptr<DeviceState>& device, const ImageShape& shape, bool native);
/// The image of this shape whose memory is `memory`: an image's, or an array of words.
std::shared_ptr<ImageState> image_over(const std::shared_ptr<DeviceState>& device, const ImageShape& shape,
                                       std::shared_ptr<Allocation> memory, bool native);
/// Copies all levels and layers to another image of the same shape and device, both native or both words.
void copy_image(const ImageState& from, const ImageState& to);
/// The words of a texel in an array of words: one, or several for a texel of more than 32 bits.
const Element& word_element(Format format);
/// A texel as kernels see it: 1, 2 or 4 channels of f32, i32 or u32.
const Element& texel_element(Format format);
std::shared_ptr<ImageBinding> with_sampler(const std::shared_ptr<ImageBinding>& image, const Sampler& sampler);
/// The image of a handle. Throws Error if it was never made, or was released.
const ImageState& held(const std::shared_ptr<ImageBinding>& binding);
void check_part(const ImageState& image, int level, int64_t layer);
/// Copies bytes of the format, or channels as kernels see them, of a layer of a level. Throws Error for another size.
void write_pixels(const ImageState& to, int level, int64_t layer, const void* pixels, int64_t bytes);
std::vector<std::byte> read_pixels(const ImageState& from, int level, int64_t layer);
void write_texels(const ImageState& to, int level, int64_t layer, const uint32_t* channels, int64_t texels);
void read_texels(const ImageState& from, int level, int64_t layer, uint32_t* channels);
void generate_levels(const ImageState& image);

}  // namespace detail

/// A handle to an image of N dimensions in device memory, whose texels kernels see as T. Copies share the memory.
/// Default-constructed, it holds nothing. Copies from and to the host wait for the launches before them.
template <class T, int N, ImageLayout L> class Image {
public:
    static_assert(N >= 1 && N <= 3, "pumice: images have 1 to 3 dimensions");
    Image() = default;
    Image(const Device& device, Format format, const int64_t* extents, int64_t layers, const ImageOptions& options) {
        static_assert(detail::Texel<T>, "pumice: the texels of an image are float, int or uint numbers, or vectors of 2 or 4");
        internal::ImageShape shape{format, L, N, {1, 1, 1}, options.levels, layers, false};
        for (int d = 0; d < N; ++d) shape.extents[size_t(N - 1 - d)] = extents[d];
        binding = detail::make_image(device.state, shape, detail::element_of<T>(), options);
    }
    explicit Image(std::shared_ptr<detail::ImageBinding> binding) : binding(std::move(binding)) {}

    explicit operator bool() const { return binding != nullptr; }
    /// Extent of a level along dimension d (0 the slowest).
    int64_t extent(int d, int level = 0) const {
        detail::check_dimension("an image", d, N);
        detail::check_part(detail::held(binding), level, 0);
        return detail::held(binding).shape.extent(N - 1 - d, level);
    }
    Format format() const { return detail::held(binding).shape.format; }
    int levels() const { return detail::held(binding).shape.levels; }
    int64_t layers() const { return detail::held(binding).shape.layers; }
    Device device() const { return Device(detail::held(binding).device); }

    /// Overwrites a layer of a level with texels in row-major order, rounded to the format.
    void upload(std::span<const T> texels, int level = 0, int64_t layer = 0) const {
        detail::write_texels(detail::held(binding), level, layer, reinterpret_cast<const uint32_t*>(texels.data()),
                             int64_t(texels.size()));
    }
    void upload(const std::vector<T>& texels, int level = 0, int64_t layer = 0) const {
        upload(std::span<const T>(texels), level, layer);
    }
    /// The same with bytes in the image's format.
    void upload_pixels(std::span<const std::byte> pixels, int level = 0, int64_t layer = 0) const {
        detail::write_pixels(detail::held(binding), level, layer, pixels.data(), int64_t(pixels.size()));
    }
    std::vector<T> download(int level = 0, int64_t layer = 0) const {
        const detail::ImageState& image = detail::held(binding);
        detail::check_part(image, level, layer);
        std::vector<T> texels(size_t(image.shape.texels(level)));
        detail::read_texels(image, level, layer, reinterpret_cast<uint32_t*>(texels.data()));
        return texels;
    }
    std::vector<std::byte> download_pixels(int level = 0, int64_t layer = 0) const {
        return detail::read_pixels(detail::held(binding), level, layer);
    }
    /// Overwrites level 0 with the elements of an array of the same extents, and the reverse: a launch of a kernel. Through the
    /// host to an image that kernels only read, and between devices.
    void copy_from(const Array<T, N>& array) const
        requires(L == ImageLayout::plain);
    void copy_to(const Array<T, N>& array) const
        requires(L == ImageLayout::plain);
    /// Makes all levels after level 0: each texel is the mean of those of the level before it that it covers. On the host.
    void generate_levels() const { detail::generate_levels(detail::held(binding)); }
    /// Frees the memory once the work that uses it is done. A later use of any handle that shares it is an Error.
    void release() const {
        detail::held(binding);
        binding->image->words = nullptr;
        binding->image->memory = nullptr;
        binding->image->released = true;
    }

    std::shared_ptr<detail::ImageBinding> binding;

private:
    void check_extents(const Array<T, N>& array) const {
        detail::held(array.state);
        for (int d = 0; d < N; ++d)
            if (array.size(d) != extent(d))
                fail("an ", detail::held(binding).shape.text(), " and an array of extent ", array.size(d), " along dimension ", d,
                     " are copied: the extents must agree");
    }
};
template <class T, int N = 2> using ImageArray = Image<T, N, ImageLayout::layered>;
template <class T> using ImageCube = Image<T, 2, ImageLayout::cube>;

/// An image seen through a sampler; texture() makes it.
template <class T, int N, ImageLayout L> class Texture {
public:
    Texture() = default;
    Texture(const Image<T, N, L>& image, const Sampler& sampler) : binding(detail::with_sampler(image.binding, sampler)) {}
    explicit operator bool() const { return binding != nullptr; }
    explicit Texture(std::shared_ptr<detail::ImageBinding> binding) : binding(std::move(binding)) {}
    /// The image, of which all handles share the memory.
    Image<T, N, L> image() const {
        detail::held(binding);
        auto plain = std::make_shared<detail::ImageBinding>(*binding);
        plain->info.kind = internal::ImageInfo::Kind::storage;
        return Image<T, N, L>(plain);
    }
    std::shared_ptr<detail::ImageBinding> binding;
};
template <class T, int N = 2> using TextureArray = Texture<T, N, ImageLayout::layered>;
template <class T> using TextureCube = Texture<T, 2, ImageLayout::cube>;

/// The image seen through the sampler. Throws Error if its format cannot be filtered so.
template <class T, int N, ImageLayout L> Texture<T, N, L> texture(const Image<T, N, L>& image, const Sampler& sampler = {}) {
    return {image, sampler};
}

template <class T, std::size_t N>
Image<T, int(N)> Device::image(Format format, const int64_t (&extents)[N], const ImageOptions& options) const {
    return {*this, format, extents, 1, options};
}
template <class T, std::size_t N> Image<T, int(N), ImageLayout::layered> Device::image_array(Format format, int64_t layers,
                                                                                             const int64_t (&extents)[N],
                                                                                             const ImageOptions& options) const {
    return {*this, format, extents, layers, options};
}
template <class T>
Image<T, 2, ImageLayout::cube> Device::image_cube(Format format, int64_t n, const ImageOptions& options) const {
    const int64_t extents[] = {n, n};
    return {*this, format, extents, 6, options};
}

}  // namespace pumice
