#include "core/support/trace.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/support/debug.h"
#include "core/support/error.h"
#include "core/support/trace_sink.h"

namespace pumice::trace {
namespace {

constexpr std::chrono::milliseconds longest_wait(100);  // of an event, until it is in the file
constexpr uint32_t capacity = 1024;                     // records of a buffer: 80 KiB a thread
constexpr size_t most_readings = size_t(1) << 16;       // of both clocks: 1 MiB

#ifdef PUMICE_TRACY
constexpr bool with_tracy = true;
#else
constexpr bool with_tracy = false;
#endif
TraceSink* sink = nullptr;  // with Tracy; never destroyed, as the writer

int64_t thread_number() {
    thread_local const int64_t number = gettid();
    return number;
}

struct TraceRecord {
    std::shared_ptr<const Description> what;  ///< null: what the texts say
    const char* category = nullptr;
    std::string_view name;
    const char *key = nullptr, *text = nullptr;  ///< the only detail, if any: `text`, or else `number`
    int64_t number = 0;
    int64_t begin = 0, end = 0;
    bool in_ticks = true;
    bool is_span = false;
};

/// Records of one thread that are not in the file yet. That thread appends, and takes no lock; one thread at a time takes out.
struct ThreadBuffer {
    const int64_t thread = thread_number();
    std::atomic<bool> finished{false};  ///< the thread has ended
    alignas(64) std::atomic<uint32_t> appended{0};
    alignas(64) std::atomic<uint32_t> taken{0};
    std::array<TraceRecord, capacity> records;
};

/// Nanoseconds of ticks, between readings of both clocks.
class TickClock {
public:
    TickClock() { read(); }
    /// Reads both clocks, for ticks up to now.
    void read() {
        if (!detail::counter_is_clock) return;
        Reading best{};
        int64_t shortest = INT64_MAX;
        for (int attempt = 0; attempt < 4; ++attempt) {  // the system may have taken the processor away in between
            const int64_t before = ticks(), clock = now(), took = ticks() - before;
            if (took < shortest) shortest = took, best = {before + took / 2, clock};
        }
        if (!readings.empty() && (best.ticks <= readings.back().ticks || best.clock <= readings.back().clock)) return;
        if (readings.size() >= most_readings) thin_out();
        readings.push_back(best);
    }
    int64_t nanoseconds(int64_t at) const {
        if (!detail::counter_is_clock) return at;
        if (readings.size() < 2) return readings.back().clock;
        size_t upper = readings.size() - 1;
        if (at < readings[upper - 1].ticks) {
            const auto above = std::upper_bound(readings.begin() + 1, readings.end() - 1, at,
                                                [](int64_t ticks, const Reading& r) { return ticks < r.ticks; });
            upper = size_t(above - readings.begin());
        }
        const Reading &a = readings[upper - 1], &b = readings[upper];
        return a.clock + int64_t(double(at - a.ticks) * double(b.clock - a.clock) / double(b.ticks - a.ticks));
    }

private:
    struct Reading {
        int64_t ticks, clock;
    };
    /// Forgets every other reading of the older half.
    void thin_out() {
        const size_t half = readings.size() / 2;
        size_t kept = 0;
        for (size_t i = 0; i < readings.size(); ++i)
            if (i >= half || i % 2 == 0) readings[kept++] = readings[i];
        readings.resize(kept);
    }
    std::vector<Reading> readings;
};

/// Takes records out of the buffers and puts them into the file.
class TraceWriter {
public:
    explicit TraceWriter(std::unique_ptr<TraceFile> to) : file(std::move(to)) {
        try {
            // The thread takes no signal: these are for the application's threads.
            sigset_t all, before;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, &before);
            struct Restore {
                const sigset_t& before;
                ~Restore() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
            } const restore{before};
            std::thread([this] { work(); }).detach();
        } catch (const std::system_error&) {
            // Without a thread, a thread whose buffer is full writes.
        }
    }

    std::shared_ptr<ThreadBuffer> add_buffer() {
        const auto made = std::make_shared<ThreadBuffer>();
        const std::lock_guard lock(mutex);
        buffers.push_back(made);
        return made;
    }

    /// Writes every record so far.
    void drain() {
        const std::lock_guard lock(mutex);
        bool any = false;
        for (const auto& buffer : buffers)
            any |= buffer->appended.load(std::memory_order_acquire) != buffer->taken.load(std::memory_order_relaxed);
        if (any) {
            std::vector<uint32_t> ends;  // records that come later wait: the clock is read after these
            for (const auto& buffer : buffers) ends.push_back(buffer->appended.load(std::memory_order_acquire));
            clock.read();
            for (size_t b = 0; b < buffers.size(); ++b) take(*buffers[b], ends[b]);
            send();
        }
        std::erase_if(buffers, [](const auto& buffer) {
            return buffer->finished.load(std::memory_order_acquire) &&
                   buffer->appended.load(std::memory_order_acquire) == buffer->taken.load(std::memory_order_relaxed);
        });
        file->flush();
    }

