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
#include "core/support/namespaces.h"

namespace pumice {

namespace detail {
/// True on a thread that runs a function called by a stream (Stream::call). The function may not wait for later work.
bool inside_call();
}  // namespace detail

/// Types of kernels. A device may lack each of them but int64, which is emulated by pairs of words where the hardware has none.
enum class Feature { int8, int16, int64, float16, float64 };
inline constexpr Feature features[] = {Feature::int8, Feature::int16, Feature::int64, Feature::float16, Feature::float64};
/// Priority of a stream over the device's other streams: a hint that a device may ignore.
enum class Priority { low, normal, high };

/// Limits of a device, in bytes and items. Arrays hold one limit an axis, axis 0 first.
struct Limits {
    int64_t max_group_size = 0;                 ///< items of a group
    std::array<int64_t, 3> max_group_extent{};  ///< items of a group along an axis
    int64_t local_memory = 0;                   ///< bytes of local memory for a group
    int64_t max_array_bytes = 0;                ///< of one array
    int64_t memory = 0;                         ///< bytes of device memory (its largest heap)
    int subgroup_size = 1;                      ///< items of a subgroup
    int64_t private_memory = 4096;              ///< bytes of private memory an item that cost little
};

namespace internal {

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
    /// Counter of the bytes of all living allocations of the device; may be null. The front end sets it, backends leave it alone.
    std::shared_ptr<std::atomic<int64_t>> meter;
};

/// The description of one launch. The front end has already checked arguments, aliasing and ranges.
struct Launch {
    struct Array {
        Allocation* memory = nullptr;                        ///< null for an array of no elements
        int64_t offset = 0;                                  ///< bytes from the allocation's start
        int64_t bytes = 0;                                   ///< bytes that the array spans
        std::array<int64_t, ir::max_rank> extents = ones();  ///< axis 0 first, unused ones 1
        static constexpr std::array<int64_t, ir::max_rank> ones() {
            std::array<int64_t, ir::max_rank> all{};
            for (int64_t& one : all) one = 1;
            return all;
        }
        /// Number of elements.
        int64_t count() const {
            int64_t n = 1;
            for (const int64_t extent : extents) n *= extent;
            return n;
        }
    };
    struct Image {
        Allocation* memory = nullptr;
        const ImageShape* shape = nullptr;  ///< alive during the call
    };
    struct Argument {
        Array array;        ///< of an array parameter
        uint64_t bits = 0;  ///< of a scalar parameter: its bits, in the low bytes
        Image image{};      ///< of an image parameter, on devices with memory for images
    };
    std::array<int64_t, 3> start{0, 0, 0};   ///< first global index along each axis (axis 0 first)
    std::array<int64_t, 3> extent{1, 1, 1};  ///< items along each axis; all positive
    std::array<int64_t, 3> group{0, 0, 0};   ///< items of a group along each axis; all positive, within Limits
    int rank = 1;
    std::vector<Argument> arguments;  ///< one for each parameter, in order
    int stream = 0;
    /// Of an indirect launch, else without memory: six i32, which the stream's earlier work writes. The first three are the
    /// extents, at least 0 and at most `extent`, the others the numbers of groups. See BackendTraits::reads_counts.
    Array counts;
    /// Launches of one number differ in scalars alone, and in arrays whose allocations have the same addresses; 0: not numbered.
    uint64_t number = 0;
};

/// A point in a device's work. Copies share it.
class EventState {
public:
    virtual ~EventState() = default;
    /// Blocks until the point is reached; throws Error if the device was lost or found a fault.
    virtual void wait() = 0;
    virtual bool done() = 0;
};

/// The time at which a point in a stream's work is reached, by a clock of the device.
class TimeStamp {
public:
    virtual ~TimeStamp() = default;
    /// Seconds since an earlier stamp of the same device. Blocks until both points are reached; throws as a wait does.
    virtual double since(TimeStamp& earlier) = 0;
};

/// Costs of a device, by which derivatives choose between forms of one kernel. The defaults are those of a graphics card.
struct BackendTraits {
    /// The device splits rows of items where a condition on indices changes, so that such conditions cost nothing.
    bool splits_rows = false;
    /// Threads add to copies of their own, so that additions of many items to one element cost little.
    bool private_sums = false;
    /// A work-item that makes one store costs less than a loop over several stores.
    bool cheap_items = false;
    /// A subgroup may add up the terms of its items before it touches memory: a sum is then rounded fewer times.
    bool sums_by_subgroups = true;
    /// Launches read their extents from Launch::counts when they begin. Otherwise the kernel itself reads them (indirect_range),
    /// and Launch::counts only says which groups may be left out.
    bool reads_counts = false;
};

/// One device. All functions may be called from several threads at once.
class Backend : public std::enable_shared_from_this<Backend> {
public:
    virtual ~Backend() = default;
    /// Printed lines and failed requirements of kernels. A backend hands new reports over at every wait.
    Reports reports;
    virtual std::string name() const = 0;  ///< "interp", "vulkan:0 llvmpipe (...)"
    virtual Limits limits() const = 0;
    virtual bool supports(Feature feature) const = 0;

