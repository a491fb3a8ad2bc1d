// Strided regions of an array's elements, and their copies to and from the host.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

namespace pumice {

class Stream;

namespace detail {

struct ArrayState;

/// A strided region, in elements from the array's start; dimension 0 first. Strides are not negative.
struct StridedRegion {
    int64_t offset = 0;
    std::span<const int64_t> extents, strides;
};
/// The elements [first, first + count) as an array that shares the memory.
std::shared_ptr<ArrayState> slice(const ArrayState& array, int64_t first, int64_t count);
/// Ends the array, and all slices that share its memory.
void release(ArrayState& array);
/// These three copies go to the default stream if none is given, and a copy from or to the host then waits. On a given stream all
/// three are asynchronous: the host memory (row-major, no gaps) must live until an event that is recorded after the copy is done.
void copy_region(const ArrayState& from, const StridedRegion& from_region, const ArrayState& to, const StridedRegion& to_region,
                 const Stream* stream = nullptr);
void read_region(const ArrayState& from, const StridedRegion& region, void* to, const Stream* stream = nullptr);
void write_region(const ArrayState& to, const StridedRegion& region, const void* from, const Stream* stream = nullptr);
/// Throws Error if `what` has no dimension d.
void check_dimension(const char* what, int d, int rank);
/// Throws Error: the host lacks memory of this size.
[[noreturn]] void no_host_memory(int64_t bytes);
/// Calls act(), which allocates this many bytes of host memory; throws Error if the allocation fails.
template <class F> auto with_host_memory(int64_t bytes, F&& act) {
    try {
        return act();
    } catch (const std::bad_alloc&) { no_host_memory(bytes); } catch (const std::length_error&) {
        no_host_memory(bytes);
    }
}
/// The end of a region of one element. It overflows to a smaller number, which the region's check refuses.
constexpr int64_t next_to(int64_t i) { return int64_t(uint64_t(i) + 1); }
/// Bytes of `count` elements, saturated to INT64_MAX.
constexpr int64_t bytes_of(int64_t count, size_t size) {
    return count > INT64_MAX / int64_t(size) ? INT64_MAX : count * int64_t(size);
}
/// The array of the handle; throws Error if it holds none or was released.
const ArrayState& held(const std::shared_ptr<ArrayState>& state);
void check_region(std::span<const int64_t> extents, std::span<const int64_t> from, std::span<const int64_t> to,
                  std::span<const int64_t> step);
void check_same_extents(std::span<const int64_t> from, std::span<const int64_t> to);
void check_count(int64_t given, int64_t wanted);
/// The text that operator<< writes.
std::string text_of(const ArrayState& array, std::span<const int64_t> extents);

template <std::size_t N> std::array<int64_t, N> to_array(const int64_t (&extents)[N]) {
    std::array<int64_t, N> a;
    for (std::size_t d = 0; d < N; ++d) a[d] = extents[d];
    return a;
}
template <std::size_t N> std::array<int64_t, N> row_major(const std::array<int64_t, N>& extents) {
    std::array<int64_t, N> strides;
    uint64_t stride = 1;  // if an extent is 0, the others may have any size
    for (std::size_t d = N; d-- > 0; stride *= uint64_t(extents[d])) strides[d] = int64_t(stride);
    return strides;
}
template <std::size_t N> int64_t count_of(const std::array<int64_t, N>& extents) {
    int64_t n = 1;
    for (const int64_t e : extents)
        if (e == 0) return 0;  // if an extent is 0, the others may have any size
    for (const int64_t e : extents) n *= e;
    return n;
}

}  // namespace detail

}  // namespace pumice
