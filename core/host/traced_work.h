// PUMICE_TRACE: work of a device as events on the streams of the device.
//
// The host's side describes the work and hands it to the backend in a thread-local scope. A backend that knows when its work runs
// takes the description and writes the event with the device's times: the processor reads the clock around the work, Vulkan
// writes time stamps around the command. If none takes it, the event is one of the calling thread.
#pragma once
#include <memory>
#include <string>

#include "core/host/device.h"
#include "core/support/trace.h"

namespace pumice::detail {

/// The most that a device has reached in small kernels; 0 where it was not measured.
struct Roof {
    double bytes_per_second = 0, operations_per_second = 0;
};

/// A backend whose roof may be measured: nobody else has to submit its work.
class MeasuredBackend {
public:
    virtual ~MeasuredBackend() = default;
    virtual bool may_measure() const = 0;
};

/// A backend whose memory has names for tools.
class NamingBackend {
public:
    virtual ~NamingBackend() = default;
    virtual void name_memory(Allocation& memory, int64_t offset, const std::string& name) = 0;
};

/// Measured once for each device, at the first call while the trace is on: a copy of 64 MiB, and chains of fma. Takes about a
/// quarter of a second.
Roof roof_of(DeviceState& device);

/// A launch, a copy or a fill.
struct TracedWork final : trace::Description {
    /// Rates, and the share of the roof.
    void add_rates(trace::Details& to, int64_t nanoseconds) const override;

    double bytes = 0, operations = 0;  ///< by which the event says its rates; 0: not known
    Roof roof;
};

/// Describes the work that the calling thread gives a backend while the object lives.
class TracedScope {
public:
    TracedScope() = default;
    ~TracedScope() { end(); }
    TracedScope(const TracedScope&) = delete;
    /// `from`: in ticks of the trace.
    void begin(std::shared_ptr<const TracedWork> what, int64_t from = trace::ticks());
    /// A copy or a fill of so many bytes, if the trace is on.
    TracedScope(const char* category, DeviceState& device, int stream, int64_t bytes);
    /// The work that this thread describes, once; null if there is none.
    static std::shared_ptr<const TracedWork> take();

private:
    void end();
    std::shared_ptr<const TracedWork> before;
    bool active = false;
    int64_t from = 0;
};

/// Counts a new allocation as memory in use of its device, until it is destroyed.
void meter_memory(Allocation& memory, DeviceState& device);

/// "stream 2" of the device, as a thread of the trace.
std::shared_ptr<TracedWork> traced_work(const char* category, std::string name, const DeviceState& device, int stream);

}  // namespace pumice::detail