    void put(const TraceRecord& record, int64_t thread) {
        const std::lock_guard lock(mutex);
        clock.read();
        format(record, thread);
        send();
        file->flush();
    }

    void wake() {
        {
            const std::lock_guard lock(sleep);
            is_woken = true;
        }
        woken.notify_one();
    }

    const std::unique_ptr<TraceFile> file;
    std::atomic<bool> ended{false};  ///< the program exits; each record is written at once

private:
    void work() {
        pthread_setname_np(pthread_self(), "pumice trace");
        for (;;) {
            {
                std::unique_lock lock(sleep);
                woken.wait_for(lock, longest_wait, [&] { return is_woken; });
                is_woken = false;
            }
            drain();
        }
    }

    void take(ThreadBuffer& buffer, uint32_t end) {
        for (uint32_t at = buffer.taken.load(std::memory_order_relaxed); at != end; ++at) {
            TraceRecord& record = buffer.records[at % capacity];
            format(record, buffer.thread);
            record.what.reset();
        }
        buffer.taken.store(end, std::memory_order_release);
    }

    void format(const TraceRecord& record, int64_t thread) {
        int64_t begin = record.begin, end = record.end;
        if (record.in_ticks) begin = clock.nanoseconds(begin), end = clock.nanoseconds(end);
        end = std::max(begin, end);
        rest.clear();
        if (!record.what) {
            if (record.text)
                rest.add(record.key, record.text);
            else if (record.key)
                rest.add(record.key, record.number);
            return file->event(TraceFile::host, thread, {record.category, record.name, {rest.text(), {}}}, begin, end);
        }
        const Description& what = *record.what;
        // A span has told the sink itself.
        if (with_tracy && !record.is_span) ran.push_back({record.what, thread, begin, end});
        what.add_rates(rest, end - begin);
        file->event(what.process, what.process == TraceFile::host ? thread : what.thread,
                    {what.category, what.name, {what.details.text(), rest.text()}}, begin, end);
    }

    /// Gives the sink what has run, in the order of time.
    void send() {
        if constexpr (!with_tracy) return;
        std::ranges::stable_sort(ran, {}, &Ran::begin);
        for (const Ran& one : ran)
            if (detail::has_sink.load(std::memory_order_relaxed))
                sink->ran(*one.what, track_of(*one.what, one.thread), one.begin, one.end);
        ran.clear();
    }
    std::string track_of(const Description& what, int64_t thread) const {
        if (what.process == TraceFile::host) return text("host, thread ", thread);
        return text(file->name_of(what.process), what.thread == 0 ? ", default stream" : text(", stream ", what.thread));
    }

    struct Ran {
        std::shared_ptr<const Description> what;
        int64_t thread, begin, end;
    };

    std::mutex mutex;  // of all but what the thread sleeps by
    std::vector<std::shared_ptr<ThreadBuffer>> buffers;
    TickClock clock;
    Details rest;
    std::vector<Ran> ran;  // for the sink
    std::mutex sleep;
    std::condition_variable woken;
    bool is_woken = false;
};

TraceWriter* writer = nullptr;  // never destroyed: static objects trace in their destructors

thread_local ThreadBuffer* own_buffer = nullptr;
thread_local bool has_ended = false;

/// The calling thread's buffer; null at the thread's end.
ThreadBuffer* make_buffer() {
    struct ThreadBufferOwner {
        std::shared_ptr<ThreadBuffer> buffer = writer->add_buffer();
        ~ThreadBufferOwner() {
            own_buffer = nullptr, has_ended = true;
            buffer->finished.store(true, std::memory_order_release);
        }
    };
    if (has_ended || !writer->file->is_own()) return nullptr;
    thread_local const ThreadBufferOwner owner;
    return own_buffer = owner.buffer.get();
}

void append(TraceRecord&& record) {
    ThreadBuffer* const buffer = own_buffer ? own_buffer : make_buffer();
    if (!buffer) {
        if (writer->file->is_own()) writer->put(record, thread_number());
        return;
    }
    const uint32_t at = buffer->appended.load(std::memory_order_relaxed);
    uint32_t waiting = at - buffer->taken.load(std::memory_order_acquire);
    if (waiting == capacity) {
        if (!writer->file->is_own()) return;  // in a fork nobody takes the records
        writer->drain();
        waiting = 0;
    }
    buffer->records[at % capacity] = std::move(record);
    buffer->appended.store(at + 1, std::memory_order_release);
    // In a fork the locks may be taken for ever, by a thread that the fork lacks.
    if (waiting == capacity / 2 && writer->file->is_own()) writer->wake();
    if (writer->ended.load(std::memory_order_relaxed)) writer->drain();
}

}  // namespace

