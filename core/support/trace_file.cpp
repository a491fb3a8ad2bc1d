#include "core/support/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <system_error>

#include "core/support/error.h"

namespace pumice::trace {
namespace {

constexpr size_t block = size_t(64) << 10;  // bytes of a write
constexpr int64_t page = 4096;              // bytes which the kernel writes without looking for a signal that ends the process
constexpr std::string_view closing = "\n]\n";

void put_string(std::string& out, std::string_view value) {
    out += '"';
    for (const char c : value) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            constexpr char digits[] = "0123456789abcdef";
            out += "\\u00";
            out += digits[(c >> 4) & 15];
            out += digits[c & 15];
        } else {
            out += c;
        }
    }
    out += '"';
}

void put_number(std::string& out, int64_t value) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// Nanoseconds as microseconds with three decimals.
void put_time(std::string& out, int64_t nanoseconds) {
    if (nanoseconds < 0) nanoseconds = 0;
    put_number(out, nanoseconds / 1000);
    const int64_t rest = nanoseconds % 1000;
    out += '.';
    for (const int64_t unit : {int64_t(100), int64_t(10), int64_t(1)}) out += char('0' + rest / unit % 10);
}

std::string with_process_number(std::string path) {
    for (size_t at = path.find("%p"); at != path.npos; at = path.find("%p", at)) path.replace(at, 2, std::to_string(getpid()));
    return path;
}

}  // namespace

void Details::begin(std::string_view key) {
    if (!members.empty()) members += ',';
    members += '"';
    members += key;
    members += "\":";
}
Details& Details::add(std::string_view key, std::string_view value) {
    begin(key);
    put_string(members, value);
    return *this;
}
Details& Details::add(std::string_view key, int64_t value) {
    begin(key);
    put_number(members, value);
    return *this;
}
Details& Details::add(std::string_view key, double value) {
    begin(key);
    constexpr double most = 9e12;  // in millionths it still fits 64 bits; JSON has no infinities
    if (!(std::abs(value) < most)) value = 0;
    const int64_t millionths = std::llround(value * 1e6);
    if (millionths < 0) members += '-';
    put_number(members, std::abs(millionths) / 1'000'000);
    int64_t rest = std::abs(millionths) % 1'000'000;
    if (rest > 0) members += '.';
    for (int64_t unit = 100'000; rest > 0; rest %= unit, unit /= 10) members += char('0' + rest / unit);
    return *this;
}

TraceFile::TraceFile(const std::string& asked, std::string& problem)
    : path(with_process_number(asked)), first(now()), owner(getpid()) {
    descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        problem = std::generic_category().message(errno);
        return;
    }
    if (lseek(descriptor, 0, SEEK_SET) != 0) {
        problem = "it is no file that can be written at any place";
        close(descriptor);
        descriptor = -1;
        return;
    }
    waiting = "[";
    processes["host"] = host;
    begin_event();
    waiting += R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"host"}})";
    end_event();
    write();
    if (descriptor < 0) problem = "nothing can be written to it";
}

TraceFile::TraceFile() : first(now()), owner(getpid()) { processes["host"] = host; }

TraceFile::~TraceFile() {
    flush();
    if (descriptor >= 0) close(descriptor);
}

/// Begins the text of the next event.
void TraceFile::begin_event() {
    event_begin = waiting.size();
    waiting += any ? ",\n" : "\n";
    any = true;
}

/// Moves the event's text to the next page of the file if it would lie in two.
void TraceFile::end_event() {
    const int64_t begin = bytes + int64_t(event_begin), size = int64_t(waiting.size() - event_begin);
    const int64_t room = page - begin % page;
    if (size > room && size <= page) waiting.insert(event_begin, size_t(room), ' ');
    if (waiting.size() >= block) write();
}

bool TraceFile::is_own() const { return getpid() == owner; }

/// Writes the waiting events over the bracket of the last write, page by page.
void TraceFile::write() {
    if (descriptor < 0 || !is_own()) return waiting.clear();
    const size_t events = waiting.size();
    waiting += closing;
    for (size_t done = 0; done < waiting.size();) {
        const int64_t offset = bytes + int64_t(done);
        const size_t size = std::min(waiting.size() - done, size_t(page - offset % page));
        const ssize_t some = pwrite(descriptor, waiting.data() + done, size, off_t(offset));
        if (some > 0) {
            done += size_t(some);
            continue;
        }
        if (some < 0 && errno == EINTR) continue;
        std::fputs(text("pumice: the trace file ", path, " is not written any more: ",
                        some < 0 ? std::generic_category().message(errno) : "there is no room", "\n")
                       .c_str(),
                   stderr);
        close(descriptor);
        descriptor = -1;
        return waiting.clear();
    }
    bytes += int64_t(events);
    waiting.clear();
}

void TraceFile::flush() {
    const std::lock_guard lock(mutex);
    if (!waiting.empty()) write();
}

void TraceFile::event(int process, int64_t thread, const EventText& text, int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    if (descriptor < 0) return;
    begin_event();
    waiting += R"({"ph":"X","pid":)";
    put_number(waiting, process);
    waiting += R"(,"tid":)";
    put_number(waiting, thread);
    waiting += R"(,"ts":)";
    put_time(waiting, begin - first);
    waiting += R"(,"dur":)";
    put_time(waiting, end - begin);
    waiting += R"(,"cat":")";
    waiting += text.category;
    waiting += R"(","name":)";
    put_string(waiting, text.name);
    bool is_open = false;
    for (const std::string_view some : text.details) {
        if (some.empty()) continue;
        waiting += is_open ? "," : R"(,"args":{)";
        waiting += some;
        is_open = true;
    }
    waiting += is_open ? "}}" : "}";
    end_event();
}

int TraceFile::process(const std::string& name) {
    const std::lock_guard lock(mutex);
    const auto [at, is_new] = processes.emplace(name, int(processes.size()) + 1);
    if (is_new) {
        begin_event();
        waiting += R"({"ph":"M","name":"process_name","pid":)";
        put_number(waiting, at->second);
        waiting += R"(,"tid":0,"args":{"name":)";
        put_string(waiting, name);
        waiting += "}}";
        end_event();
    }
    return at->second;
}

std::string TraceFile::name_of(int process) {
    const std::lock_guard lock(mutex);
    for (const auto& [name, number] : processes)
        if (number == process) return name;
    return "";
}

void TraceFile::name_thread(int process, int64_t thread, std::string_view name) {
    const std::lock_guard lock(mutex);
    if (!named.emplace((int64_t(process) << 32) + thread, true).second) return;
    begin_event();
    waiting += R"({"ph":"M","name":"thread_name","pid":)";
    put_number(waiting, process);
    waiting += R"(,"tid":)";
    put_number(waiting, thread);
    waiting += R"(,"args":{"name":)";
    put_string(waiting, name);
    waiting += "}}";
    end_event();
}

int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace pumice::trace
