// Images and textures as kernel parameters: In, Out and InOut of Image<T, N>, and In of Texture<T, N>.
#pragma once
#include "core/host/image.h"
#include "core/language/memory.h"

namespace pumice {
namespace detail {

/// An image parameter of the kernel being recorded.
template <class T, int N, ImageLayout L> class ImageBase : public MemoryBase {
public:
    ImageBase(const ParameterSource& source, ImageInfo::Kind kind, ir::Access access)
        : ImageBase(source, ImageInfo{kind, L, N}, access) {}

private:
    ImageBase(const ParameterSource& source, const ImageInfo& image, ir::Access access)
        : MemoryBase(declare_array(source, element_of<T>(), image.rank(), access, image)) {}
};

/// The sample of a texture: a value for each channel. The operands are those of Builder::sample.
void record_sample(const MemoryBase& texture, std::span<const Handle> operands, std::span<Handle> channels,
                   SourceLocation location);
template <class T> Val<T> sampled(const MemoryBase& texture, std::span<const Handle> operands, SourceLocation location) {
    std::array<Handle, size_t(leaf_count<T>())> channels;
    record_sample(texture, operands, channels, location);
    HandleSource source{channels.data()};
    return Val<T>(source);
}
template <class T> constexpr bool is_float_texel() {
    if constexpr (ScalarType<T>)
        return std::is_same_v<T, float>;
    else
        return std::is_same_v<typename structure<T>::component, float>;
}
inline const IndexOperand& index_at(const IndexOperand& index, SourceLocation) { return index; }
template <class I> IndexOperand index_at(const I& index, SourceLocation location) {
    return IndexOperand(index, location.file, location.line);
}

}  // namespace detail

// Texels are addressed like elements of an array, with one index a dimension, the last one along the width.
#define PUMICE_TEXELS(result, how)                                                     \
    PUMICE_CALLS(result, how, N)                                                       \
    result operator[](detail::IndexOperand x) const                                    \
        requires(N == 1)                                                               \
    {                                                                                  \
        return this->template how<T>({x});                                             \
    }                                                                                  \
    /** The extent along dimension d as a device value; dimension 0 is the slowest. */ \
    Val<int> size(int d = 0, PUMICE_AT) const { return this->extent(d, N, pm_file, pm_line); }

/// A kernel parameter: an image that is read. Texels past the edge must not be read.
template <class T, int N> class In<Image<T, N>, 1> : public detail::ImageBase<T, N, ImageLayout::plain> {
public:
    explicit In(const detail::ParameterSource& source)
        : detail::ImageBase<T, N, ImageLayout::plain>(source, internal::ImageInfo::Kind::storage, ir::Access::in) {}
    PUMICE_TEXELS(Val<T>, load)
};

/// A kernel parameter: an image that is read and written. A value read is as the format keeps it.
template <class T, int N> class InOut<Image<T, N>, 1> : public detail::ImageBase<T, N, ImageLayout::plain> {
public:
    explicit InOut(const detail::ParameterSource& source, ir::Access access = ir::Access::inout)
        : detail::ImageBase<T, N, ImageLayout::plain>(source, internal::ImageInfo::Kind::storage, access) {}
    PUMICE_TEXELS(Ref<T>, refer)
};

/// A kernel parameter: an image that is written; the kernel may read only texels that it has written.
template <class T, int N> class Out<Image<T, N>, 1> : public InOut<Image<T, N>, 1> {
public:
    explicit Out(const detail::ParameterSource& source) : InOut<Image<T, N>, 1>(source, ir::Access::out) {}
};
#undef PUMICE_TEXELS
#undef PUMICE_CALLS

/// A kernel parameter: an image that is read through its sampler. Coordinates are normalised, from 0 to 1, in the order of
/// GLSL: along the width first. A cube is read by a direction.
template <class T, int N, ImageLayout L> class In<Texture<T, N, L>, 1> : public detail::ImageBase<T, N, L> {
    static constexpr bool plain = L == ImageLayout::plain, layered = L == ImageLayout::layered;
    using Position = typename detail::vector_of<float, L == ImageLayout::cube ? 3 : N>::type;

public:
    explicit In(const detail::ParameterSource& source)
        : detail::ImageBase<T, N, L>(source, internal::ImageInfo::Kind::texture, ir::Access::in) {}

    /// A texel of a level: (level, y, x), or with a layer or face (level, layer, y, x).
    template <class... I>
        requires(sizeof...(I) == size_t(N) + (L != ImageLayout::plain) &&
                 (std::is_convertible_v<const I&, detail::IndexOperand> && ...))
    Val<T> fetch(detail::IndexOperand level, const I&... indices) const {
        return this->template load<T>({level, detail::index_at(indices, level.location)...});
    }
    /// A texel of level 0: (y, x), or with a layer or face (layer, y, x).
    Val<T> operator()(detail::IndexOperand i) const
        requires(N + !plain == 1)
    {
        return fetch(detail::IndexOperand(0, i.location.file, i.location.line), i);
    }
    Val<T> operator()(detail::IndexOperand i, detail::IndexOperand j) const
        requires(N + !plain == 2)
    {
        return fetch(detail::IndexOperand(0, i.location.file, i.location.line), i, j);
    }
    Val<T> operator()(detail::IndexOperand i, detail::IndexOperand j, detail::IndexOperand k) const
        requires(N + !plain == 3)
    {
        return fetch(detail::IndexOperand(0, i.location.file, i.location.line), i, j, k);
    }

    // The source line is that of the position: a default argument after the level would take a literal 0.
    /// The filtered value at a position, of level 0 or the level of detail.
    Val<T> sample(detail::Operand<Position> at) const
        requires(!layered)
    {
        return filtered(zero(at.location), nullptr, at);
    }
    Val<T> sample(detail::Operand<Position> at, detail::Operand<float> level) const
        requires(!layered)
    {
        return filtered(level.handle, nullptr, at);
    }
    /// The same of a layer; layers past the ends are the nearest ones.
    Val<T> sample(detail::Operand<Position> at, detail::Operand<int> layer) const
        requires(layered)
    {
        return filtered(zero(at.location), &layer.handle, at);
    }
    Val<T> sample(detail::Operand<Position> at, detail::Operand<int> layer, detail::Operand<float> level) const
        requires(layered)
    {
        return filtered(level.handle, &layer.handle, at);
    }

    /// The extent of level 0 along dimension d as a device value; dimension 0 is the slowest.
    Val<int> size(int d = 0, PUMICE_AT) const { return this->extent(d, N, pm_file, pm_line); }
    Val<int> layers(PUMICE_AT) const
        requires(!plain)
    {
        return this->extent(0, N + 1, pm_file, pm_line);
    }
    Val<int> levels(PUMICE_AT) const { return this->extent(0, N + !plain + 1, pm_file, pm_line); }

private:
    detail::Handle zero(detail::SourceLocation location) const {
        detail::Recorder& r = this->recorder(location);
        return r.handle(r.at(location).build.constant_float(internal::Scalar::f32, 0));
    }
    Val<T> filtered(detail::Handle level, const detail::Handle* layer, const detail::Operand<Position>& at) const {
        static_assert(detail::is_float_texel<T>(), "pumice: a texture of integers is read by fetch, not by sample");
        std::vector<detail::Handle> operands{level};
        if (layer) operands.push_back(*layer);
        if constexpr (internal::ScalarType<Position>)
            operands.push_back(at.handle);
        else
            operands.insert(operands.end(), at.handles.begin(), at.handles.end());
        return detail::sampled<T>(*this, operands, at.location);
    }
};

}  // namespace pumice
