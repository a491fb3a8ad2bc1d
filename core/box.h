// Boxes of elements inside an array, and what is copied between them and the host.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace pumice {

class Stream;

namespace detail {

struct ArrayState;

/// Which elements of an array a view has, in elements from the array's start; dimension 0 first. Strides are not negative.
struct Box {
    int64_t offset = 0;
    std::span<const int64_t> extents, strides;
};
/// The elements [first, first + count), as an array of its own that shares the memory.
std::shared_ptr<ArrayState> slice(const ArrayState& array, int64_t first, int64_t count);
/// Without a stream on the default one; they wait where the host is one side. With one they are asynchronous: the host's memory,
/// row-major without gaps, belongs to them until an event that is recorded after them.
void copy_box(const ArrayState& from, const Box& from_box, const ArrayState& to, const Box& to_box, const Stream* stream = nullptr);
void read_box(const ArrayState& from, const Box& box, void* to, const Stream* stream = nullptr);
void write_box(const ArrayState& to, const Box& box, const void* from, const Stream* stream = nullptr);
/// The array that the handle holds; throws Error where it never held one, or was released.
const ArrayState& held(const std::shared_ptr<ArrayState>& state);
void check_box(std::span<const int64_t> extents, std::span<const int64_t> from, std::span<const int64_t> to, std::span<const int64_t> step);
void check_same_extents(std::span<const int64_t> from, std::span<const int64_t> to);
void check_count(int64_t given, int64_t wanted);
/// What operator<< writes.
std::string text_of(const ArrayState& array, std::span<const int64_t> extents);

template <std::size_t N>
std::array<int64_t, N> to_array(const int64_t (&extents)[N]) {
    std::array<int64_t, N> a;
    for (std::size_t d = 0; d < N; ++d) a[d] = extents[d];
    return a;
}
template <std::size_t N>
std::array<int64_t, N> row_major(const std::array<int64_t, N>& extents) {
    std::array<int64_t, N> strides;
    int64_t stride = 1;
    for (std::size_t d = N; d-- > 0; stride *= extents[d]) strides[d] = stride;
    return strides;
}
template <std::size_t N>
int64_t count_of(const std::array<int64_t, N>& extents) {
    int64_t n = 1;
    for (const int64_t e : extents)
        if (e == 0) return 0;  // beside a 0 the others may be of any size
    for (const int64_t e : extents) n *= e;
    return n;
}

}  // namespace detail

}  // namespace pumice
