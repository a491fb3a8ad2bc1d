// Arrays in device memory.
#pragma once
#include <array>
#include <vector>

#include "core/composite.h"
#include "core/device.h"

namespace pumice {

/// A handle to N-dimensional, row-major device memory of T: copies share the data, clone() copies it. Default-constructed, it
/// holds nothing. Operations are ordered with the launches before them on the device's default stream.
template <class T, int N = 1>
class Array {
public:
    static_assert(N >= 1 && N <= 3, "pumice: arrays have 1 to 3 dimensions");
    static_assert(ScalarType<T> || detail::Composite<T>, "pumice: array elements are bool, a fixed-width integer, half, float, double, a vector, or a "
                                                         "struct that PUMICE_STRUCT describes");

    Array() = default;
    Array(const Device& device, const std::array<int64_t, N>& extents, bool zero)
        : extents(extents), state(detail::allocate(device.state, extents.data(), N, detail::element_of<T>(), zero)) {}

    /// True when it holds memory (perhaps of no elements).
    explicit operator bool() const { return state != nullptr; }
    /// Extent along dimension d (0 the slowest).
    int64_t size(int d = 0) const {
        if (d < 0 || d >= N) fail("the extent of an array along dimension ", d, " is asked for; it has ", N, N == 1 ? " dimension" : " dimensions");
        return extents[d];
    }
    /// Elements in all.
    int64_t count() const {
        int64_t n = 1;
        for (const int64_t e : extents)
            if (e == 0) return 0;  // beside a 0 the others may be of any size
        for (const int64_t e : extents) n *= e;
        return n;
    }
    Device device() const { return Device(held().device); }

    /// All elements, row-major; waits for the launches before it.
    std::vector<T> download() const {
        if constexpr (std::is_same_v<T, bool>) {
            std::vector<uint8_t> bytes(static_cast<size_t>(count()));
            detail::read(held(), bytes.data());
            return {bytes.begin(), bytes.end()};
        } else {
            std::vector<T> host(static_cast<size_t>(count()));
            detail::read(held(), host.data());
            return host;
        }
    }
    /// Every element becomes the value.
    void fill(T value) const {
        if constexpr (ScalarType<T>) detail::fill(held(), &value, sizeof(T));
        else copy_from(std::vector<T>(static_cast<size_t>(count()), value));
    }
    /// Overwrites all elements; the sizes must agree.
    void copy_from(const std::vector<T>& host) const {
        if constexpr (std::is_same_v<T, bool>) {
            const std::vector<uint8_t> bytes(host.begin(), host.end());
            detail::write(held(), bytes.data(), int64_t(bytes.size()), count());
        } else {
            detail::write(held(), host.data(), int64_t(host.size()), count());
        }
    }
    void copy_from(const Array& other) const {
        const detail::ArrayState &from = other.held(), &to = held();
        if (other.count() != count()) fail("an array of ", other.count(), " elements is copied into one of ", count(), " elements: the sizes must agree");
        detail::copy(from, to);
    }
    /// Gives the memory back before the last handle goes, once the work that uses it is done. Using any of the handles that share it
    /// afterwards is an Error.
    void release() const {
        held();
        state->memory = nullptr;
        state->released = true;
    }
    /// A new array with the same elements.
    Array clone() const {
        Array copy(device(), extents, false);
        detail::copy(held(), *copy.state);
        return copy;
    }

    std::array<int64_t, N> extents{};
    std::shared_ptr<detail::ArrayState> state;

private:
    const detail::ArrayState& held() const {
        if (!state) throw Error("an array that was never allocated is used: make it with Device::zeros, full, empty or upload");
        if (state->released) throw Error("an array is used after its release()");
        return *state;
    }
};

namespace detail {
template <std::size_t N>
std::array<int64_t, N> to_array(const int64_t (&extents)[N]) {
    std::array<int64_t, N> a;
    for (std::size_t d = 0; d < N; ++d) a[d] = extents[d];
    return a;
}
}  // namespace detail

template <class T> Array<T, 1> Device::empty(int64_t n) const { return {*this, {n}, false}; }
template <class T, std::size_t N> Array<T, int(N)> Device::empty(const int64_t (&e)[N]) const { return {*this, detail::to_array(e), false}; }
template <class T> Array<T, 1> Device::zeros(int64_t n) const { return {*this, {n}, true}; }
template <class T, std::size_t N> Array<T, int(N)> Device::zeros(const int64_t (&e)[N]) const { return {*this, detail::to_array(e), true}; }
template <class T> Array<T, 1> Device::full(int64_t n, T value) const {
    Array<T, 1> a = empty<T>(n);
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
