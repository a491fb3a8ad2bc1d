// Devices, streams and events: the host's side.
#pragma once
#include <atomic>
#include <chrono>
#include <concepts>
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
template <class T, int N = 2, ImageLayout L = ImageLayout::plain> class Image;
template <class T, int N = 2, ImageLayout L = ImageLayout::plain> class Texture;
/// Options of an image.
struct ImageOptions {
    int levels = 1;          ///< mip levels; each has half the extents of the one before it
    bool read_only = false;  ///< kernels only read it
};
class Stream;

namespace detail {

/// One opened device: its backend, and its executables by the number of their kernel.
struct DeviceState {
    std::shared_ptr<Backend> backend;
    std::mutex mutex;
    std::unordered_map<uint64_t, std::shared_ptr<Executable>> executables;
    std::string name;
    LaunchTimes launch_times;                                                                  ///< with PUMICE_TIME
    std::shared_ptr<std::atomic<int64_t>> in_use = std::make_shared<std::atomic<int64_t>>(0);  ///< bytes of living allocations

    /// Returns the executable of the kernel with this number, or null.
    std::shared_ptr<Executable> compiled(uint64_t kernel) {
        std::lock_guard lock(mutex);
        const auto found = executables.find(kernel);
        return found == executables.end() ? nullptr : found->second;
    }
};

/// Memory of an array: a range of an allocation. Shared by copies of the handle.
struct ArrayState : std::enable_shared_from_this<ArrayState> {
    std::shared_ptr<DeviceState> device;
    std::shared_ptr<Allocation> memory;  ///< null if there are no elements
    int64_t offset = 0, bytes = 0;
    int element_size = 0;
    const Element* element = nullptr;  ///< lives as long as the program
    bool released = false;             ///< by Array::release
    /// The states that share the memory, if there are slices of it.
    mutable std::shared_ptr<std::vector<std::weak_ptr<ArrayState>>> sharing;
};

std::shared_ptr<ArrayState> allocate(const std::shared_ptr<DeviceState>& device, const int64_t* extents, int rank,
                                     const Element& element, bool zero);
/// Throws Error unless the shape has this number of elements.
void check_shape(const int64_t* extents, int rank, int64_t count);
void write(const ArrayState& to, const void* from, int64_t elements, int64_t wanted);
void read(const ArrayState& from, void* to);
void fill(const ArrayState& to, const void* value, int size);
void copy(const ArrayState& from, const ArrayState& to, int stream = 0);

}  // namespace detail

/// A point in a device's work. Copies share it; a default-constructed one counts as reached.
class Event {
public:
    Event() = default;
    explicit Event(std::shared_ptr<internal::EventState> state) : state(std::move(state)) {}
    /// Blocks until the work before the event is done; throws the errors of that work.
    void wait() const {
        if (state) state->wait();
    }
    /// True if the work before the event is done; does not block.
    bool done() const { return !state || state->done(); }
    /// The device's time for the launch that returned the event, counted from the end of the work before it. Blocks until the
    /// launch is done. Throws Error for a launch without Range::timed.
    std::chrono::duration<double> elapsed() const;
    /// The device's time from the earlier event to this one. An event has a time if it comes from Stream::time_stamp or from a
    /// timed launch. Blocks until both are reached. Throws Error if one has no time, or if the devices differ.
    std::chrono::duration<double> elapsed(const Event& since) const;
    std::shared_ptr<internal::EventState> state;
    std::shared_ptr<internal::TimeStamp> begin, end;  ///< of a timed launch or time stamp
};

/// An ordered queue of work on a device: Device::stream() makes one, Range::on() puts a launch on it. Events alone (wait_for)
/// order streams, also those that share arrays. Released with its last handle, or by release(); its pending work still runs.
class Stream {
public:
    Stream() = default;
    /// Throws Error for an unknown priority.
    Stream(std::shared_ptr<detail::DeviceState> device, Priority priority);
    /// The point at which all work given to this stream so far is done.
    Event record() const;
    /// The same point with its time, for Event::elapsed. A device may overlap less work around it.
    Event time_stamp() const;
    /// Work given to this stream from now on starts after the event.
    void wait_for(const Event& event) const;
    /// Runs `act` on a host thread of the device, once all work given to this stream so far is done. Later work of the stream
    /// starts after `act` has returned. `act` may launch and copy, but not wait for later work. An exception of `act` is thrown
    /// by the device's next wait.
    Event call(std::function<void()> act) const;
    /// Blocks until all work given to this stream so far is done; throws the errors of that work.
    void synchronize() const { record().wait(); }
    /// Releases the stream before its last handle goes. A later use of any handle is an Error.
    void release() const;

