// Host arguments: the values of a launch, one for each parameter of the IR.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "core/host/array.h"
#include "core/host/image.h"
#include "core/language/memory.h"

namespace pumice::detail {

/// A host argument for one parameter of the IR.
struct HostArgument {
    bool is_array = false;
    const Element* element = nullptr;  ///< of an array
    /// Null: never allocated. Not owned, since a count of owners costs more than a launch's other work on an array.
    const ArrayState* array = nullptr;
    std::array<int64_t, ir::max_rank> extents = Launch::Array::ones();  ///< dimension 0 first
    int rank = 1;
    Scalar type = Scalar::f32;  ///< of a scalar
    uint64_t bits = 0;
    const void* followed_by = nullptr;  ///< of a traced scalar: its program's scalars, and its number among them
    int number = -1;
    /// Of an image: the image and its sampler. `element` is that of a texel, `array` the words or null, `extents` one for each
    /// index of a texel. Alive during the launch.
    const ImageBinding* image = nullptr;

    /// The device of the array or image, which must be allocated.
    const std::shared_ptr<DeviceState>& device() const { return array ? array->device : image->image->device; }
};

/// Writes `value` as arguments of the IR: one, or for a struct one a member, in order.
template <class T> void put_host(const T& value, HostArgument*& next) {
    if constexpr (ScalarType<T>) {
        new (next) HostArgument;
        next->type = *scalar_of<T>();
        __builtin_memcpy(&next->bits, &value, sizeof(T));
        ++next;
    } else {
        structure<T>::each_value(value, [&](const auto& member) { put_host(member, next); });
    }
}
template <class T, int N> void put_host(const Array<T, N>& value, HostArgument*& next) {
    new (next) HostArgument;
    next->is_array = true;
    next->element = &element_of<T>();
    next->array = value.state.get();
    next->rank = N;
    for (int d = 0; d < N; ++d) next->extents[size_t(d)] = value.extents[size_t(d)];
    ++next;
}
void put_image(const ImageBinding* binding, const Element& texel, int rank, HostArgument& to);
template <template <class, int, ImageLayout> class I, class T, int N, ImageLayout L>
    requires is_image<I<T, N, L>>::value
void put_host(const I<T, N, L>& value, HostArgument*& next) {
    put_image(value.binding.get(), element_of<T>(), N + (L != ImageLayout::plain), *new (next++) HostArgument);
}
template <class T> constexpr size_t host_count() {
    if constexpr (ScalarType<T> || is_array<T>::value || is_image<T>::value)
        return 1;
    else if constexpr (requires { typename T::traced; })
        return host_count<typename T::traced>();
    else {
        size_t n = 0;
        structure<T>::each_type([&]<class F>(const char*, size_t, F*) { n += host_count<F>(); });
        return n;
    }
}
/// The arguments of a launch, a range that converts to a span. Each is made where it lies, since a compiler fills an array of
/// them by slower instructions.
template <size_t N> class HostArguments {
public:
    template <class... H> explicit HostArguments(const H&... values) {
        [[maybe_unused]] HostArgument* next = reinterpret_cast<HostArgument*>(memory);
        (put_host(values, next), ...);
    }
    const HostArgument* begin() const { return std::launder(reinterpret_cast<const HostArgument*>(memory)); }
    const HostArgument* end() const { return begin() + N; }
    const HostArgument& operator[](size_t i) const { return begin()[i]; }
    static constexpr size_t size() { return N; }

private:
    alignas(HostArgument) std::byte memory[std::max<size_t>(N, 1) * sizeof(HostArgument)];
};
static_assert(std::is_trivially_destructible_v<HostArgument> && std::is_trivially_copyable_v<HostArgument>);
template <class... H> auto host_arguments(const H&... values) { return HostArguments<(host_count<H>() + ... + 0)>(values...); }

/// True for a traced number, or struct of such, of type T: put_host handles it.
template <class A, class T> concept Follows = std::is_same_v<typename A::traced, T>;
/// The argument for a parameter of host type H: traced values stay as they are.
template <class H, class A> decltype(auto) given_as(const A& a) {
    if constexpr (std::is_same_v<A, H> || Follows<A, H>)
        return (a);
    else
        return H(a);
}

/// True if a number of type A may be one that the scalar type H does not hold.
template <class H, class A> constexpr bool narrows = ScalarType<H> && std::is_arithmetic_v<A> && !std::is_same_v<H, A> &&
                                                     !std::is_same_v<H, bool> &&
                                                     (std::is_floating_point_v<A> || std::is_integral_v<H>);
template <class A> constexpr bool is_negative(A number) {
    if constexpr (std::is_signed_v<A>)
        return number < 0;
    else
        return false;
}
/// True if the scalar type H holds the number: a whole number as it is, another one without becoming infinite.
template <class H, class A> bool holds(A number) {
    if constexpr (std::is_integral_v<H>) {
        return A(H(number)) == number && is_negative(number) == is_negative(H(number));
    } else {
        const double size = number < 0 ? -double(number) : double(number);
        if constexpr (NarrowFloat<H>)
            return !(size > H::largest) || size > double(std::numeric_limits<A>::max());
        else
            return !(size > double(std::numeric_limits<H>::max())) || size > double(std::numeric_limits<A>::max());
    }
}

// The host argument for a parameter of the lambda's signature.
template <class P> struct parameter {
    static_assert(never<P>,
                  "pumice: a kernel's parameters are In<T, N>, Out<T, N>, InOut<T, N> of arrays, images or textures and Val<T>, "
                  "taken by value");
};
template <class T, int N> struct memory_parameter {
    using host = std::conditional_t<HoldsArrays<T>, T, Array<T, N>>;
    template <class A> static constexpr bool takes = std::is_same_v<A, host> || Follows<A, host>;
};
template <class T, int N> struct parameter<In<T, N>> : memory_parameter<T, N> {};
template <class T, int N> struct parameter<Out<T, N>> : memory_parameter<T, N> {};
template <class T, int N> struct parameter<InOut<T, N>> : memory_parameter<T, N> {};
template <class Handle> struct image_parameter {
    using host = Handle;
    template <class A> static constexpr bool takes = std::is_same_v<A, Handle>;
};
template <class T, int N, ImageLayout L> struct parameter<In<Image<T, N, L>, 1>> : image_parameter<Image<T, N, L>> {};
template <class T, int N, ImageLayout L> struct parameter<Out<Image<T, N, L>, 1>> : image_parameter<Image<T, N, L>> {};
template <class T, int N, ImageLayout L> struct parameter<InOut<Image<T, N, L>, 1>> : image_parameter<Image<T, N, L>> {};
template <class T, int N, ImageLayout L> struct parameter<In<Texture<T, N, L>, 1>> : image_parameter<Texture<T, N, L>> {};
template <class T> struct parameter<Val<T>> {
    using host = T;
    template <class A> static constexpr bool takes = std::is_same_v<A, T> || Adopts<T, A> || Follows<A, T>;
};

/// False, after the message of parameter<P>, if P is no parameter of a kernel.
template <class P> concept Parameter = requires { typename parameter<P>::host; };
/// Checks one argument of a launch: the compiler's message shows its number, and the wanted and the given type.
template <int Number, class Wanted, class Given, bool right> struct Argument {
    static_assert(right,
                  "pumice: an argument of a kernel launch has the wrong type (see its number, the wanted and the given type)");
};

}  // namespace pumice::detail
