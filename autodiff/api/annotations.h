// Annotations of a call to autodiff: the mode, and the activity of each argument, in Enzyme's vocabulary.
#pragma once
#include "core/kernel/kernel.h"

namespace pumice {

/// Reverse mode: propagates the shadows of written arrays to the shadows of read arrays.
class ReverseMode {
public:
    /// Binomial checkpointing of a program: at most n states are kept, including the first one; the others are computed again.
    ReverseMode checkpoints(int n) const { return with<ReverseMode>(n); }
    int states = 0;  ///< 0: no checkpoints

protected:
    template <class Mode> static Mode with(int n) {
        if (n < 1)
            fail("autodiff is asked to work with ", n,
                 " checkpoints; it needs at least 1, the state in which the program starts");
        Mode mode;
        mode.states = n;
        return mode;
    }
};
/// Reverse mode whose call returns the derivatives, then the results of the function.
class ReverseWithPrimalMode : public ReverseMode {
public:
    ReverseWithPrimalMode checkpoints(int n) const { return with<ReverseWithPrimalMode>(n); }
};
/// Forward mode: tangents in, tangents out.
class ForwardMode {};
/// Reverse mode whose call returns the derivatives, then the results of the function.
class ForwardWithPrimalMode : public ForwardMode {};
inline constexpr ReverseMode Reverse{};
inline constexpr ReverseWithPrimalMode ReverseWithPrimal{};
inline constexpr ForwardMode Forward{};
inline constexpr ForwardWithPrimalMode ForwardWithPrimal{};

namespace detail {
/// In Duplicated: an image or texture I whose shadow is an array S.
template <class I, class S> struct Shadowed {};
}  // namespace detail

/// Not differentiated: it has no shadow and costs nothing.
template <class T> struct Const {
    T value;
    explicit Const(const T& value) : value(value) {}
};
/// A scalar, or a struct of scalars, in reverse mode: its derivative comes back.
template <class T> struct Active {
    T value;
    explicit Active(const T& value) : value(value) {}
};
/// An array with its shadow, of the same shape, type and device. Reverse mode adds the gradient to the shadow if the array is
/// read, and consumes the shadow if the array is overwritten; forward mode reads and writes tangents. In forward mode also a
/// scalar with its tangent. Also a struct of arrays and scalars with such a struct: in reverse mode its scalars are constant,
/// because there is no place for their derivatives.
template <class T> struct Duplicated {
    T value, shadow;
    explicit Duplicated(const T& value, const T& shadow) : value(value), shadow(shadow) {}
};
/// An image or texture with its shadow: an array of the type of its texels, with a dimension for each index of a texel.
template <class I, class S> struct Duplicated<detail::Shadowed<I, S>> {
    I value;
    S shadow;
    explicit Duplicated(const I& value, const S& shadow) : value(value), shadow(shadow) {}
};
template <class T, int N, ImageLayout L, int M> Duplicated(const Image<T, N, L>&, const Array<T, M>&)
    -> Duplicated<detail::Shadowed<Image<T, N, L>, Array<T, M>>>;
template <class T, int N, ImageLayout L, int M> Duplicated(const Texture<T, N, L>&, const Array<T, M>&)
    -> Duplicated<detail::Shadowed<Texture<T, N, L>, Array<T, M>>>;
/// A Duplicated array whose contents are not read afterwards: the derivative may leave the stores of the primal out.
template <class T> struct DuplicatedNoNeed {
    T value, shadow;
    explicit DuplicatedNoNeed(const T& value, const T& shadow) : value(value), shadow(shadow) {}
};
/// One value and N shadows: N directions at once.
template <class T, std::size_t N> struct BatchDuplicated {
    T value;
    std::array<T, N> shadows;
    explicit BatchDuplicated(const T& value, const T (&shadows)[N]) : value(value), shadows(std::to_array(shadows)) {}
    explicit BatchDuplicated(const T& value, const std::array<T, N>& shadows) : value(value), shadows(shadows) {}
};
/// A struct that holds arrays and scalars, with a struct of shadows: its arrays are Duplicated where the shadow has an array,
/// else constant; derivatives of its floating scalars are added to the shadow's (forward mode: the shadow's are tangents).
template <class T> struct MixedDuplicated {
    T &value, &shadow;
    explicit MixedDuplicated(T& value, T& shadow) : value(value), shadow(shadow) {}
};

namespace detail {
template <class> struct annotation {
    static constexpr bool is = false;
};
template <class T> struct annotated {
    using type = T;
    static constexpr bool is = true;
    static constexpr std::size_t width = 0;
};
template <class T> struct annotation<Const<T>> : annotated<T> {};
template <class T> struct annotation<Active<T>> : annotated<T> {};
template <class T> struct annotation<Duplicated<T>> : annotated<T> {
    static constexpr std::size_t width = 1;
};
template <class I, class S> struct annotation<Duplicated<Shadowed<I, S>>> : annotated<I> {
    static constexpr std::size_t width = 1;
};
template <class T> struct annotation<DuplicatedNoNeed<T>> : annotated<T> {
    static constexpr std::size_t width = 1;
};
template <class T> struct annotation<MixedDuplicated<T>> : annotated<T> {
    static constexpr std::size_t width = 1;
};
template <class T, std::size_t N> struct annotation<BatchDuplicated<T, N>> : annotated<T> {
    static constexpr std::size_t width = N;
};
template <class A> concept Annotation = annotation<A>::is;

/// Directions of a call: those of its batches, else 1.
template <class... A> constexpr std::size_t batch_width() {
    std::size_t width = 1;
    ((annotation<A>::width > width ? void(width = annotation<A>::width) : void()), ...);
    return width;
}
}  // namespace detail
}  // namespace pumice
