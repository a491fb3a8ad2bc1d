// The corpus: kernels of kinds that the cases of bench/cpu are not, each beside the loop with OpenMP that a good programmer
// writes. Each is a whole piece of work that starts from the same input every time. tests/corpus compares all devices with the
// OpenMP form, element by element, at the sizes Size::test; `bench corpus` times them at the sizes Size::benchmark.
#pragma once
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <pumice/pumice.h>

#include "bench/corpus/first_touch.h"

namespace bench::corpus {

/// test: a millisecond of work or so, with extents that are no multiples of a vector or a group. benchmark: 2 to 50 ms.
enum class Size { test, benchmark };

/// All elements of one output.
using Values = std::variant<std::vector<float>, std::vector<double>, std::vector<uint8_t>, std::vector<int32_t>,
                            std::vector<uint32_t>, std::vector<int64_t>, std::vector<uint64_t>>;

/// A form of the work with its data in place.
struct Side {
    std::function<void()> once;                    ///< does the work from its input and returns when it is done
    std::function<std::vector<Values>()> results;  ///< of the last time, the same outputs in the same order on each side
};

struct Kernel {
    std::string name;      ///< lower case with underscores: unique in the corpus
    double tolerance = 0;  ///< of floats: the difference over the larger of the peer's value and 1; integers are equal
    std::function<Side(const pumice::Device&, Size)> ours;
    std::function<Side(Size)> openmp;
};

/// A derivative in reverse mode beside an adjoint that is written by hand as kernels of Pumice. Both add to the shadows of what
/// is read and take the shadows of what was written; nobody asks for the primal's results.
struct Gradient {
    std::string name;
    double tolerance = 0;
    struct Sides {
        std::function<void()> seed;                      ///< fills the shadows anew
        std::function<void()> primal, reverse, by_hand;  ///< each returns when it is done
        std::function<std::vector<Values>()> results;    ///< the shadows
    };
    std::function<Sides(const pumice::Device&, Size)> sides;
    double target = 1.25;  ///< of the reverse's time over the hand-written adjoint's
};

// One family a file, NAME.cpp, with its OpenMP forms in NAME_openmp.cpp.
std::vector<Kernel> linear_algebra();
std::vector<Kernel> stencils();
std::vector<Kernel> groups();     ///< wavefronts, ghost zones, sorting networks, scans: with barriers
std::vector<Kernel> irregular();  ///< graphs, gathers, cell lists, sparse matrices, look-ups, searches
std::vector<Kernel> integers();   ///< hashes, ciphers, strings, games
std::vector<Kernel> pictures();   ///< image filters, rays, noise
std::vector<Kernel> sampling();   ///< Monte Carlo, scores of molecules, statistics
std::vector<Gradient> gradients();

/// All kernels, in the order of the families.
std::vector<Kernel> kernels();

/// "" where the outputs agree, otherwise a sentence with the first element that differs.
std::string difference(const std::vector<Values>& ours, const std::vector<Values>& theirs, double tolerance);

/// Memory of an OpenMP form as the library's is: in huge pages where it is large, first touched by OpenMP's threads in their
/// parts.
template <class T> class Buffer {
public:
    explicit Buffer(size_t count) : count(count) {
        const size_t page = count * sizeof(T) >= (size_t(2) << 20) ? size_t(2) << 20 : 4096;
        const size_t bytes = (count * sizeof(T) + page - 1) / page * page;
        void* const begin = std::aligned_alloc(page, bytes ? bytes : page);
        madvise(begin, bytes, MADV_HUGEPAGE);
        openmp::zero(begin, long(bytes));
        memory = std::shared_ptr<T[]>(static_cast<T*>(begin), [](T* p) { std::free(p); });
    }
    explicit Buffer(const std::vector<T>& from) : Buffer(from.size()) { set(from); }
    void set(const std::vector<T>& from) const { std::ranges::copy(from, memory.get()); }
    T* data() const { return memory.get(); }
    operator T*() const { return memory.get(); }
    /// The components of short vectors, one after the other.
    auto scalars() const { return reinterpret_cast<decltype(T::x)*>(memory.get()); }
    size_t size() const { return count; }
    std::vector<T> vector() const { return {memory.get(), memory.get() + count}; }

private:
    size_t count;
    std::shared_ptr<T[]> memory;
};

/// Appends the elements of an output; those of several arrays one after the other, those of short vectors by components.
template <class T> void append(std::vector<Values>& all, const Buffer<T>& from) { all.emplace_back(from.vector()); }
template <class T, int rank> void append(std::vector<Values>& all, const pumice::Array<T, rank>& from) {
    if constexpr (requires(T v) { v.x; }) {
        const std::vector<T> vectors = from.download();
        std::vector<decltype(T::x)> parts(vectors.size() * (sizeof(T) / sizeof(T::x)));
        std::memcpy(parts.data(), vectors.data(), parts.size() * sizeof(T::x));
        all.emplace_back(std::move(parts));
    } else {
        all.emplace_back(from.download());
    }
}
template <class Array> void append(std::vector<Values>& all, const std::vector<Array>& from) {
    for (const Array& array : from) append(all, array);
}

/// The results of a form that leaves them in these arrays or buffers.
template <class... Outputs> std::function<std::vector<Values>()> results_in(const Outputs&... outputs) {
    return [=] {
        std::vector<Values> all;
        (append(all, outputs), ...);
        return all;
    };
}
inline Side side(std::function<std::vector<Values>()> results, std::function<void()> once) {
    return {std::move(once), std::move(results)};
}
/// The same for launches on a device, which has done them when `once` returns.
template <class Launches>
Side side(const pumice::Device& device, std::function<std::vector<Values>()> results, const Launches& launches) {
    return side(std::move(results), [=] { launches(), device.synchronize(); });
}
/// A gradient whose functions launch; all but `seed` then wait for the device.
template <class Seed, class Primal, class Reverse, class ByHand>
Gradient::Sides sides(const pumice::Device& device, std::function<std::vector<Values>()> results, const Seed& seed,
                      const Primal& primal, const Reverse& reverse, const ByHand& by_hand) {
    const auto done = [&](const auto& launches) { return [=] { launches(), device.synchronize(); }; };
    return {seed, done(primal), done(reverse), done(by_hand), std::move(results)};
}

/// The arrays of our form and of OpenMP's. A kernel sets both up by one function, which gets one of these two.
struct OnDevice {
    static constexpr bool ours = true;
    pumice::Device device;
    template <class T> pumice::Array<T> of(const std::vector<T>& from) const { return device.upload(from); }
    template <class T, size_t rank> auto of(const std::vector<T>& from, const int64_t (&extents)[rank]) const {
        return device.upload(from, extents);
    }
};
struct OnHost {
    static constexpr bool ours = false;
    template <class T> Buffer<T> of(const std::vector<T>& from) const { return Buffer<T>(from); }
    template <class T, size_t rank> Buffer<T> of(const std::vector<T>& from, const int64_t (&)[rank]) const { return of(from); }
};
/// The device writes the zeros now, as OpenMP's threads do: the system's time to find memory is no part of a kernel's first use.
/// Device::zeros would leave fresh memory as it is.
template <class T> pumice::Array<T> zeros(const OnDevice& on, int64_t count) { return on.device.full<T>(count, T{}); }
template <class T, size_t rank> auto zeros(const OnDevice& on, const int64_t (&extents)[rank]) {
    return on.device.full<T>(extents, T{});
}
template <class T> Buffer<T> zeros(const OnHost&, int64_t count) { return Buffer<T>(size_t(count)); }
template <class T, size_t rank> Buffer<T> zeros(const OnHost& on, const int64_t (&extents)[rank]) {
    int64_t count = 1;
    for (const int64_t extent : extents) count *= extent;
    return zeros<T>(on, count);
}

/// A kernel whose forms `form` makes, of OnDevice or OnHost and of what `shape_of` makes of the size: extents, input, parameters.
template <class ShapeOf, class Form>
Kernel compared(const char* name, double tolerance, const ShapeOf& shape_of, const Form& form) {
    return {name, tolerance, [=](const pumice::Device& device, Size size) { return form(OnDevice{device}, shape_of(size)); },
            [=](Size size) { return form(OnHost(), shape_of(size)); }};
}
template <class Form> Kernel compared(const char* name, double tolerance, const Form& form) {
    return compared(name, tolerance, [](Size size) { return size; }, form);
}
template <class Shape, class Form> Kernel compared(const char* name, double tolerance, const Form& form) {
    return compared(name, tolerance, [](Size size) { return Shape(size); }, form);
}

/// Deterministic numbers in [low, high).
template <class T> std::vector<T> uniform(size_t count, uint32_t seed, T low = T(0), T high = T(1)) {
    std::vector<T> out(count);
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (T& v : out) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        v = T(low + double(high - low) * (double(state >> 40) / double(1 << 24)));
    }
    return out;
}

}  // namespace bench::corpus