namespace detail {

std::atomic<int> state{-1};
bool counter_is_clock = false;
bool has_file = false;
std::atomic<bool> has_sink{false};

namespace {
/// True if Linux makes its clock of the processor's time stamp counter (TSC). Linux does so only where it has found that the
/// counter runs at one rate, and alike on all processors; events may then take their times from the counter.
bool clock_is_counter() {
#if defined(__x86_64__)
    std::string source;
    std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
    return source == "tsc";
#else
    return false;
#endif
}
}  // namespace

bool open() {
    static std::once_flag once;
    std::call_once(once, [] {
        const std::string& path = debug::value("PUMICE_TRACE");
        std::unique_ptr<TraceFile> made;
        if (!path.empty()) {
            std::string problem;
            made = std::make_unique<TraceFile>(path, problem);
            if (!problem.empty()) {
                std::fputs(
                    text("pumice: the trace file ", path, ", which PUMICE_TRACE asks for, cannot be written: ", problem, "\n")
                        .c_str(),
                    stderr);
                made = nullptr;
            }
        }
        has_file = made != nullptr;
#ifdef PUMICE_TRACY
        sink = tracy_sink().release();
        has_sink.store(true);
        // Tracy's threads are not in a fork.
        pthread_atfork(nullptr, nullptr, [] { has_sink.store(false); });
        if (!made) made = std::make_unique<TraceFile>();
#endif
        if (!made) return state.store(0);
        counter_is_clock = clock_is_counter();
        writer = new TraceWriter(std::move(made));
        std::atexit([] {
            if (!writer->file->is_own()) return;
            writer->ended.store(true);
            writer->drain();
            has_sink.store(false);  // a profiler's objects may be destroyed from here on
        });
        state.store(1);
    });
    return state.load() > 0;
}

}  // namespace detail

TraceFile& file() { return *writer->file; }

void event(std::shared_ptr<const Description> what, int64_t begin, int64_t end) {
    TraceRecord record;
    record.what = std::move(what);
    record.begin = begin, record.end = end;
    append(std::move(record));
}

void event_at(std::shared_ptr<const Description> what, int64_t begin, int64_t end) {
    TraceRecord record;
    record.what = std::move(what);
    record.begin = begin, record.end = end;
    record.in_ticks = false;
    append(std::move(record));
}

bool counts_memory() { return with_tracy && on() && detail::has_sink.load(std::memory_order_relaxed); }
void allocated(const void* address, int64_t bytes, const char* device) {
    if constexpr (with_tracy)
        if (counts_memory()) sink->allocated(address, bytes, device);
}
void freed(const void* address, const char* device) {
    if constexpr (with_tracy)
        if (counts_memory()) sink->freed(address, device);
}

const char* lasting(const std::string& text) {
    static std::mutex mutex;
    static auto* const texts = new std::unordered_set<std::string>;
    const std::lock_guard lock(mutex);
    return texts->insert(text).first->c_str();  // elements of a set stay where they are
}

Details& Span::more_details() {
    if (!more) more = std::make_unique<Description>();
    return more->details;
}

void Span::add_number(const char* of, int64_t value) {
    if (key || more) return void(more_details().add(of, value));
    key = of, number = value;
}

void Span::add_text(const char* of, const std::string& value) { more_details().add(of, value); }

int64_t Span::start() {
    if constexpr (with_tracy) zone = sink->begin(category, name);
    return ticks();
}

void Span::stop() {
    const int64_t end = ticks();
    const bool tells = with_tracy && zone && detail::has_sink.load(std::memory_order_relaxed);
    if (!tells && !detail::has_file) return;
    if (!more) {
        if constexpr (with_tracy) {
            Details one;
            if (text)
                one.add(key, text);
            else if (key)
                one.add(key, number);
            if (tells) sink->end(zone, one.text());
        }
        if (!detail::has_file) return;
        TraceRecord record;
        record.category = category, record.name = name;
        record.key = key, record.text = text, record.number = number;
        record.begin = begin, record.end = end;
        return append(std::move(record));
    }
    if (text)
        more->details.add(key, text);
    else if (key)
        more->details.add(key, number);
    if constexpr (with_tracy)
        if (tells) sink->end(zone, more->details.text());
    if (!detail::has_file) return;
    more->category = category;
    more->name = name;
    TraceRecord record;
    record.what = std::shared_ptr<const Description>(std::move(more));
    record.begin = begin, record.end = end;
    record.is_span = true;
    append(std::move(record));
}

}  // namespace pumice::trace