    struct State;
    std::shared_ptr<State> state;

private:
    const State& held() const;
};
struct Stream::State {
    std::shared_ptr<detail::DeviceState> device;
    int number = 0;
    ~State() {
        if (device) device->backend->release_stream(number);
    }  // null after release()
};

/// One device in Device::all().
struct DeviceInfo {
    std::string spec;  ///< the argument of Device::open: "vulkan:0", "interp"
    std::string name;
    bool usable = true;
    std::string reason;             ///< the reason if it is not usable
    Limits limits;                  ///< of a usable device
    std::vector<Feature> features;  ///< the supported ones
};

/// A number of elements. Braces are extents, so that zeros<T>({n}) and zeros<T>({rows, columns}) are alike.
template <class N> concept ElementCount = std::convertible_to<N, int64_t>;

/// A handle to an opened device. Copies share the device, and so do two opens of the same one. Several threads may use devices,
/// streams, arrays and kernels at once; the order of their work on one stream is then unspecified.
class Device {
public:
    /// "" takes PUMICE_DEVICE, else the best device: a Vulkan GPU, the processor, a software Vulkan driver, the interpreter.
    /// Other specs: "cpu", "interp", "vulkan", "vulkan:N" with the number in all(), or "vulkan:" and a part of the name
    /// ("vulkan:llvmpipe"). Throws Error with the reason if there is no such device.
    static Device open(const std::string& spec = "");
    /// All devices of this machine, best first; unusable ones carry the reason.
    static std::vector<DeviceInfo> all();

    // Moving a handle copies it, so that no handle is ever empty. Construction from a null pointer throws Error.
    Device(const Device&) = default;
    Device& operator=(const Device&) = default;
    explicit Device(std::shared_ptr<internal::Backend> backend);
    explicit Device(std::shared_ptr<detail::DeviceState> state);

    /// "vulkan:0 llvmpipe (...)", "cpu (...)", "interp".
    const std::string& name() const { return state->name; }
    Limits limits() const { return state->backend->limits(); }
    /// True if kernels on this device may use the type. Every device has bool, float, bfloat16, and 32- and 64-bit integers.
    bool supports(Feature feature) const { return state->backend->supports(feature); }
    /// Bytes of the living arrays of this device, and of released ones with work pending.
    int64_t memory_in_use() const { return *state->in_use; }
    /// Sets the sink of printed lines: called once a line, on the thread that waits. An empty function means stdout.
    void on_print(std::function<void(const std::string& line)> sink) const { state->backend->reports.on_print(std::move(sink)); }
    /// Waits for all work of the device; throws the errors of that work.
    void synchronize() const { state->backend->synchronize(); }
    /// A new stream. Throws Error for an unknown priority.
    Stream stream(Priority priority = Priority::normal) const { return Stream(state, priority); }

    // Arrays (core/host/array.h); extents in elements, dimension 0 the slowest. A negative extent or lack of memory is an Error.
    /// Copies the host's elements, row-major. Extents, if given, must have as many elements.
    template <class T> Array<T, 1> upload(const std::vector<T>& host) const;
    template <class T, std::size_t N> Array<T, int(N)> upload(const std::vector<T>& host, const int64_t (&extents)[N]) const;
    /// The elements are uninitialised.
    template <class T, ElementCount N> Array<T, 1> empty(N n) const;
    template <class T, std::size_t N> Array<T, int(N)> empty(const int64_t (&extents)[N]) const;
    /// All bytes of the elements are 0.
    template <class T, ElementCount N> Array<T, 1> zeros(N n) const;
    template <class T, std::size_t N> Array<T, int(N)> zeros(const int64_t (&extents)[N]) const;
    /// Every element has this value.
    template <class T, ElementCount N> Array<T, 1> full(N n, T value) const;
    template <class T, std::size_t N> Array<T, int(N)> full(const int64_t (&extents)[N], T value) const;

    // Images (core/host/image.h); extents in texels, dimension 0 the slowest. T has the channels of the format: float, int or
    // uint numbers or vectors of 2 or 4. All texels are 0. A wrong T, extent or option is an Error.
    template <class T, std::size_t N>
    Image<T, int(N)> image(Format format, const int64_t (&extents)[N], const ImageOptions& options = {}) const;
    /// An array of images of the same extents, for textures.
    template <class T, std::size_t N> Image<T, int(N), ImageLayout::layered> image_array(Format format, int64_t layers,
                                                                                         const int64_t (&extents)[N],
                                                                                         const ImageOptions& options = {}) const;
    /// The 6 faces of a cube, each of n x n texels, for textures.
    template <class T>
    Image<T, 2, ImageLayout::cube> image_cube(Format format, int64_t n, const ImageOptions& options = {}) const;

    std::shared_ptr<detail::DeviceState> state;
};

}  // namespace pumice
