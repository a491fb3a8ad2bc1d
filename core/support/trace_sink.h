// A second place for the events of a trace: a profiler that shows them while the program runs.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pumice::trace {

struct Description;

/// Its functions are called on any thread, and ran() by one thread at a time.
class TraceSink {
public:
    virtual ~TraceSink() = default;
    /// A span of the calling thread begins. The result, which is not 0, is for end() on the same thread.
    virtual uint64_t begin(std::string_view category, std::string_view name) = 0;
    /// `details`: members of "args" as JSON text, or "".
    virtual void end(uint64_t span, std::string_view details) = 0;
    /// Something has run, on a device or in another way that is known afterwards alone. `track`: "cpu, stream 1". Times in
    /// nanoseconds of the steady clock.
    virtual void ran(const Description& what, const std::string& track, int64_t begin, int64_t end) = 0;
    virtual void allocated(const void* address, int64_t bytes, const char* device) = 0;
    virtual void freed(const void* address, const char* device) = 0;
};

/// The profiler Tracy. Only in a library that is built with PUMICE_TRACY.
std::unique_ptr<TraceSink> tracy_sink();

}  // namespace pumice::trace
