// Devices, streams, events and arrays: the host's side.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/host/backend.h"
#include "core/host/launch_times.h"
#include "core/support/error.h"

namespace pumice {

template <class T, int N> class Array;
template <class T, int N> class View;
class Stream;

namespace detail {

/// One opened device: its backend, and the kernels compiled for it (by the kernel's number).
struct DeviceState {
    std::shared_ptr<Backend> backend;
    std::mutex mutex;
    std::unordered_map<uint64_t, std::shared_ptr<Executable>> executables;
    std::string name;
    LaunchTimes launch_times;  ///< with PUMICE_TIME
    std::shared_ptr<std::atomic<int64_t>> in_use = std::make_shared<std::atomic<int64_t>>(0);  ///< bytes of living allocations

    /// What was compiled for the kernel of this number; null where nothing was.
    std::shared_ptr<Executable> compiled(uint64_t kernel) {
        std::lock_guard lock(mutex);
        const auto found = executables.find(kernel);
        return found == executables.end() ? nullptr : found->second;
    }
};

/// Memory of an array: a range of an allocation. Shared by copies of the handle.
struct ArrayState : std::enable_shared_from_this<ArrayState> {
    std::shared_ptr<DeviceState> device;
    std::shared_ptr<Allocation> memory;  ///< null when there are no elements
    int64_t offset = 0, bytes = 0;
    int element_size = 0;
    const Element* element = nullptr;  ///< lives as long as the program
    bool released = false;             ///< by Array::release
};

std::shared_ptr<ArrayState> allocate(const std::shared_ptr<DeviceState>& device, const int64_t* extents, int rank, const Element& element, bool zero);
/// Throws Error where so many elements do not take this shape.
void check_shape(const int64_t* extents, int rank, int64_t count);
void write(const ArrayState& to, const void* from, int64_t elements, int64_t wanted);
void read(const ArrayState& from, void* to);
void fill(const ArrayState& to, const void* value, int size);
void copy(const ArrayState& from, const ArrayState& to, int stream = 0);

}  // namespace detail

/// A point in a device's work. Copies share it; one that is default-constructed is reached.
class Event {
public:
    Event() = default;
    explicit Event(std::shared_ptr<EventState> state) : state(std::move(state)) {}
    /// Blocks until the work before it is done; throws what went wrong in it.
    void wait() const { if (state) state->wait(); }
    /// Whether the work before it is done; does not block.
    bool done() const { return !state || state->done(); }
    /// The device's time for the launch that returned the event, from the end of the work before it. Blocks until it is. Throws Error
    /// where the launch was not to be timed (Range::timed).
    std::chrono::duration<double> elapsed() const;
    /// The device's time from the earlier event to this one. Both have a time: that of Stream::time_stamp, or of the end of a launch
    /// that is timed. Blocks until both are reached. Throws Error where one has no time, or they are of different devices.
    std::chrono::duration<double> elapsed(const Event& since) const;
    std::shared_ptr<EventState> state;
    std::shared_ptr<TimeStamp> begin, end;  ///< of what was timed
};

/// An ordered queue of work on a device: Device::stream() makes one, Range::on() puts a launch on it. Work of different streams may
/// overlap. Released when its last handle goes, or by release(); its pending work still runs.
class Stream {
public:
    Stream() = default;
    /// Throws Error for a priority that there is not.
    Stream(std::shared_ptr<detail::DeviceState> device, Priority priority);
    /// The point reached when all work given to this stream so far is done.
    Event record() const;
    /// The same, with the time at which the device reaches it: for Event::elapsed. A device may do less at once around it.
    Event time_stamp() const;
    /// Work given to this stream from now on starts after the event.
    void wait_for(const Event& event) const;
    /// Runs `act` on the host, on a thread of the device's, once all work given to this stream so far is done; what is given to it
    /// from now on starts after `act` has returned. `act` may launch and copy, but not wait for work that comes after itself. What
    /// it throws comes out of the next wait for the device.
    Event call(std::function<void()> act) const;
    /// Blocks until all work given to this stream so far is done; throws what went wrong in it.
    void synchronize() const { record().wait(); }
    /// Gives the stream back before its last handle goes. Using any of its handles afterwards is an Error.
    void release() const;

