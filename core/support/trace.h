// PUMICE_TRACE: one file of trace events (Chrome's JSON array format, which Perfetto and chrome://tracing read).
//
// The host's threads are the threads of process 1 of the trace, each device is a further process, and its streams are the threads
// of that. Events are complete ones ("ph": "X"): a begin and a length in microseconds, by the host's steady clock.
//
// Events are collected in memory and written in blocks. Each write ends with the array's bracket, which the next write
// overwrites, so that the file is valid JSON after every write, and a program that aborts loses its last events only. A file that
// cannot be written is said once on stderr, and the program goes on without a trace. Cost while it is off: one load of an atomic
// a span.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pumice::trace {

/// Members of an event's "args", as JSON text. Keys are plain words.
class Details {
public:
    Details& add(std::string_view key, std::string_view value);
    Details& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
    Details& add(std::string_view key, const std::string& value) { return add(key, std::string_view(value)); }
    Details& add(std::string_view key, int64_t value);
    Details& add(std::string_view key, int value) { return add(key, int64_t(value)); }
    Details& add(std::string_view key, double value);
    /// Members that are JSON text already, as text() returns them.
    Details& add(const Details& more);
    const std::string& text() const { return members; }
    void reserve(size_t bytes) { members.reserve(bytes); }

private:
    void begin(std::string_view key);
    std::string members;
};

/// A trace file. Thread-safe. Used through the functions below; an object of its own is for tests.
class File {
public:
    /// "%p" in the path stands for the number of the process. Sets `problem` if the file cannot be opened.
    File(const std::string& path, std::string& problem);
    ~File();
    File(const File&) = delete;
    /// Times in nanoseconds of the steady clock.
    void event(int process, int64_t thread, std::string_view category, std::string_view name, int64_t begin, int64_t end,
               std::string_view details);
    /// The process of the trace with this name, made at the first call; it has named threads.
    int process(const std::string& name);
    void name_thread(int process, int64_t thread, std::string_view name);
    /// Writes everything so far.
    void flush();
    /// The same, and later events are written one by one: the program exits.
    void end();

private:
    void put(std::string_view event);
    void write();

    std::mutex mutex;
    std::string path, waiting;
    std::unordered_map<std::string, int> processes;
    std::unordered_map<int64_t, bool> named;
    int descriptor = -1;
    int64_t bytes = 0;    ///< of the file without the closing bracket
    int64_t first = 0;    ///< time 0 of the trace
    int64_t written = 0;  ///< time of the last write
    int64_t owner = 0;    ///< the process that writes: a fork's child does not
    bool any = false, ended = false;
};

namespace detail {
extern std::atomic<int> state;  ///< -1: PUMICE_TRACE is not read yet; 0: off; 1: on
bool open();
}  // namespace detail

/// True if PUMICE_TRACE names a file that can be written.
inline bool on() {
    const int now = detail::state.load(std::memory_order_relaxed);
    return now < 0 ? detail::open() : now > 0;
}
/// The file of PUMICE_TRACE, while on(). Never destroyed; written when the program exits.
File& file();
/// The steady clock, in nanoseconds.
int64_t now();
/// An event of the calling thread that ends now.
void event(std::string_view category, std::string_view name, int64_t begin, std::string_view details = {});

/// An event of the calling thread, as long as the object lives.
class Span {
public:
    Span(const char* category, std::string_view name) {
        if (on()) running.emplace(Running{category, std::string(name), {}, now()});
    }
    ~Span() {
        if (running) stop();
    }
    Span(const Span&) = delete;
    /// True if the trace is on; details need not be made otherwise.
    explicit operator bool() const { return running.has_value(); }
    template <class Value> void add(std::string_view key, const Value& value) {
        if (running) running->details.add(key, value);
    }

private:
    struct Running {
        const char* category;
        std::string name;
        Details details;
        int64_t begin;
    };
    void stop();
    std::optional<Running> running;
};

}  // namespace pumice::trace