    /// Allocates `bytes` > 0, zeroed if `zero`. Throws Error naming the bytes if there is no memory even after caches were
    /// released.
    virtual std::shared_ptr<Allocation> allocate(int64_t bytes, bool zero) = 0;
    /// Copies from and to the host, in order after the launches so far. The host memory may be reused on return.
    virtual void write(Allocation& to, int64_t offset, const void* from, int64_t bytes) = 0;
    virtual void read(Allocation& from, int64_t offset, void* to, int64_t bytes) = 0;
    /// Asynchronous, in order on a stream. pattern_size is 1, 2, 4, 8, ...; bytes is a multiple of it.
    virtual void fill(Allocation& to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_size, int stream) = 0;
    virtual void copy(Allocation& from, int64_t from_offset, Allocation& to, int64_t to_offset, int64_t bytes, int stream) = 0;

    // Images. A device without memory for an image (has_image) keeps it as an array of words (ImageShape::place), and kernels
    // that use it are lowered to accesses of that array before compile() sees them. Otherwise the kernel keeps its image
    // parameters, all resolved (ir::Memory::image), and a launch gives them as Launch::Argument::image.
    virtual bool has_image(const ImageShape&) const { return false; }
    /// Memory of an image, all zeros. Throws Error as allocate() does.
    virtual std::shared_ptr<Allocation> allocate_image(const ImageShape& shape);
    /// Copies one layer of a level from and to the host, rows without gaps, in order after the launches so far.
    virtual void write_image(Allocation& to, const ImageShape& shape, int level, int64_t layer, const void* pixels);
    virtual void read_image(Allocation& from, const ImageShape& shape, int level, int64_t layer, void* pixels);
    /// Copies all levels and layers to another image of the shape, in order after the launches so far. The default goes through
    /// the host.
    virtual void copy_image(Allocation& from, Allocation& to, const ImageShape& shape);

    /// Compiles IR as the front end recorded it: verified, with variables. Throws Error if the device lacks a feature that it
    /// needs.
    virtual std::shared_ptr<Executable> compile(std::shared_ptr<const ir::Kernel> kernel) = 0;
    /// Group extents for a range where the user gave none: within Limits, and never an error.
    virtual std::array<int64_t, 3> choose_group(const ir::Kernel& kernel, const Launch& launch) const = 0;
    virtual BackendTraits traits() const { return {}; }
    /// Asynchronous, in order within its stream. Keeps the memory of the arguments alive until the launch is done.
    virtual void launch(const std::shared_ptr<Executable>& executable, const Launch& launch) = 0;

    virtual int create_stream(Priority priority) = 0;
    virtual void release_stream(int stream) = 0;
    /// The point at which all work given to the stream so far is done.
    virtual std::shared_ptr<EventState> record(int stream) = 0;
    /// The time of that point. A device without a clock uses the host's, read by a function that the stream calls.
    virtual std::shared_ptr<TimeStamp> stamp(int stream);
    /// Later work on the stream starts after the event.
    virtual void wait_for(int stream, const std::shared_ptr<EventState>& event) = 0;
    /// Runs `act` on the host, on any thread, once all work given to the stream so far is done. Later work of the stream starts
    /// after `act` has returned. An exception of `act` is thrown by the next wait.
    virtual void call(int stream, std::function<void()> act) = 0;
    /// As write and read, but in order on a stream: the device uses the host memory until the stream's work so far is done. The
    /// default waits; a backend that returns earlier overrides both.
    virtual void write_async(Allocation& to, int64_t offset, const void* from, int64_t bytes, int stream) {
        record(stream)->wait();
        write(to, offset, from, bytes);
    }
    virtual void read_async(Allocation& from, int64_t offset, void* to, int64_t bytes, int stream) {
        record(stream)->wait();
        read(from, offset, to, bytes);
    }
    /// Submits and waits for all work of all streams; throws their errors.
    virtual void synchronize() = 0;
    /// This thread's commands go into a command buffer of the application, in order, and run later: nothing can wait for them.
    virtual bool records_commands() const { return false; }
};

}  // namespace internal

}  // namespace pumice
