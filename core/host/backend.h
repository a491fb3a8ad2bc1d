// The one virtual interface between the library and a device.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/host/reports.h"
#include "core/ir/ir.h"

namespace pumice {

namespace detail {
/// The calling thread runs a function that a stream called (Stream::call): it may not wait for what comes after it.
bool inside_call();
}  // namespace detail

/// Types that a device may lack; int64 is on every device of this library, as pairs of words where it has none.
enum class Feature { int8, int16, int64, float16, float64 };
inline constexpr Feature features[] = {Feature::int8, Feature::int16, Feature::int64, Feature::float16, Feature::float64};
/// Of a stream's work beside that of other streams: a wish, which a device may ignore.
enum class Priority { low, normal, high };

/// What a device allows. Bytes and items; counts are per axis where an array, axis 0 first.
struct Limits {
    int64_t max_group_size = 0;                      ///< items of a group in all
    std::array<int64_t, 3> max_group_extent{};       ///< items of a group along an axis
    int64_t local_memory = 0;                        ///< bytes a group may have
    int64_t max_array_bytes = 0;                     ///< of one array
    int64_t memory = 0;                              ///< bytes of the device's memory (its largest heap)
    int subgroup_size = 1;                           ///< items of a subgroup
    int64_t private_memory = 4096;                   ///< bytes that an item may keep for itself at little cost
};

/// A kernel compiled for one device. Kept by the kernel, so that it lives as long as either.
class Executable {
public:
    virtual ~Executable() = default;
};

/// Device memory, freed (when the device has no more work with it) with the last reference.
class Allocation {
public:
    virtual ~Allocation() {
        if (meter) *meter -= bytes;
    }
    int64_t bytes = 0;
    /// Where set, the bytes of a device's living allocations, this one's among them. The front end's; backends leave it alone.
    std::shared_ptr<std::atomic<int64_t>> meter;
};

/// What one launch needs. The front end has already checked arguments against parameters, aliasing and ranges.
struct Launch {
    struct Array {
        Allocation* memory = nullptr;   ///< null for an array of no elements
        int64_t offset = 0;             ///< bytes from the allocation's start
        int64_t bytes = 0;              ///< what the array spans
        std::array<int64_t, ir::max_rank> extents = ones();  ///< axis 0 first, unused ones 1
        static constexpr std::array<int64_t, ir::max_rank> ones() {
            std::array<int64_t, ir::max_rank> all{};
            for (int64_t& one : all) one = 1;
            return all;
        }
    };
    struct Argument {
        Array array;                    ///< where the parameter is an array
        uint64_t bits = 0;              ///< else the scalar, in the low bytes
    };
    std::array<int64_t, 3> start{0, 0, 0};    ///< first global index along each axis (axis 0 first)
    std::array<int64_t, 3> extent{1, 1, 1};   ///< items along each axis; all positive
    std::array<int64_t, 3> group{0, 0, 0};    ///< items of a group along each axis; all positive, within Limits
    int rank = 1;
    std::vector<Argument> arguments;          ///< one a parameter, in order
    int stream = 0;
};

/// A point in a device's work. Copies share it.
class EventState {
public:
    virtual ~EventState() = default;
    /// Blocks until the point is reached; throws Error when the device was lost or found a fault.
    virtual void wait() = 0;
    virtual bool done() = 0;
};

/// The time at which a point in a stream's work was reached, by a clock of the device's.
class TimeStamp {
public:
    virtual ~TimeStamp() = default;
    /// Seconds since an earlier stamp of the same device. Blocks until both points are reached; throws as a wait does.
    virtual double since(TimeStamp& earlier) = 0;
};

/// One device. All functions may be called from several threads at once.
class Backend : public std::enable_shared_from_this<Backend> {
public:
    virtual ~Backend() = default;
    /// What kernels print and require. A backend hands over what they reported at every wait.
    Reports reports;
    virtual std::string name() const = 0;        ///< "interp", "vulkan:0 llvmpipe (...)"
    virtual Limits limits() const = 0;
    virtual bool supports(Feature feature) const = 0;

    /// `bytes` > 0. Zero-initialised where `zero`. Throws Error naming the bytes when there is no such memory, after caches
    /// were released and the allocation was tried again.
    virtual std::shared_ptr<Allocation> allocate(int64_t bytes, bool zero) = 0;
    /// Host copies, in order with the launches so far; the host memory may be reused on return.
    virtual void write(Allocation& to, int64_t offset, const void* from, int64_t bytes) = 0;
    virtual void read(Allocation& from, int64_t offset, void* to, int64_t bytes) = 0;
    /// Asynchronous, on a stream: pattern_size is 1, 2, 4, 8 ...; bytes a multiple of it.
    virtual void fill(Allocation& to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_size, int stream) = 0;
    virtual void copy(Allocation& from, int64_t from_offset, Allocation& to, int64_t to_offset, int64_t bytes, int stream) = 0;

    /// Compiles recorded IR (as the front end leaves it: verified, with variables). Throws Error when the device lacks what it needs.
    virtual std::shared_ptr<Executable> compile(std::shared_ptr<const ir::Kernel> kernel) = 0;
    /// Group extents for a range where the user gave none; within Limits, never a failure.
    virtual std::array<int64_t, 3> choose_group(const ir::Kernel& kernel, const Launch& launch) const = 0;
    /// Whether conditions on indices cost nothing where they hold for rows of items: rows are split where such a condition changes.
    virtual bool splits_ranges() const { return false; }
    /// Asynchronous, in order within its stream; keeps the arguments' memory alive until done.
    virtual void launch(const std::shared_ptr<Executable>& executable, const Launch& launch) = 0;

    virtual int create_stream(Priority priority) = 0;
    virtual void release_stream(int stream) = 0;
    /// The point reached when all work given to the stream so far is done.
    virtual std::shared_ptr<EventState> record(int stream) = 0;
    /// The time at which that point is reached. Where a device has no clock of its own, the host's, read by a call.
    virtual std::shared_ptr<TimeStamp> stamp(int stream);
    /// Later work on the stream starts after the event.
    virtual void wait_for(int stream, const std::shared_ptr<EventState>& event) = 0;
    /// Runs `act` on the host once all work given to the stream so far is done; later work of the stream starts after it has
    /// returned. On any thread, now or later; what it throws comes out of the next wait.
    virtual void call(int stream, std::function<void()> act) = 0;
    /// Like write and read, but in order on a stream: the host memory belongs to the device until the stream's work so far is
    /// done. A backend that returns before that overrides them.
    virtual void write_async(Allocation& to, int64_t offset, const void* from, int64_t bytes, int stream) {
        record(stream)->wait();
        write(to, offset, from, bytes);
    }
    virtual void read_async(Allocation& from, int64_t offset, void* to, int64_t bytes, int stream) {
        record(stream)->wait();
        read(from, offset, to, bytes);
    }
    /// Submits and waits for all work of all streams; throws what went wrong.
    virtual void synchronize() = 0;
};

}  // namespace pumice
