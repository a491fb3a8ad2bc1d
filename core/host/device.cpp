#include "core/host/device.h"

#include "core/host/array.h"
#include "core/host/strided_region.h"
#include "core/host/trace_hook.h"
#include "core/host/traced_work.h"

namespace pumice {

using namespace internal;
namespace detail {

namespace {
[[gnu::tls_model("initial-exec")]] thread_local TraceHook* current_trace_hook = nullptr;  // which each launch reads
}
thread_local int running_calls = 0;
bool inside_call() { return running_calls > 0; }

void TraceHook::allocated(const std::shared_ptr<ArrayState>&, bool) {}
void TraceHook::writing(const ArrayState&, const void*, int) {}
void TraceHook::reading(const ArrayState&) {}
void TraceHook::filling(const ArrayState&, const void*, int) {}
const std::string* TraceHook::strategy() { return nullptr; }
void TraceHook::chose(const std::string&) {}
bool TraceHook::calling(const HostCall&, std::span<const HostArgument>) { return false; }
void TraceHook::copying(const ArrayState&, const ArrayState&, int) {}
bool TraceHook::scanning(const ArrayState&, int64_t, int64_t&) { return false; }
bool TraceHook::summing(const ArrayState&, const void*, int) { return false; }
void TraceHook::image_allocated(const ImageState&) {}
void TraceHook::image_writing(const ImageState&, int, int64_t, const void*) {}
void TraceHook::image_reading(const ImageState&) {}
void TraceHook::image_copying(const ImageState&, const ImageState&) {}
TraceHook* trace_hook() { return current_trace_hook; }
ScopedTraceHook::ScopedTraceHook(TraceHook* next) : before(current_trace_hook) { current_trace_hook = next; }
ScopedTraceHook::~ScopedTraceHook() { current_trace_hook = before; }

std::shared_ptr<ArrayState> allocate(const std::shared_ptr<DeviceState>& device, const int64_t* extents, int rank,
                                     const Element& element, bool zero) {
    auto state = std::make_shared<ArrayState>();
    state->device = device;
    state->element = &element;
    state->element_size = int(element.size);
    int64_t bytes = state->element_size;
    bool too_large = false, empty = false;
    for (int d = 0; d < rank; ++d) {
        if (extents[d] < 0)
            fail("an array of extent ", extents[d], " along dimension ", d, " is asked for: extents are not negative");
        empty = empty || extents[d] == 0;
        too_large = too_large || __builtin_mul_overflow(bytes, extents[d], &bytes);
    }
    if (empty)
        bytes = 0;
    else if (too_large)
        fail("an array of more than 2^63 bytes is asked for on ", device->name, "; its memory is ",
             device->backend->limits().memory, " bytes");
    state->bytes = bytes;
    if (bytes > 0) {
        trace::Span span("memory", "allocate");
        span.add("bytes", bytes);
        state->memory = device->backend->allocate(bytes, zero);
        meter_memory(*state->memory, *device);
    }
    if (TraceHook* o = trace_hook()) o->allocated(state, zero);
    return state;
}

void check_shape(const int64_t* extents, int rank, int64_t count) {
    int64_t elements = 1;
    bool too_many = false;
    for (int d = 0; d < rank; ++d) {
        if (extents[d] < 0)
            fail("an array of ", count, " elements is reshaped to extent ", extents[d], " along dimension ", d,
                 ": extents are not negative");
        too_many = __builtin_mul_overflow(elements, extents[d], &elements) || too_many;
    }
    if (too_many) fail("an array of ", count, " elements is reshaped into one of more than 2^63");
    if (elements != count) fail("an array of ", count, " elements is reshaped into one of ", elements);
}

void write(const ArrayState& to, const void* from, int64_t elements, int64_t wanted) {
    if (elements != wanted) fail(elements, " elements are copied into an array of ", wanted, " elements: the sizes must agree");
    if (!to.memory) return;
    if (TraceHook* o = trace_hook()) o->writing(to, from, 0);
    trace::Span span("copy", "upload");
    span.add("bytes", to.bytes);
    to.device->backend->write(*to.memory, to.offset, from, to.bytes);
}

void read(const ArrayState& from, void* to) {
    if (TraceHook* o = trace_hook()) o->reading(from);
    if (!from.memory) return;
    trace::Span span("copy", "download");
    span.add("bytes", from.bytes);
    from.device->backend->read(*from.memory, from.offset, to, from.bytes);
}

void fill(const ArrayState& to, const void* value, int size) {
    if (!to.memory) return;
    if (TraceHook* o = trace_hook()) o->filling(to, value, size);
    const TracedScope traced("fill", *to.device, 0, to.bytes);
    to.device->backend->fill(*to.memory, to.offset, to.bytes, value, size, 0);
}

void name_array(const ArrayState& array, const std::string& name) {
    auto* const names = dynamic_cast<NamingBackend*>(array.device->backend.get());
    if (names && array.memory) names->name_memory(*array.memory, array.offset, name);
}

void copy(const ArrayState& from, const ArrayState& to, int stream) {
    if (!to.memory) return;
    if (TraceHook* o = trace_hook()) o->copying(from, to, stream);
    if (from.device->backend != to.device->backend) {
        with_host_memory(from.bytes, [&] {
            std::vector<std::byte> host(size_t(from.bytes));
            from.device->backend->read(*from.memory, from.offset, host.data(), from.bytes);
            to.device->backend->write(*to.memory, to.offset, host.data(), to.bytes);
        });
    } else {
        const TracedScope traced("copy", *to.device, stream, from.bytes);
        to.device->backend->copy(*from.memory, from.offset, *to.memory, to.offset, to.bytes, stream);
    }
}

}  // namespace detail

Device::Device(std::shared_ptr<detail::DeviceState> of) : state(std::move(of)) {
    if (!state) throw Error("a device is made of nothing: the pointer is null");
}

Device::Device(std::shared_ptr<Backend> backend) : state(std::make_shared<detail::DeviceState>()) {
    if (!backend) throw Error("a device is made of no backend: the pointer is null");
    state->name = backend->name();
    state->backend = std::move(backend);
}

Stream::Stream(std::shared_ptr<detail::DeviceState> device, Priority priority) : state(std::make_shared<State>()) {
    if (!device) throw Error("a stream is made on no device: the pointer is null");
    if (priority != Priority::low && priority != Priority::normal && priority != Priority::high)
        fail("a stream of priority ", int(priority), " is asked for: priorities are Priority::low, normal and high");
    state->number = device->backend->create_stream(priority);
    state->device = std::move(device);
}

const Stream::State& Stream::held() const {
    if (!state) throw Error("a stream that was never made is used: make it with Device::stream");
    if (!state->device) throw Error("a stream is used after its release()");
    return *state;
}

Event Stream::call(std::function<void()> act) const {
    if (!act) throw Error("a stream is to call a function that is empty");
    const std::shared_ptr<detail::DeviceState> device = held().device;  // the function may release the stream
    const int number = held().number;
    device->backend->call(number, [act = std::move(act)] {
        const trace::Span span("host", "call of a stream");
        struct Inside {
            Inside() { ++detail::running_calls; }
            ~Inside() { --detail::running_calls; }
        } inside;
        act();
    });
    return Event(device->backend->record(number));
}

void Stream::release() const {
    const auto device = held().device;
    device->backend->release_stream(state->number);
    state->device = nullptr;
}

std::chrono::duration<double> Event::elapsed() const {
    if (!begin)
        throw Error(
            "the time of an event is asked for that is no timed launch: a launch is timed where its range says so "
            "(Range::timed)");
    return std::chrono::duration<double>(end->since(*begin));
}

std::chrono::duration<double> Event::elapsed(const Event& since) const {
    if (!end || !since.end)
        throw Error(
            "the time between two events is asked for, of which one has no time: Stream::time_stamp and launches over a "
            "Range::timed give such");
    return std::chrono::duration<double>(end->since(*since.end));
}

Event Stream::time_stamp() const {
    Backend& backend = *held().device->backend;
    std::shared_ptr<TimeStamp> end = backend.stamp(held().number);
    Event event(backend.record(held().number));
    event.end = std::move(end);
    return event;
}

Event Stream::record() const { return Event(held().device->backend->record(held().number)); }

void Stream::wait_for(const Event& event) const {
    const State& own = held();
    if (event.state) own.device->backend->wait_for(own.number, event.state);
}

}  // namespace pumice
