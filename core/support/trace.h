// PUMICE_TRACE: events of the host and of devices, in one file.
//
// A thread that has an event to tell writes a record of fixed size into a buffer of its own: two readings of a clock, and
// pointers to what is said. It takes no lock, allocates nothing and formats nothing. A thread of the trace formats the records
// ten times a second, or when a buffer is half full, and writes them to the file (trace_file.h); a thread whose buffer is full
// formats them itself, so that no event is lost and the memory is bounded. An aborted program loses the events of its last 100 ms
// at most. Cost while the trace is off: one load of an atomic a span.
//
// Ticks are those of the processor's time stamp counter, where the system's own clock is made of it, and else nanoseconds. The
// counter and the clock are read together at each formatting, and the times between interpolated.
//
// A library that is built with PUMICE_TRACY also sends the events to the profiler Tracy (trace_sink.h), with and without a file:
// spans when they begin and end, work of devices when its records are formatted.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/support/trace_file.h"

namespace pumice::trace {

/// The category, name and details of all events of one kind. Events share it, so it is constant once the first is recorded.
struct Description {
    Description() = default;
    Description(const Description&) = default;
    virtual ~Description() = default;
    /// More details, which follow from the length of the event.
    virtual void add_rates(Details&, int64_t /*nanoseconds*/) const {}

    const char* category = "";  ///< text that lives as long as the program
    std::string name;
    int process = TraceFile::host;
    int64_t thread = 0;  ///< of another process than the host, whose events are of the threads that tell them
    std::string source;  ///< "file:line" of a kernel, if it is one
    Details details;
};

namespace detail {
extern std::atomic<int> state;      ///< -1: PUMICE_TRACE is not read yet; 0: off; 1: on
extern bool counter_is_clock;       ///< the time stamp counter makes the ticks
extern bool has_file;               ///< PUMICE_TRACE names one; constant while on()
extern std::atomic<bool> has_sink;  ///< events also go to a TraceSink
bool open();
}  // namespace detail

/// True if PUMICE_TRACE names a file that can be written, or the library is built with PUMICE_TRACY.
inline bool on() {
    const int now = detail::state.load(std::memory_order_relaxed);
    return now < 0 ? detail::open() : now > 0;
}
/// The file of PUMICE_TRACE, while on(); one that takes no events where only Tracy gets them. Never destroyed; written when the
/// program exits.
TraceFile& file();
/// True if there is a file to write, while on().
inline bool writes_file() { return detail::has_file; }

/// A time for event(), while on().
inline int64_t ticks() {
#if defined(__x86_64__)
    if (detail::counter_is_clock) return int64_t(__builtin_ia32_rdtsc());
#endif
    return now();
}
/// An event from `begin` to `end`, in ticks.
void event(std::shared_ptr<const Description> what, int64_t begin, int64_t end);
/// The same in nanoseconds of the steady clock.
void event_at(std::shared_ptr<const Description> what, int64_t begin, int64_t end);
/// Memory of a device, for a profiler that counts allocations; nothing else is told here, so that the file has no such event.
/// `address` is that of the living allocation on the host; `device` lives as long as the program.
bool counts_memory();
void allocated(const void* address, int64_t bytes, const char* device);
void freed(const void* address, const char* device);
/// The same text, which lives as long as the program. For texts of which a program has few.
const char* lasting(const std::string& text);

/// An event of the calling thread, as long as the object lives. Category, name and keys live as long as the program.
class Span {
public:
    Span(const char* category, std::string_view name) : is_on(on()), category(category), name(name) {
        if (is_on) begin = detail::has_sink.load(std::memory_order_relaxed) ? start() : ticks();
    }
    ~Span() {
        if (is_on) stop();
    }
    Span(const Span&) = delete;
    /// True if the trace is on; details need not be made otherwise.
    explicit operator bool() const { return is_on; }
    /// Its begin, in ticks.
    int64_t since() const { return begin; }
    void add(const char* key, int64_t value) {
        if (is_on) add_number(key, value);
    }
    void add(const char* key, const std::string& value) {
        if (is_on) add_text(key, value);
    }
    /// A text that lives as long as the program. Costs less than another one, if it is the first detail.
    void add_lasting(const char* key, const char* value) {
        if (is_on) this->key = key, text = value;
    }

private:
    void add_number(const char* of, int64_t value);
    void add_text(const char* of, const std::string& value);
    Details& more_details();
    int64_t start();
    void stop();

    const bool is_on;
    const char* category;
    std::string_view name;
    int64_t begin = 0;
    const char *key = nullptr, *text = nullptr;  // the first detail is `text`, or else `number`
    int64_t number = 0;
    uint64_t zone = 0;  // of the TraceSink
    std::unique_ptr<Description> more;
};

}  // namespace pumice::trace
