#include "core/host/image.h"

#include <bit>
#include <cstring>

#include "core/format/hardware_sampler.h"
#include "core/format/texel_conversion.h"
#include "core/host/trace_hook.h"
#include "core/host/traced_work.h"

namespace pumice {

using namespace internal;

std::shared_ptr<Allocation> Backend::allocate_image(const ImageShape& shape) {
    library_bug("a device without memory for images is asked for an " + shape.text());
}
void Backend::write_image(Allocation&, const ImageShape& shape, int, int64_t, const void*) {
    library_bug("a device without memory for images is asked for an " + shape.text());
}
void Backend::read_image(Allocation&, const ImageShape& shape, int, int64_t, void*) {
    library_bug("a device without memory for images is asked for an " + shape.text());
}
void Backend::copy_image(Allocation& from, Allocation& to, const ImageShape& shape) {
    for (int level = 0; level < shape.levels; ++level)
        for (int64_t layer = 0; layer < shape.layers; ++layer) {
            std::vector<std::byte> pixels(size_t(shape.bytes(level)));
            read_image(from, shape, level, layer, pixels.data());
            write_image(to, shape, level, layer, pixels.data());
        }
}

namespace detail {
namespace {

Scalar channel_of(const FormatRow& row) {
    return row.is_float() ? Scalar::f32 : row.kind == FormatRow::Kind::sint ? Scalar::i32 : Scalar::u32;
}

std::string channels_of(Scalar type, size_t count) {
    return text(count, count == 1 ? " channel of " : " channels of ", name_of(type));
}

void check_texel(const ImageShape& shape, const Element& texel) {
    const FormatRow& row = row_of(shape.format);
    const Scalar wanted = channel_of(row);
    const Scalar given = texel.leaves[0].type;
    if (given != wanted || texel.leaves.size() != size_t(row.channels))
        fail("an image of format ", row.name, " has ", channels_of(wanted, size_t(row.channels)), ", and its type in C++ has ",
             channels_of(given, texel.leaves.size()));
}

void check_shape(const ImageShape& shape) {
    constexpr int64_t most = 32768;
    for (int axis = shape.dimensions - 1; axis >= 0; --axis) {
        const int64_t extent = shape.extents[size_t(axis)];
        if (extent < 1 || extent > most)
            fail("an image of extent ", extent, " along dimension ", shape.dimensions - 1 - axis,
                 " is asked for: extents are 1 to ", most);
    }
    if (shape.layers < 1 || shape.layers > 2048)
        fail("an image of ", shape.layers, " layers is asked for: an array of images has 1 to 2048");
    if (shape.levels < 1 || shape.levels > shape.most_levels())
        fail("an ", shape.text(), " with ", shape.levels, " levels is asked for: it has 1 to ", shape.most_levels());
    if (shape.slices() * shape.texels() > INT32_MAX)
        fail("an ", shape.text(), " is asked for, whose levels and layers take more than ", INT32_MAX,
             " texels, which is the limit");
}

/// Calls `act(words, pixels, texels)` with the byte offsets of each row of texels in the words and in rows without gaps, and
/// its length.
template <class Act> void each_row(const ImageShape& shape, int level, int64_t layer, const Act& act) {
    const int64_t texel = row_of(shape.format).bytes(), word = std::max<int64_t>(4, texel), row = shape.extent(0, level);
    const ImageShape::SubresourceLayout place = shape.subresource_layout(level, layer);
    if (level == 0) return act(place.first * word, int64_t(0), shape.texels(0));
    int64_t pixels = 0;
    for (int64_t z = 0; z < shape.extent(2, level); ++z)
        for (int64_t y = 0; y < shape.extent(1, level); ++y, pixels += row * texel)
            act((place.first + z * place.strides[2] + y * place.strides[1]) * word, pixels, row);
}

/// Copies texels of less than 32 bits to words of their own, or back.
template <bool to_words> void repack(const void* from, void* to, int64_t texels, size_t bytes) {
    const auto* source = static_cast<const std::byte*>(from);
    auto* target = static_cast<std::byte*>(to);
    for (int64_t t = 0; t < texels; ++t, source += to_words ? bytes : 4, target += to_words ? 4 : bytes)
        std::memcpy(target, source, bytes);
}

/// Each format's element of `count(row)` leaves of `type(row)`.
template <class Type, class Count> std::vector<Element> elements_of(const Type& type, const Count& count) {
    constexpr const char* names[] = {"x", "y", "z", "w"};
    std::vector<Element> all;
    for (const FormatRow& row : format_rows) {
        const Scalar leaf = type(row);
        const int leaves = count(row);
        all.push_back(Element::of(leaf));
        for (int n = 1; n < leaves; ++n) all.back().leaves.push_back({names[n], leaf, uint32_t(4 * n)});
        if (leaves > 1) all.back().leaves[0].path = names[0];
        all.back().size = uint32_t(4 * leaves);
    }
    return all;
}

}  // namespace

const Element& word_element(Format format) {
    static const auto& elements = *new auto(elements_of(  // never destroyed, as detail::element_of
        [](const FormatRow& row) { return row.kind == FormatRow::Kind::real && row.bits == 32 ? Scalar::f32 : Scalar::u32; },
        [](const FormatRow& row) { return std::max(1, row.bytes() / 4); }));
    return elements[size_t(format)];
}

const Element& texel_element(Format format) {
    static const auto& elements = *new auto(elements_of(channel_of, [](const FormatRow& row) { return row.channels; }));
    return elements[size_t(format)];
}

std::shared_ptr<ImageState> new_image(const std::shared_ptr<DeviceState>& device, const ImageShape& shape, bool native) {
    auto image = std::make_shared<ImageState>();
    image->device = device;
    image->shape = shape;
    if (native) {
        image->memory = device->backend->allocate_image(shape);
        meter_memory(*image->memory, *device);
    } else {
        const int64_t words = shape.slices() * shape.texels();
        const ScopedTraceHook aside(nullptr);
        image->words = allocate(device, &words, 1, word_element(shape.format), true);
    }
    if (TraceHook* o = trace_hook()) o->image_allocated(*image);
    return image;
}

std::shared_ptr<ImageState> image_over(const std::shared_ptr<DeviceState>& device, const ImageShape& shape,
                                       std::shared_ptr<Allocation> memory, bool native) {
    auto image = std::make_shared<ImageState>();
    image->device = device;
    image->shape = shape;
    if (native) {
        image->memory = std::move(memory);
    } else {
        image->words = std::make_shared<ArrayState>();
        image->words->device = device;
        image->words->element = &word_element(shape.format);
        image->words->element_size = int(image->words->element->size);
        image->words->bytes = shape.slices() * shape.texels() * image->words->element_size;
        image->words->memory = std::move(memory);
    }
    return image;
}

void copy_image(const ImageState& from, const ImageState& to) {
    if (TraceHook* o = trace_hook()) o->image_copying(from, to);
    Backend& backend = *from.device->backend;
    if (from.is_native())
        backend.copy_image(*from.memory, *to.memory, from.shape);
    else
        backend.copy(*from.words->memory, from.words->offset, *to.words->memory, to.words->offset, from.words->bytes, 0);
}

std::shared_ptr<ImageBinding> described_image(const std::shared_ptr<DeviceState>& device, ImageShape shape, const Element& texel,
                                              const ImageOptions& options) {
    if (size_t(shape.format) >= std::size(format_rows))
        fail("an image of format ", int(shape.format), " is asked for: there is none");
    check_texel(shape, texel);
    check_shape(shape);
    shape.storage =
        shape.layout == ImageLayout::plain && !options.read_only && row_of(shape.format).kind != FormatRow::Kind::srgb;
    const bool native = device->backend->has_image(shape);
    auto binding = std::make_shared<ImageBinding>();
    binding->image = image_over(device, shape, nullptr, native);
    binding->info = {ImageInfo::Kind::storage, shape.layout, shape.dimensions, true, native, shape.format, shape.levels};
    return binding;
}

std::shared_ptr<ImageBinding> make_image(const std::shared_ptr<DeviceState>& device, const ImageShape& shape,
                                         const Element& texel, const ImageOptions& options) {
    std::shared_ptr<ImageBinding> binding = described_image(device, shape, texel, options);
    binding->image = new_image(device, binding->image->shape, binding->info.native);
    return binding;
}

std::shared_ptr<ImageBinding> with_sampler(const std::shared_ptr<ImageBinding>& image, const Sampler& sampler) {
    const FormatRow& row = row_of(held(image).shape.format);
    const auto known = [](int value, int most, const char* what) {
        if (value < 0 || value > most) fail("a sampler has ", what, " ", value, ", which is none of ", most + 1);
    };
    known(int(sampler.filter), int(Filter::cubic), "filter");
    known(int(sampler.mip_filter), int(Filter::cubic), "filter of levels");
    known(int(sampler.wrap), int(Wrap::border), "wrap");
    known(int(sampler.sampling), int(Sampling::fast), "sampling");
    if (sampler.mip_filter == Filter::cubic)
        throw Error("a sampler filters its levels by Filter::cubic: levels are filtered by Filter::nearest or linear");
    if (!row.is_float() && (sampler.filter != Filter::nearest || sampler.mip_filter != Filter::nearest))
        fail("a texture of format ", row.name,
             " is filtered by Filter::", filter_names[int(std::max(sampler.filter, sampler.mip_filter))],
             ": integers are read by Filter::nearest");
    auto binding = std::make_shared<ImageBinding>(*image);
    ImageInfo& info = binding->info;
    info.kind = ImageInfo::Kind::texture;
    info.filter = sampler.filter;
    info.mip_filter = sampler.mip_filter;
    info.wrap = sampler.wrap;
    info.sampling = sampler.sampling;
    for (size_t c = 0; c < 4 && sampler.wrap == Wrap::border; ++c) info.border[c] = std::bit_cast<uint32_t>(sampler.border[c]);
    const auto* const hardware = dynamic_cast<const HardwareSampler*>(held(image).device->backend.get());
    if (!info.native || !hardware || !hardware->has_sampler(info)) info.sampling = Sampling::exact;
    return binding;
}

const ImageState& held(const std::shared_ptr<ImageBinding>& binding) {
    if (!binding) throw Error("an image that was never made is used: make it with Device::image");
    if (binding->image->released) throw Error("an image is used after its release()");
    return *binding->image;
}

void check_part(const ImageState& image, int level, int64_t layer) {
    if (level < 0 || level >= image.shape.levels)
        fail("level ", level, " of an ", image.shape.text(), " is asked for; it has ", image.shape.levels);
    if (layer < 0 || layer >= image.shape.layers)
        fail("layer ", layer, " of an ", image.shape.text(), " is asked for; it has ", image.shape.layers);
}

void write_pixels(const ImageState& to, int level, int64_t layer, const void* pixels, int64_t bytes) {
    check_part(to, level, layer);
    if (bytes != to.shape.bytes(level))
        fail(bytes, " bytes are copied into level ", level, " of an ", to.shape.text(), ", which takes ", to.shape.bytes(level));
    if (TraceHook* o = trace_hook()) o->image_writing(to, level, layer, pixels);
    Backend& backend = *to.device->backend;
    if (to.memory) return backend.write_image(*to.memory, to.shape, level, layer, pixels);
    const size_t texel = size_t(row_of(to.shape.format).bytes());
    each_row(to.shape, level, layer, [&](int64_t at, int64_t pixel, int64_t texels) {
        const std::byte* from = static_cast<const std::byte*>(pixels) + pixel;
        if (texel >= 4) return backend.write(*to.words->memory, at, from, texels * int64_t(texel));
        std::vector<std::byte> words(size_t(4 * texels));
        repack<true>(from, words.data(), texels, texel);
        backend.write(*to.words->memory, at, words.data(), 4 * texels);
    });
}

std::vector<std::byte> read_pixels(const ImageState& from, int level, int64_t layer) {
    check_part(from, level, layer);
    if (TraceHook* o = trace_hook()) o->image_reading(from);
    std::vector<std::byte> pixels(size_t(from.shape.bytes(level)));
    Backend& backend = *from.device->backend;
    if (from.memory)
        backend.read_image(*from.memory, from.shape, level, layer, pixels.data());
    else
        each_row(from.shape, level, layer, [&](int64_t at, int64_t pixel, int64_t texels) {
            const size_t texel = size_t(row_of(from.shape.format).bytes());
            if (texel >= 4) return backend.read(*from.words->memory, at, pixels.data() + pixel, texels * int64_t(texel));
            std::vector<std::byte> words(size_t(4 * texels));
            backend.read(*from.words->memory, at, words.data(), 4 * texels);
            repack<false>(words.data(), pixels.data() + pixel, texels, texel);
        });
    return pixels;
}

void write_texels(const ImageState& to, int level, int64_t layer, const uint32_t* channels, int64_t texels) {
    check_part(to, level, layer);
    if (texels != to.shape.texels(level))
        fail(texels, " texels are copied into level ", level, " of an ", to.shape.text(), ", which has ", to.shape.texels(level));
    std::vector<std::byte> pixels(size_t(to.shape.bytes(level)));
    encode_texels(to.shape.format, channels, texels, pixels.data());
    write_pixels(to, level, layer, pixels.data(), int64_t(pixels.size()));
}

void read_texels(const ImageState& from, int level, int64_t layer, uint32_t* channels) {
    const std::vector<std::byte> pixels = read_pixels(from, level, layer);
    decode_texels(from.shape.format, pixels.data(), from.shape.texels(level), channels);
}

void generate_levels(const ImageState& image) {
    const ImageShape& shape = image.shape;
    const FormatRow& row = row_of(shape.format);
    if (!row.is_float()) fail("the levels of an ", shape.text(), " are asked for: integers have no mean");
    const size_t channels = size_t(row.channels);
    for (int64_t layer = 0; layer < shape.layers; ++layer) {
        std::vector<uint32_t> from(size_t(shape.texels()) * channels);
        read_texels(image, 0, layer, from.data());
        for (int level = 1; level < shape.levels; ++level) {
            std::vector<uint32_t> to(size_t(shape.texels(level)) * channels);
            std::array<int64_t, 3> old{}, now{}, begin{}, end{};
            for (int axis = 0; axis < 3; ++axis)
                old[size_t(axis)] = shape.extent(axis, level - 1), now[size_t(axis)] = shape.extent(axis, level);
            // A texel covers 2 of the level before it along an axis, the last one 3 if that extent is odd, or 1 of 1.
            const auto covered = [&](size_t axis, int64_t i) {
                begin[axis] = old[axis] == 1 ? 0 : 2 * i;
                end[axis] = i + 1 == now[axis] ? old[axis] : 2 * i + 2;
            };
            size_t next = 0;
            for (int64_t z = 0; z < now[2]; ++z)
                for (int64_t y = 0; y < now[1]; ++y)
                    for (int64_t x = 0; x < now[0]; ++x) {
                        covered(0, x), covered(1, y), covered(2, z);
                        for (size_t c = 0; c < channels; ++c) {
                            double sum = 0;
                            int count = 0;
                            for (int64_t k = begin[2]; k < end[2]; ++k)
                                for (int64_t j = begin[1]; j < end[1]; ++j)
                                    for (int64_t i = begin[0]; i < end[0]; ++i, ++count)
                                        sum += double(
                                            std::bit_cast<float>(from[size_t((k * old[1] + j) * old[0] + i) * channels + c]));
                            to[next++] = std::bit_cast<uint32_t>(float(sum / count));
                        }
                    }
            write_texels(image, level, layer, to.data(), shape.texels(level));
            from = std::move(to);
        }
    }
}

}  // namespace detail
}  // namespace pumice
