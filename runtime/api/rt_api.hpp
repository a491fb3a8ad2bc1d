// C++17 on top of the C interface of libpumice_rt: typed arrays, devices that close themselves. Public: <pumice/pumice_rt.hpp>.
//
// Header only; needs neither exceptions nor RTTI. Errors are values: a Status, or an empty handle; pumice_error() has the
// sentence.
#ifndef PUMICE_RT_HPP
#define PUMICE_RT_HPP
#include <stdlib.h>

#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/api/rt_api.h"

namespace pumice {
namespace rt {

/// The result of a call: true if it succeeded.
class Status {
public:
    Status(pumice_status of) : value(of) {}
    explicit operator bool() const { return value == PUMICE_OK; }
    pumice_status code() const { return value; }
    /// The sentence of this thread's last error.
    const char* message() const { return value == PUMICE_OK ? "" : pumice_error(); }

private:
    pumice_status value;
};

/// Bits of the narrow floats, which C++17 has no types for.
struct half {
    uint16_t bits;
};
struct bfloat16 {
    uint16_t bits;
};

namespace detail {
template <class T> constexpr int32_t type_of() {
    if constexpr (std::is_same_v<T, bool>)
        return PUMICE_BOOL;
    else if constexpr (std::is_same_v<T, half>)
        return PUMICE_F16;
    else if constexpr (std::is_same_v<T, bfloat16>)
        return PUMICE_BF16;
    else if constexpr (std::is_same_v<T, float>)
        return PUMICE_F32;
    else if constexpr (std::is_same_v<T, double>)
        return PUMICE_F64;
    else if constexpr (std::is_integral_v<T>) {
        constexpr int log_size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return (std::is_signed_v<T> ? int(PUMICE_I8) : int(PUMICE_U8)) + log_size;
    } else
        return PUMICE_STRUCT;
}

/// Shared ownership of an array's memory.
struct Held {
    pumice_array array;
    long handles;
};
}  // namespace detail

/// The items of a launch.
struct Range {
    pumice_range value;
    Range(int64_t n) : value(pumice_range_1(n)) {}
    Range(int64_t rows, int64_t columns) : value(pumice_range_2(rows, columns)) {}
    Range(int64_t planes, int64_t rows, int64_t columns) : value(pumice_range_3(planes, rows, columns)) {}
    explicit Range(const pumice_range& range) : value(range) {}
    /// The same range in groups of these extents, written like the range's.
    Range group(std::initializer_list<int64_t> extents) const {
        Range r = *this;
        int d = 0;
        for (const int64_t extent : extents)
            if (d < PUMICE_MAX_RANK) r.value.group[d++] = extent;
        return r;
    }
    Range on(pumice_stream stream) const {
        Range r = *this;
        r.value.stream = stream;
        return r;
    }
};
/// The range that a kernel fixes at its definition.
inline Range own_range() {
    Range r(0);
    r.value.rank = 0;
    return r;
}

class Device;

/// A row-major array in device memory; copies of the handle share it, and the last one releases it, before the device closes.
class AnyArray {
public:
    AnyArray() = default;
    AnyArray(const AnyArray& other) : held(other.held) {
        if (held) __atomic_fetch_add(&held->handles, 1, __ATOMIC_RELAXED);
    }
    AnyArray(AnyArray&& other) noexcept : held(std::exchange(other.held, nullptr)) {}
    AnyArray& operator=(AnyArray other) noexcept {
        std::swap(held, other.held);
        return *this;
    }
    ~AnyArray() {
        if (!held || __atomic_sub_fetch(&held->handles, 1, __ATOMIC_ACQ_REL) > 0) return;
        pumice_array_release(&held->array);
        free(held);
    }
    /// False if the array was never created.
    explicit operator bool() const { return held != nullptr; }
    const pumice_array* get() const { return held ? &held->array : nullptr; }
    /// Number of elements.
    int64_t count() const {
        int64_t n = held ? 1 : 0;
        for (int32_t d = 0; held && d < held->array.rank; ++d) n *= held->array.extents[d];
        return n;
    }
    int64_t size(int d = 0) const { return held && d >= 0 && d < held->array.rank ? held->array.extents[d] : 0; }
    int64_t bytes() const { return held ? count() * held->array.element_bytes : 0; }
    Status write(const void* from, int64_t size) const { return pumice_array_write(get(), from, size); }
    Status read(void* to, int64_t size) const { return pumice_array_read(get(), to, size); }
    Status copy_from(const AnyArray& other, pumice_stream stream = nullptr) const {
        return pumice_array_copy(other.get(), get(), stream);
    }

protected:
    friend class Device;
    static detail::Held* create(pumice_device device, int32_t type, int32_t element_bytes, int32_t rank, const int64_t* extents) {
        void* const memory = malloc(sizeof(detail::Held));
        if (!memory) return nullptr;
        detail::Held* const made = new (memory) detail::Held{{}, 1};
        if (pumice_array_create(device, type, element_bytes, rank, extents, &made->array) == PUMICE_OK) return made;
        free(memory);
        return nullptr;
    }
    detail::Held* held = nullptr;
};

/// An array of T with N dimensions.
template <class T, int N = 1> class Array : public AnyArray {
public:
    /// Host elements from and to the array; `elements` must be count().
    Status write(const T* from, int64_t elements) const { return AnyArray::write(from, elements * int64_t(sizeof(T))); }
    Status read(T* to, int64_t elements) const { return AnyArray::read(to, elements * int64_t(sizeof(T))); }
    Status fill(T value, pumice_stream stream = nullptr) const { return pumice_array_fill(get(), &value, stream); }
};
/// An array of structs of this size, as kernels take it: an Array of any such struct converts to it.
template <int Bytes, int N = 1> class StructArray : public AnyArray {
public:
    StructArray() = default;
    template <class T, std::enable_if_t<sizeof(T) == Bytes && detail::type_of<T>() == PUMICE_STRUCT, int> = 0>
    StructArray(const Array<T, N>& array) : AnyArray(array) {}
};

/// An open device; closes itself. Arrays must be gone before.
class Device {
public:
    Device() = default;
    /// As pumice_open. Without success the device is false.
    explicit Device(const char* spec, const pumice_hooks* hooks = nullptr) { pumice_open(spec, hooks, &device); }
    /// Takes over an open device.
    explicit Device(pumice_device open) : device(open) {}
    Device(Device&& other) noexcept : device(std::exchange(other.device, nullptr)) {}
    Device& operator=(Device&& other) noexcept {
        std::swap(device, other.device);
        return *this;
    }
    ~Device() { pumice_close(device); }
    explicit operator bool() const { return device != nullptr; }
    pumice_device handle() const { return device; }
    const char* name() const { return pumice_device_name(device); }
    Status synchronize() const { return pumice_synchronize(device); }
    /// An array whose elements are 0: gpu.array<float>({rows, columns}). Empty on an error.
    template <class T, size_t N> Array<T, int(N)> array(const int64_t (&extents)[N]) const {
        Array<T, int(N)> made;
        static_cast<AnyArray&>(made).held =
            AnyArray::create(device, detail::type_of<T>(), int32_t(sizeof(T)), int32_t(N), extents);
        return made;
    }

private:
    pumice_device device = nullptr;
};

/// A program of a shipped library on a device, for its sizes. Releases itself, before the device closes.
class Program {
public:
    Program() = default;
    Program(Program&& other) noexcept : program(std::exchange(other.program, nullptr)) {}
    Program& operator=(Program&& other) noexcept {
        std::swap(program, other.program);
        return *this;
    }
    ~Program() { pumice_program_release(program); }
    /// False if the program could not be made; pumice_error() has the reason.
    explicit operator bool() const { return program != nullptr; }
    pumice_program handle() const { return program; }
    /// Allocates the memory of an entry before its first run.
    Status prepare(pumice_entry entry) const { return pumice_program_prepare(program, entry); }
    /// Bytes of device memory that the program has allocated.
    int64_t bytes() const { return pumice_program_bytes(program); }

protected:
    void create(const Device& device, const pumice_library& library, uint32_t number, const int64_t* sizes, uint32_t count) {
        pumice_program_create(device.handle(), &library, number, sizes, count, &program);
    }

private:
    pumice_program program = nullptr;
};

inline pumice_argument argument(const AnyArray& array) { return {array.get(), 0, 0}; }
template <class T, std::enable_if_t<detail::type_of<T>() != PUMICE_STRUCT, int> = 0> pumice_argument argument(T value) {
    pumice_argument a = {nullptr, detail::type_of<T>(), 0};
    memcpy(&a.bits, &value, sizeof value);
    return a;
}

}  // namespace rt
}  // namespace pumice
#endif
