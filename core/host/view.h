// Views: boxes of elements inside an array.
#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/host/device.h"
#include "core/host/element_type.h"
#include "core/host/strided_region.h"

namespace pumice {

/// Some of an array's elements: a box of them, perhaps with steps. It shares the array's data and keeps its memory. Every array
/// converts to the view of all of it. For copies; a kernel takes arrays: array() makes one of a view whose elements lie in a
/// row, clone() of any.
template <class T, int N = 1>
class View {
public:
    View(const Array<T, N>& array) : extents(array.extents), strides(detail::row_major(array.extents)), state(array.state) { detail::held(state); }

    /// Extent along dimension d (0 the slowest).
    int64_t size(int d = 0) const {
        detail::check_dimension("a view", d, N);
        return extents[size_t(d)];
    }
    /// Elements in all.
    int64_t count() const { return detail::count_of(extents); }
    /// The elements [from, to) along each dimension, every step-th one of them. Throws Error for a box outside of the view or a step
    /// below 1.
    View view(const int64_t (&from)[size_t(N)], const int64_t (&to)[size_t(N)], const int64_t (&step)[size_t(N)]) const {
        detail::check_box(extents, from, to, step);
        View inner = *this;
        for (size_t d = 0; d < N; ++d) {
            const int64_t span = to[d] - from[d];
            inner.extents[d] = span == 0 ? 0 : (span - 1) / step[d] + 1;
            inner.strides[d] = strides[d] * std::min(step[d], std::max<int64_t>(span, 1));  // longer steps lead to no element either
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
    View view(A from, B to, int64_t step = 1) const requires(N == 1) {
        const int64_t first[size_t(N)] = {int64_t(from)}, end[size_t(N)] = {int64_t(to)}, steps[size_t(N)] = {step};
        return view(first, end, steps);
    }

    /// True where the elements lie one after another, so that array() gives them to a kernel.
    bool contiguous() const {
        const auto dense = detail::row_major(extents);
        for (size_t d = N; d-- > 0;)
            if (extents[d] != 1 && strides[d] != dense[d]) return count() == 0;
        return true;
    }
    /// The same elements as an array that shares the data; throws Error where they do not lie one after another.
    Array<T, N> array() const {
        if (!contiguous()) throw Error("a view is taken as an array, and its elements do not lie one after another: clone() copies them");
        return {extents, detail::slice(detail::held(state), offset, count())};
    }
    /// A new array with the same elements.
    Array<T, N> clone() const {
        Array<T, N> copy(Device(detail::held(state).device), extents, false);
        View(copy).copy_from(*this);
        return copy;
    }

    /// Overwrites the elements by those of a view of the same extents, on any device. On the stream where one is given, which is of
    /// this view's device, else on the default one. They may overlap.
    void copy_from(const View& other) const { copy(other, nullptr); }
    Event copy_from(const View& other, const Stream& stream) const {
        copy(other, &stream);
        return stream.record();
    }
    /// Overwrites the elements by the host's, row-major.
    void copy_from(const std::vector<T>& host) const requires(!std::is_same_v<T, bool>) { copy_from(std::span<const T>(host)); }
    void copy_from(std::span<const T> host) const {
        detail::check_count(int64_t(host.size()), count());
        detail::write_box(detail::held(state), box(), host.data());
    }
    /// The same in order on a stream, asynchronously: the host memory stays as it is until the event.
    Event copy_from(std::span<const T> host, const Stream& stream) const {
        detail::check_count(int64_t(host.size()), count());
        detail::write_box(detail::held(state), box(), host.data(), &stream);
        return stream.record();
    }
    /// Writes the elements to host memory, row-major; waits for the launches before it.
    void copy_to(std::span<T> host) const {
        detail::check_count(int64_t(host.size()), count());
        detail::read_box(detail::held(state), box(), host.data());
    }
    /// The same in order on a stream, asynchronously: the elements are there when the event is done, and the host memory stays till then.
    Event copy_to(std::span<T> host, const Stream& stream) const {
        detail::check_count(int64_t(host.size()), count());
        detail::read_box(detail::held(state), box(), host.data(), &stream);
        return stream.record();
    }
    /// All elements, row-major; waits for the launches before it.
    std::vector<T> download() const {
        using Held = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
        const detail::ArrayState& from = detail::held(state);
        const int64_t bytes = detail::bytes_of(count(), sizeof(Held));
        return detail::with_host_memory(bytes, [&]() -> std::vector<T> {
            std::vector<Held> host(static_cast<size_t>(count()));
            detail::read_box(from, box(), host.data());
            if constexpr (std::is_same_v<T, bool>) return {host.begin(), host.end()};
            else return host;
        });
    }
    /// Every element becomes the value: a T, or a number that a derivative follows.
    template <class V = T> requires(std::is_convertible_v<V, T> || std::is_same_v<typename V::traced, T>)
    void fill(const V& value) const {
        const Array<T, 1> one(Device(detail::held(state).device), {1}, false);
        if constexpr (std::is_convertible_v<V, T>) one.fill(T(value));
        else one.fill(value);
        View repeated(*this);  // every element of it is the one
        repeated.strides.fill(0);
        repeated.offset = 0;
        repeated.state = one.state;
        copy_from(repeated);
    }

    std::array<int64_t, size_t(N)> extents, strides;  ///< in elements, dimension 0 first
    int64_t offset = 0;                               ///< in elements
    std::shared_ptr<detail::ArrayState> state;

private:
    detail::Box box() const { return {offset, extents, strides}; }
    void copy(const View& other, const Stream* stream) const {
        detail::check_same_extents(other.extents, extents);
        detail::copy_box(detail::held(other.state), other.box(), detail::held(state), box(), stream);
    }
};

}  // namespace pumice
