// The file of a trace: Chrome's JSON array format, which Perfetto and chrome://tracing read.
//
// The host's threads are the threads of process 1 of the trace, each device is a further process, and its streams are the threads
// of that. Events are complete ones ("ph": "X"): a begin and a length in microseconds, by the host's steady clock.
//
// Each write ends with the array's bracket, which the next write overwrites, so that the file is valid JSON after every write. A
// process that is ended during a write leaves what one call of pwrite has written. Each call writes within one page of the file,
// which the kernel does not interrupt, and no event lies in two pages: then only the bracket is missing, which readers of traces
// allow. A file that cannot be written any more is said once on stderr, and the program goes on without a trace.
#pragma once
#include <cstdint>
#include <mutex>
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
    const std::string& text() const { return members; }
    void clear() { members.clear(); }

private:
    void begin(std::string_view key);
    std::string members;
};

/// The category, name and details of an event. Each of `details` is members of "args" as JSON text, and may be empty.
struct EventText {
    std::string_view category, name;
    std::string_view details[2];
};

/// Thread-safe.
class TraceFile {
public:
    /// The process of the trace that is the host.
    static constexpr int host = 1;

    /// "%p" in the path stands for the number of the process. Sets `problem` if the file cannot be opened.
    TraceFile(const std::string& path, std::string& problem);
    /// No file: processes have names, and events are dropped.
    TraceFile();
    ~TraceFile();
    TraceFile(const TraceFile&) = delete;
    /// Times in nanoseconds of the steady clock.
    void event(int process, int64_t thread, const EventText& text, int64_t begin, int64_t end);
    /// The process of the trace with this name, made at the first call; it has named threads.
    int process(const std::string& name);
    std::string name_of(int process);
    void name_thread(int process, int64_t thread, std::string_view name);
    /// Writes everything so far.
    void flush();
    /// True in the process that made the file, and not in its forks: these write nothing.
    bool is_own() const;

private:
    void begin_event();
    void end_event();
    void write();

    std::mutex mutex;
    std::string path, waiting;
    std::unordered_map<std::string, int> processes;
    std::unordered_map<int64_t, bool> named;
    int descriptor = -1;
    int64_t bytes = 0;       ///< of the file without the closing bracket
    size_t event_begin = 0;  ///< of the last event's text, in `waiting`
    int64_t first = 0;       ///< time 0 of the trace
    int64_t owner = 0;       ///< the process that writes
    bool any = false;
};

/// The steady clock, in nanoseconds.
int64_t now();

}  // namespace pumice::trace