    struct State;
    std::shared_ptr<State> state;

private:
    const State& held() const;
};
struct Stream::State {
    std::shared_ptr<detail::DeviceState> device;
    int number = 0;
    ~State() { if (device) device->backend->release_stream(number); }  // no device: released
};

/// One line of Device::all().
struct DeviceInfo {
    std::string spec;     ///< what Device::open takes: "vulkan:0", "interp"
    std::string name;
    bool usable = true;
    std::string reason;   ///< why it is not usable
    Limits limits;        ///< of a usable one
    std::vector<Feature> features;  ///< that it supports
};

/// A handle to an opened device; copies share it, and so do two opens of the same device. Devices, streams, arrays and kernels may be
/// used by several threads at once; what they give one stream is in some order.
class Device {
public:
    /// "" takes PUMICE_DEVICE, else the best device there is: a Vulkan GPU, the processor, a software Vulkan driver, the interpreter.
    /// Else "cpu", "interp", "vulkan", "vulkan:N" with its number in all(), or "vulkan:" and a part of its name ("vulkan:llvmpipe").
    /// Throws Error when there is none, saying why.
    static Device open(const std::string& spec = "");
    /// Every device of this machine, best first, the unusable ones with the reason.
    static std::vector<DeviceInfo> all();

    // Moving a handle copies it: none is ever empty. Made of a null pointer it throws Error.
    Device(const Device&) = default;
    Device& operator=(const Device&) = default;
    explicit Device(std::shared_ptr<Backend> backend);
    explicit Device(std::shared_ptr<detail::DeviceState> state);

    /// "vulkan:0 llvmpipe (...)", "cpu (...)", "interp".
    const std::string& name() const { return state->name; }
    Limits limits() const { return state->backend->limits(); }
    /// Whether kernels on this device may use the type. float, bool, 32- and 64-bit integers are on every device.
    bool supports(Feature feature) const { return state->backend->supports(feature); }
    /// Bytes that the arrays on this device hold now, those included that were let go with work pending.
    int64_t memory_in_use() const { return *state->in_use; }
    /// Where the lines go that kernels print, one call a line, on the thread that waits; nothing: to stdout.
    void on_print(std::function<void(const std::string& line)> sink) const { state->backend->reports.on_print(std::move(sink)); }
    /// Waits for all work of the device; throws what went wrong in it.
    void synchronize() const { state->backend->synchronize(); }
    /// A new stream. Throws Error for a priority that there is not.
    Stream stream(Priority priority = Priority::normal) const { return Stream(state, priority); }

    // Arrays; extents in elements, dimension 0 the slowest. Errors: a negative extent, more memory than there is.
    /// A copy of the host's elements, row-major; the extents, where they are given, have as many.
    template <class T> Array<T, 1> upload(const std::vector<T>& host) const;
    template <class T, std::size_t N> Array<T, int(N)> upload(const std::vector<T>& host, const int64_t (&extents)[N]) const;
    /// Elements are whatever the memory held.
    template <class T> Array<T, 1> empty(int64_t n) const;
    template <class T, std::size_t N> Array<T, int(N)> empty(const int64_t (&extents)[N]) const;
    /// Elements whose bytes are all 0.
    template <class T> Array<T, 1> zeros(int64_t n) const;
    template <class T, std::size_t N> Array<T, int(N)> zeros(const int64_t (&extents)[N]) const;
    /// Elements of this value.
    template <class T> Array<T, 1> full(int64_t n, T value) const;
    template <class T, std::size_t N> Array<T, int(N)> full(const int64_t (&extents)[N], T value) const;

    std::shared_ptr<detail::DeviceState> state;
};

}  // namespace pumice

#include "core/host/array.h"
