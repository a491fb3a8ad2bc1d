// Arrays in device memory.
#pragma once
#include <array>
#include <ostream>
#include <vector>

#include "core/host/device.h"
#include "core/host/element_type.h"
#include "core/host/strided_region.h"
#include "core/host/view.h"

namespace pumice {

namespace detail {
/// Hands the name of an array's memory to a backend that has names.
void name_array(const ArrayState& array, const std::string& name);
}  // namespace detail

/// A handle to N-dimensional, row-major device memory of T: copies share the data, clone() copies it. Default-constructed, it
/// holds nothing. Operations are ordered with the launches before them on the device's default stream.
template <class T, int N = 1> class Array {
public:
    static_assert(N >= 1 && N <= ir::max_rank, "pumice: arrays have 1 to 6 dimensions");
    static_assert(internal::ScalarType<T> || detail::Composite<T>,
                  "pumice: array elements are bool, a fixed-width integer, half, bfloat16, float, double, a vector, or a "
                  "struct that PUMICE_STRUCT describes");

    Array() = default;
    Array(const Device& device, const std::array<int64_t, size_t(N)>& extents, bool zero)
        : extents(extents), state(detail::allocate(device.state, extents.data(), N, detail::element_of<T>(), zero)) {}
    Array(const std::array<int64_t, size_t(N)>& extents, std::shared_ptr<detail::ArrayState> state)
        : extents(extents), state(std::move(state)) {}

    /// True if the handle holds memory, also where that has no elements.
    explicit operator bool() const { return state != nullptr; }
    /// Extent along dimension d (0 the slowest).
    int64_t size(int d = 0) const {
        detail::check_dimension("an array", d, N);
        return extents[size_t(d)];
    }
    /// Number of elements.
    int64_t count() const { return detail::count_of(extents); }
    Device device() const { return Device(detail::held(state).device); }

    /// The elements [from, to) along dimension 0, as an array that shares the data: kernels take it like any other.
    Array slice(int64_t from, int64_t to) const {
        const int64_t step = 1;
        detail::held(state);
        detail::check_region({extents.data(), 1}, {&from, 1}, {&to, 1}, {&step, 1});
        Array part = *this;
        part.extents[0] = to - from;
        part.state = detail::slice(*state, from * detail::row_major(extents)[0], part.count());
        return part;
    }
    /// The elements (i, ...) as an array of one dimension less; shares the data.
    Array<T, (N > 1 ? N - 1 : 1)> row(int64_t i) const
        requires(N > 1)
    {
        std::array<int64_t, size_t(N > 1 ? N - 1 : 1)> inner;
        for (size_t d = 1; d < N; ++d) inner[d - 1] = extents[d];
        return {inner, slice(i, detail::next_to(i)).state};
    }
    /// The same elements in another shape with as many elements; shares the data.
    template <std::size_t M> Array<T, int(M)> reshape(const int64_t (&shape)[M]) const {
        const auto wanted = detail::to_array(shape);
        detail::check_shape(shape, int(M), count());
        return {wanted, detail::slice(detail::held(state), 0, count())};
    }
    /// All elements in one dimension; shares the data.
    Array<T, 1> flat() const { return reshape({count()}); }
    /// The elements [from, to) along each dimension, every step-th of them, for copies. Throws Error for a region outside the
    /// array or a step below 1.
    View<T, N> view(const int64_t (&from)[size_t(N)], const int64_t (&to)[size_t(N)], const int64_t (&step)[size_t(N)]) const {
        return View<T, N>(*this).view(from, to, step);
    }
    View<T, N> view(const int64_t (&from)[size_t(N)], const int64_t (&to)[size_t(N)]) const {
        return View<T, N>(*this).view(from, to);
    }
    template <std::integral A, std::integral B> View<T, N> view(A from, B to, int64_t step = 1) const
        requires(N == 1)
    {
        return View<T, N>(*this).view(from, to, step);
    }

    /// All elements, row-major; waits for the launches before it.
    std::vector<T> download() const { return View<T, N>(*this).download(); }
    /// The element (i, j, ...); waits for the launches before it.
    template <std::integral... I>
        requires(sizeof...(I) == N)
    T get(I... i) const {
        const int64_t from[] = {int64_t(i)...}, to[] = {detail::next_to(int64_t(i))...};
        T value;
        view(from, to).copy_to({&value, 1});
        return value;
    }
    /// Sets every element to the value.
    void fill(T value) const {
        if constexpr (internal::ScalarType<T>)
            detail::fill(detail::held(state), &value, sizeof(T));
        else
            detail::with_host_memory(detail::bytes_of(count(), sizeof(T)),
                                     [&] { copy_from(std::vector<T>(static_cast<size_t>(count()), value)); });
    }
    /// The same with a number whose derivative is traced (Traced<T>).
    template <class TracedNumber>
        requires std::is_same_v<typename TracedNumber::traced, T>
    void fill(const TracedNumber& value) const {
        value.fill(state);
    }
    /// Overwrites all elements; the sizes must agree.
    void copy_from(const std::vector<T>& host) const {
        if constexpr (std::is_same_v<T, bool>) {
            const std::vector<uint8_t> bytes(host.begin(), host.end());
            detail::write(detail::held(state), bytes.data(), int64_t(bytes.size()), count());
        } else {
            detail::write(detail::held(state), host.data(), int64_t(host.size()), count());
        }
    }
    /// Overwrites all elements with those of an array of the same size, on any device.
    void copy_from(const Array& other) const {
        const detail::ArrayState &from = detail::held(other.state), &to = detail::held(state);
        if (other.count() != count())
            fail("an array of ", other.count(), " elements is copied into one of ", count(), " elements: the sizes must agree");
        detail::copy(from, to);
    }
    // The same from views and spans, and in order on a stream; see View.
    void copy_from(const View<T, N>& other) const { View<T, N>(*this).copy_from(other); }
    Event copy_from(const View<T, N>& other, const Stream& stream) const { return View<T, N>(*this).copy_from(other, stream); }
    void copy_from(std::span<const T> host) const { View<T, N>(*this).copy_from(host); }
    Event copy_from(std::span<const T> host, const Stream& stream) const { return View<T, N>(*this).copy_from(host, stream); }
    Event copy_from(std::vector<T>&& host, const Stream& stream) const = delete;  // it would be gone before the copy
    void copy_to(std::span<T> host) const { View<T, N>(*this).copy_to(host); }
    Event copy_to(std::span<T> host, const Stream& stream) const { return View<T, N>(*this).copy_to(host, stream); }
    /// The same array, whose memory has a name in Vulkan's tools (docs/tools.md). Arrays that share a VkBuffer share its name,
    /// which lists theirs. Devices without names ignore it.
    Array named(const std::string& name) const {
        detail::name_array(detail::held(state), name);
        return *this;
    }
    /// Frees the memory once the work that uses it is done, before the last handle goes. A later use of any handle that shares it
    /// is an Error.
    void release() const {
        detail::held(state);
        detail::release(*state);
    }
    /// A new array with the same elements.
    Array clone() const {
        Array copy(device(), extents, false);
        detail::copy(detail::held(state), *copy.state);
        return copy;
    }

    std::array<int64_t, size_t(N)> extents{};  ///< in elements, dimension 0 (the slowest) first
    std::shared_ptr<detail::ArrayState> state;
};

/// Writes shape, type, device and a few values: "f32 array of 2 x 3 on interp: {{0.0, 1.0, 2.0}, {3.0, 4.0, 5.0}}".
template <class T, int N> std::ostream& operator<<(std::ostream& out, const Array<T, N>& array) {
    return out << (array.state ? detail::text_of(*array.state, array.extents) : "an array that was never allocated");
}

template <class T, ElementCount N> Array<T, 1> Device::empty(N n) const { return {*this, {int64_t(n)}, false}; }
template <class T, std::size_t N> Array<T, int(N)> Device::empty(const int64_t (&e)[N]) const {
    return {*this, detail::to_array(e), false};
}
template <class T, ElementCount N> Array<T, 1> Device::zeros(N n) const { return {*this, {int64_t(n)}, true}; }
template <class T, std::size_t N> Array<T, int(N)> Device::zeros(const int64_t (&e)[N]) const {
    return {*this, detail::to_array(e), true};
}
template <class T, ElementCount N> Array<T, 1> Device::full(N n, T value) const {
    Array<T, 1> a = empty<T>(int64_t(n));
    a.fill(value);
    return a;
}
template <class T, std::size_t N> Array<T, int(N)> Device::full(const int64_t (&e)[N], T value) const {
    Array<T, int(N)> a = empty<T>(e);
    a.fill(value);
    return a;
}
template <class T> Array<T, 1> Device::upload(const std::vector<T>& host) const {
    Array<T, 1> a = empty<T>(int64_t(host.size()));
    a.copy_from(host);
    return a;
}
template <class T, std::size_t N> Array<T, int(N)> Device::upload(const std::vector<T>& host, const int64_t (&e)[N]) const {
    Array<T, int(N)> a = empty<T>(e);
    a.copy_from(host);
    return a;
}

}  // namespace pumice
