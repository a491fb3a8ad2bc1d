// The images of a random kernel: a texture of any dimensions, format, sampler and levels, and an image with a texel for each
// item.
#pragma once
#include <random>

#include <pumice/pumice.h>

#include "core/format/texel_conversion.h"

namespace fuzz {

class RandomImages {
public:
    explicit RandomImages(uint64_t seed) : random(seed * 0x9e3779b97f4a7c15u + 1) {
        using namespace pumice;
        used = seed % 2 == 0;
        shape.format = Format(roll(std::size(internal::format_rows)));
        shape.dimensions = 1 + int(roll(3));
        for (int axis = 0; axis < shape.dimensions; ++axis) shape.extents[size_t(axis)] = 1 + int64_t(roll(9));
        shape.levels = 1 + int(roll(uint64_t(shape.most_levels())));
        shape.storage = false;
        if (filters())
            sampler.filter = Filter(roll(3)), sampler.mip_filter = Filter(roll(2));
        else
            sampler.filter = Filter::nearest;
        sampler.wrap = Wrap(roll(4));
        for (float& channel : sampler.border) channel = float(roll(17)) / 8 - 1;
        do own_format = Format(roll(std::size(internal::format_rows)));
        while (internal::row_of(own_format).kind == internal::FormatRow::Kind::srgb);
    }

    bool filters() const { return pumice::internal::row_of(shape.format).is_float(); }

    pumice::ir::Memory texture_parameter() const {
        return parameter(shape.format,
                         {pumice::internal::ImageInfo::Kind::texture, pumice::ImageLayout::plain, shape.dimensions});
    }
    pumice::ir::Memory own_parameter() const {
        return parameter(own_format, {pumice::internal::ImageInfo::Kind::storage, pumice::ImageLayout::plain, 1});
    }

    using Binding = std::shared_ptr<pumice::detail::ImageBinding>;
    Binding make_texture(const pumice::Device& device) const {
        return pumice::detail::with_sampler(make(device, shape, true), sampler);
    }
    Binding make_own(const pumice::Device& device, int64_t items) const {
        return make(device, {own_format, pumice::ImageLayout::plain, 1, {items, 1, 1}}, false);
    }
    /// Of a kernel without a signature in C++.
    static pumice::detail::HostArgument argument(const Binding& image) {
        pumice::detail::HostArgument to;
        pumice::detail::put_image(image.get(), element_of(image->image->shape.format), 1, to);
        return to;
    }

    /// The texels as kernels see them: two patterns of a normalised format may be the same number.
    static std::vector<uint32_t> channels_of(const Binding& image) {
        const pumice::internal::ImageShape& own = image->image->shape;
        std::vector<uint32_t> all(size_t(own.texels()) * size_t(pumice::internal::row_of(own.format).channels));
        pumice::detail::read_texels(*image->image, 0, 0, all.data());
        return all;
    }

    std::string text() const {
        return pumice::text("a texture ", shape.text(), " of ", shape.levels, " levels, ",
                            pumice::internal::filter_names[size_t(sampler.filter)], ", ",
                            pumice::internal::wrap_names[size_t(sampler.wrap)], "; own texels ", pumice::name_of(own_format));
    }

    bool used = false;
    pumice::internal::ImageShape shape;
    pumice::Sampler sampler;
    pumice::Format own_format{};

private:
    uint64_t roll(uint64_t n) { return random() % n; }

    static const pumice::internal::Element& element_of(pumice::Format format) {
        using namespace pumice;
        const internal::FormatRow& row = internal::row_of(format);
        const auto of_kind = [&]<class One, class Two, class Four>(One, Two, Four) -> const internal::Element& {
            return row.channels == 1   ? detail::element_of<One>()
                   : row.channels == 2 ? detail::element_of<Two>()
                                       : detail::element_of<Four>();
        };
        if (row.is_float()) return of_kind(float(), float2(), float4());
        return row.kind == internal::FormatRow::Kind::sint ? of_kind(int(), int2(), int4())
                                                           : of_kind(uint32_t(), uint2(), uint4());
    }
    static pumice::ir::Memory parameter(pumice::Format format, const pumice::internal::ImageInfo& image) {
        pumice::ir::Memory m;
        m.element = element_of(format);
        m.image = image;
        m.rank = image.rank();
        return m;
    }
    /// Texels of any bits, but of floats small multiples of 1/16.
    static Binding make(const pumice::Device& device, const pumice::internal::ImageShape& shape, bool read_only) {
        using namespace pumice;
        pumice::ImageOptions options;
        options.levels = shape.levels, options.read_only = read_only;
        const auto image = detail::make_image(device.state, shape, element_of(shape.format), options);
        std::mt19937_64 random(7);
        for (int level = 0; level < shape.levels; ++level) {
            std::vector<std::byte> pixels(size_t(shape.bytes(level)));
            for (std::byte& p : pixels) p = std::byte(random());
            if (internal::row_of(shape.format).kind == internal::FormatRow::Kind::real) {
                std::vector<uint32_t> channels(size_t(shape.texels(level)) * size_t(internal::row_of(shape.format).channels));
                for (uint32_t& c : channels) c = std::bit_cast<uint32_t>(float(int(random() % 257) - 128) / 16);
                encode_texels(shape.format, channels.data(), shape.texels(level), pixels.data());
            }
            detail::write_pixels(*image->image, level, 0, pixels.data(), int64_t(pixels.size()));
        }
        return image;
    }

    std::mt19937_64 random;
};

}  // namespace fuzz
