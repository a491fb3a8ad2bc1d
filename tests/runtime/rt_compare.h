// Runs a kernel by the library and by the runtime on equal data, and compares every byte of every array.
//
// Arrays lie at an offset in larger memory whose other bytes have a pattern, so that a store past an array's end is found.
#pragma once
#include <gtest/gtest.h>
#include <pumice/pumice.h>
#include <pumice/pumice_rt.h>

#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

extern "C" const pumice_library rt_shipped_library;

namespace rt_test {

inline constexpr int64_t guard = 64;  ///< elements before and after an array

/// Host elements of an array with N dimensions. `shift`: elements by which it begins later in memory.
template <class T, int N = 1> struct Data {
    std::vector<char> bytes;  // of all memory: std::vector<bool> has no elements
    int64_t extents[size_t(N)];
    int64_t shift;
    double tolerance = -1;  ///< of floats: negative: equal bits
    T* data() { return reinterpret_cast<T*>(bytes.data()) + guard + shift; }
    int64_t count() const {
        int64_t n = 1;
        for (const int64_t e : extents) n *= e;
        return n;
    }
    int64_t whole() const { return count() + 2 * guard + shift; }
};

template <class T, int N> Data<T, N> empty(const int64_t (&extents)[size_t(N)], int64_t shift) {
    Data<T, N> d{};
    for (int i = 0; i < N; ++i) d.extents[i] = extents[i];
    d.shift = shift;
    d.bytes.assign(size_t(d.whole()) * sizeof(T), std::is_same_v<T, bool> ? 1 : 0x3a);
    return d;
}
inline std::mt19937& engine() {
    static std::mt19937 one(20261125);
    return one;
}
/// A number of the type: floats within [-3, 3] with some special ones, integers of all bits.
template <class T> T some() {
    std::mt19937& random = engine();
    const uint64_t bits = uint64_t(random()) << 32 | random();
    if constexpr (std::is_same_v<T, bool>) {
        return bits & 1;
    } else if constexpr (std::is_integral_v<T>) {
        return T(bits);
    } else {
        static constexpr double special[] = {0.0, -0.0, 1.0, -1.0, 1e30, -1e-30, 1e-40, 65504.0, 0.5};
        if (bits % 50 == 0) return T(float(special[bits / 50 % std::size(special)]));
        return T(float(double(bits >> 11) / double(1ull << 53) * 6 - 3));
    }
}
/// Random elements; structs get them float by float.
template <class T, size_t N> Data<T, int(N)> random(const int64_t (&extents)[N], int64_t shift = 0) {
    Data<T, int(N)> d = empty<T, int(N)>(extents, shift);
    for (int64_t i = 0; i < d.count(); ++i) {
        if constexpr (pumice::internal::ScalarType<T>)
            d.data()[i] = some<T>();
        else
            for (size_t b = 0; b + 4 <= sizeof(T); b += 4) {
                const float f = some<float>();
                std::memcpy(reinterpret_cast<char*>(d.data() + i) + b, &f, 4);
            }
    }
    return d;
}
/// Elements that f gives for their index in memory.
template <class T, size_t N, class F> Data<T, int(N)> made(const int64_t (&extents)[N], F&& f, int64_t shift = 0) {
    Data<T, int(N)> d = empty<T, int(N)>(extents, shift);
    for (int64_t i = 0; i < d.count(); ++i) d.data()[i] = T(f(i));
    return d;
}
/// The same data, whose floats may differ: sums whose order depends on the number of threads.
template <class T, int N> Data<T, N> about(Data<T, N> d, double tolerance) {
    d.tolerance = tolerance;
    return d;
}

template <class T> inline constexpr bool is_data = false;
template <class T, int N> inline constexpr bool is_data<Data<T, N>> = true;

// ---- the library ----

template <class T, int N> pumice::Array<T, N> to_library(const Data<T, N>& d) {
    const pumice::Array<T> all = pumice::Device::open("cpu").empty<T>(d.whole());
    all.copy_from(std::span<const T>(reinterpret_cast<const T*>(d.bytes.data()), size_t(d.whole())));
    int64_t extents[size_t(N)];
    for (int i = 0; i < N; ++i) extents[i] = d.extents[i];
    return all.slice(guard + d.shift, guard + d.shift + d.count()).reshape(extents);
}
template <class T> T to_library(const T& scalar) { return scalar; }

template <class T, int N> void from_library(const pumice::Array<T, N>& array, Data<T, N>& d) {
    if (d.count() > 0) array.copy_to(std::span<T>(d.data(), size_t(d.count())));
}
template <class T> void from_library(const T&, const T&) {}

// ---- the runtime ----

/// A device of the runtime, closed at the end of the block.
struct Opened {
    explicit Opened(int threads, pumice_hooks hooks = {}) {
        hooks.threads = threads;
        EXPECT_EQ(pumice_open("cpu", &hooks, &device), PUMICE_OK) << pumice_error();
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    ~Opened() { pumice_close(device); }
    pumice_device device = nullptr;
};

/// An array on a device of the runtime: all memory, and the part that the kernel gets.
struct Held {
    pumice_array all = {}, part = {};
};
template <class T> int32_t type_number() {
    if constexpr (pumice::internal::ScalarType<T>)
        return int32_t(*pumice::internal::scalar_of<T>());
    else
        return PUMICE_STRUCT;
}
template <class T, int N> Held to_runtime(pumice_device device, const Data<T, N>& d) {
    Held h;
    const int64_t whole = d.whole();
    EXPECT_EQ(pumice_array_create(device, type_number<T>(), sizeof(T), 1, &whole, &h.all), PUMICE_OK) << pumice_error();
    EXPECT_EQ(pumice_array_write(&h.all, d.bytes.data(), int64_t(d.bytes.size())), PUMICE_OK) << pumice_error();
    h.part = h.all;
    h.part.rank = N;
    h.part.offset = (guard + d.shift) * int64_t(sizeof(T));
    for (int i = 0; i < N; ++i) h.part.extents[i] = d.extents[i];
    return h;
}
template <class T> T to_runtime(pumice_device, const T& scalar) { return scalar; }

inline void add(std::vector<pumice_argument>& to, const Held& h) { to.push_back({&h.part, 0, 0}); }
template <class T>
    requires pumice::internal::ScalarType<T>
void add(std::vector<pumice_argument>& to, const T& scalar) {
    pumice_argument a = {nullptr, type_number<T>(), 0};
    std::memcpy(&a.bits, &scalar, sizeof scalar);
    to.push_back(a);
}
/// A vector is an argument for each component.
inline void add(std::vector<pumice_argument>& to, const pumice::float3& v) { add(to, v.x), add(to, v.y), add(to, v.z); }
template <class T, int N> void from_runtime(Held& h, Data<T, N>& d) {
    EXPECT_EQ(pumice_array_read(&h.all, d.bytes.data(), int64_t(d.bytes.size())), PUMICE_OK) << pumice_error();
    pumice_array_release(&h.all);
}
template <class T> void from_runtime(const T&, const T&) {}

inline pumice_range range_of(const pumice::Range& r) {
    pumice_range to = {};
    to.rank = r.rank;
    for (size_t d = 0; d < size_t(PUMICE_MAX_RANK); ++d) {
        to.from[d] = r.from[d], to.to[d] = d < size_t(r.rank) ? r.to[d] : 0;
        to.group[d] = r.group_rank ? r.group_extents[d] : 0;
    }
    return to;
}
inline uint32_t kernel_number(const std::string& name) {
    uint32_t number = 0;
    EXPECT_EQ(pumice_find_kernel(&rt_shipped_library, name.c_str(), &number), PUMICE_OK) << pumice_error();
    return number;
}
template <class... H>
pumice_status launch(pumice_device device, const std::string& name, const pumice_range& r, const H&... held) {
    std::vector<pumice_argument> all;
    (add(all, held), ...);
    return pumice_launch(device, &rt_shipped_library, kernel_number(name), &r, all.data(), uint32_t(all.size()));
}

// ---- both ----

template <class T, int N> void expect_equal(const Data<T, N>& want, Data<T, N>& got, const std::string& what) {
    if (want.bytes == got.bytes) return;
    int shown = 0;
    const T* const wanted = reinterpret_cast<const T*>(want.bytes.data());
    const T* const found = reinterpret_cast<const T*>(got.bytes.data());
    for (int64_t i = 0; i < want.whole() && shown < 4; ++i) {
        if (std::memcmp(wanted + i, found + i, sizeof(T)) == 0) continue;
        const int64_t at = i - guard - want.shift;
        std::string values;
        if constexpr (std::is_arithmetic_v<T>) {
            if (want.tolerance >= 0 && at >= 0 && at < want.count() &&
                std::abs(double(wanted[i]) - double(found[i])) <= want.tolerance * (1 + std::abs(double(wanted[i]))))
                continue;
            values = ": " + std::to_string(wanted[i]) + " by the library, " + std::to_string(found[i]) + " by the runtime";
        }
        ADD_FAILURE() << what << ", element " << at << " of " << want.count() << values;
        ++shown;
    }
}
template <class T> void expect_equal(const T&, const T&, const std::string&) {}

/// Runs the kernel by both, by the runtime with 1 and 2 threads, and expects equal bytes.
template <class K, class... A> void same(const K& kernel, const pumice::Range& range, A... data) {
    std::string what = kernel.name() + " over";
    for (int d = 0; d < range.rank; ++d)
        what += " " + std::to_string(range.from[size_t(d)]) + ".." + std::to_string(range.to[size_t(d)]);
    std::tuple<A...> want(data...);
    {
        auto arrays = std::apply([](const A&... d) { return std::tuple(to_library(d)...); }, want);
        std::apply([&](const auto&... a) { kernel(range, a...); }, arrays);
        [&]<size_t... I>(std::index_sequence<I...>) {
            (from_library(std::get<I>(arrays), std::get<I>(want)), ...);
        }(std::index_sequence_for<A...>());
    }
    for (const int threads : {1, 2}) {
        const Opened opened(threads);
        std::tuple<A...> got(data...);
        auto held = std::apply([&](const A&... d) { return std::tuple(to_runtime(opened.device, d)...); }, got);
        const pumice_status status =
            std::apply([&](const auto&... h) { return launch(opened.device, kernel.name(), range_of(range), h...); }, held);
        EXPECT_EQ(status, PUMICE_OK) << what << ": " << pumice_error();
        [&]<size_t... I>(std::index_sequence<I...>) {
            (from_runtime(std::get<I>(held), std::get<I>(got)), ...);
            (expect_equal(std::get<I>(want), std::get<I>(got),
                          what + ", " + std::to_string(threads) + " threads, argument " + std::to_string(I + 1)),
             ...);
        }(std::index_sequence_for<A...>());
    }
}

}  // namespace rt_test
