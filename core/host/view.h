// Views: strided regions of an array's elements. Include core/host/array.h, which defines what views convert from and to.
#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/host/device.h"
#include "core/host/element_type.h"
#include "core/host/strided_region.h"

namespace pumice {

/// A strided region of an array's elements, for copies. It shares the data and keeps the memory alive. Every array converts to a
/// view of all its elements. Kernels take arrays: array() makes one of a contiguous view, clone() of any view.
template <class T, int N = 1> class View {
public:
    View(const Array<T, N>& array) : extents(array.extents), strides(detail::row_major(array.extents)), state(array.state) {
        detail::held(state);
    }

    /// Extent along dimension d (0 the slowest).
    int64_t size(int d = 0) const {
        detail::check_dimension("a view", d, N);
        return extents[size_t(d)];
    }
    /// Number of elements.
    int64_t count() const { return detail::count_of(extents); }
    /// The elements [from, to) along each dimension, every step-th of them. Throws Error for a region outside the view or a step
    /// below 1.
    View view(const int64_t (&from)[size_t(N)], const int64_t (&to)[size_t(N)], const int64_t (&step)[size_t(N)]) const {
        detail::check_region(extents, from, to, step);
        View inner = *this;
        for (size_t d = 0; d < N; ++d) {
            const int64_t span = to[d] - from[d];
            inner.extents[d] = span == 0 ? 0 : (span - 1) / step[d] + 1;
            inner.strides[d] = strides[d] * std::min(step[d], std::max<int64_t>(span, 1));  // longer steps reach no element
            inner.offset += from[d] * strides[d];
        }
        return inner;
    }
    View view(const int64_t (&from)[size_t(N)], const int64_t (&to)[size_t(N)]) const {
        int64_t ones[size_t(N)];
        for (int64_t& one : ones) one = 1;
        return view(from, to, ones);
    }
    template <std::integral A, std::integral B>  // no braces: view({1}, {9}) takes arrays in one dimension, too
    View view(A from, B to, int64_t step = 1) const
        requires(N == 1)
    {
        const int64_t first[size_t(N)] = {int64_t(from)}, end[size_t(N)] = {int64_t(to)}, steps[size_t(N)] = {step};
        return view(first, end, steps);
    }

    /// True if the elements are contiguous, so that array() gives them to a kernel.
    bool contiguous() const {
        const auto dense = detail::row_major(extents);
        for (size_t d = N; d-- > 0;)
            if (extents[d] != 1 && strides[d] != dense[d]) return count() == 0;
        return true;
    }
    /// The same elements as an array that shares the data; throws Error if they are not contiguous.
    Array<T, N> array() const {
        if (!contiguous())
            throw Error("a view is taken as an array, and its elements do not lie one after another: clone() copies them");
        return {extents, detail::slice(detail::held(state), offset, count())};
    }
    /// A new array with the same elements.
    Array<T, N> clone() const {
        Array<T, N> copy(Device(detail::held(state).device), extents, false);
        View(copy).copy_from(*this);
        return copy;
    }

    /// Overwrites the elements with those of a view of the same extents, on any device. Runs on the stream, which is of this
    /// view's device, or else on the default one. The two may overlap.
    void copy_from(const View& other) const { copy(other, nullptr); }
    Event copy_from(const View& other, const Stream& stream) const {
        copy(other, &stream);
        return stream.record();
    }
    /// Overwrites the elements with the host's, row-major.
    void copy_from(const std::vector<T>& host) const
        requires(!std::is_same_v<T, bool>)
    {
        copy_from(std::span<const T>(host));
    }
    void copy_from(std::span<const T> host) const {
        detail::check_count(int64_t(host.size()), count());
        detail::write_region(detail::held(state), region(), host.data());
    }
    /// The same, asynchronously and in order on a stream; the host memory must stay unchanged until the event.
    Event copy_from(std::span<const T> host, const Stream& stream) const {
        detail::check_count(int64_t(host.size()), count());
        detail::write_region(detail::held(state), region(), host.data(), &stream);
        return stream.record();
    }
    /// Writes the elements to host memory, row-major; waits for earlier launches.
    void copy_to(std::span<T> host) const {
        detail::check_count(int64_t(host.size()), count());
        detail::read_region(detail::held(state), region(), host.data());
    }
    /// The same, asynchronously and in order on a stream: the elements are there at the event; the host memory must live until
    /// then.
    Event copy_to(std::span<T> host, const Stream& stream) const {
        detail::check_count(int64_t(host.size()), count());
        detail::read_region(detail::held(state), region(), host.data(), &stream);
        return stream.record();
    }
    /// All elements, row-major; waits for earlier launches.
    std::vector<T> download() const {
        using HostElement = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
        const detail::ArrayState& from = detail::held(state);
        const int64_t bytes = detail::bytes_of(count(), sizeof(HostElement));
        return detail::with_host_memory(bytes, [&]() -> std::vector<T> {
            std::vector<HostElement> host(static_cast<size_t>(count()));
            detail::read_region(from, region(), host.data());
            if constexpr (std::is_same_v<T, bool>)
                return {host.begin(), host.end()};
            else
                return host;
        });
    }
    /// Sets every element to the value: a T, or a number whose derivative is traced.
    template <class V = T>
        requires(std::is_convertible_v<V, T> || std::is_same_v<typename V::traced, T>)
    void fill(const V& value) const {
        const Array<T, 1> one(Device(detail::held(state).device), {1}, false);
        if constexpr (std::is_convertible_v<V, T>)
            one.fill(T(value));
        else
            one.fill(value);
        View repeated(*this);  // all strides 0
        repeated.strides.fill(0);
        repeated.offset = 0;
        repeated.state = one.state;
        copy_from(repeated);
    }

    std::array<int64_t, size_t(N)> extents, strides;  ///< in elements, dimension 0 first
    int64_t offset = 0;                               ///< in elements
    std::shared_ptr<detail::ArrayState> state;

private:
    detail::StridedRegion region() const { return {offset, extents, strides}; }
    void copy(const View& other, const Stream* stream) const {
        detail::check_same_extents(other.extents, extents);
        detail::copy_region(detail::held(other.state), other.region(), detail::held(state), region(), stream);
    }
};

}  // namespace pumice
