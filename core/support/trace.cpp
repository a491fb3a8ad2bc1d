#include "core/support/trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "core/support/debug.h"
#include "core/support/error.h"

namespace pumice::trace {
namespace {

constexpr int host = 1;                        // the host's process in the trace
constexpr size_t block = size_t(64) << 10;     // bytes of a write
constexpr int64_t longest_wait = 100'000'000;  // ns between two writes while events come
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

int64_t thread_number() {
    thread_local const int64_t number = gettid();
    return number;
}

std::unique_ptr<File>& opened() {
    static auto* one = new std::unique_ptr<File>;  // never destroyed: static objects trace in their destructors
    return *one;
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
Details& Details::add(const Details& more) {
    if (!members.empty() && !more.members.empty()) members += ',';
    members += more.members;
    return *this;
}

File::File(const std::string& asked, std::string& problem) : path(with_process_number(asked)), first(now()), owner(getpid()) {
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
    put("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"host\"}}");
    write();
    if (descriptor < 0) problem = "nothing can be written to it";
}

File::~File() {
    flush();
    if (descriptor >= 0) close(descriptor);
}

void File::put(std::string_view event) {
    waiting += any ? ",\n" : "\n";
    waiting += event;
    any = true;
}

/// Writes the waiting events over the bracket of the last write.
void File::write() {
    written = now();
    if (descriptor < 0 || getpid() != owner) return waiting.clear();
    const size_t events = waiting.size();
    waiting += closing;
    for (size_t done = 0; done < waiting.size();) {
        const ssize_t some = pwrite(descriptor, waiting.data() + done, waiting.size() - done, off_t(bytes) + off_t(done));
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

void File::flush() {
    const std::lock_guard lock(mutex);
    if (!waiting.empty()) write();
}

void File::end() {
    const std::lock_guard lock(mutex);
    ended = true;
    if (!waiting.empty()) write();
}

void File::event(int process, int64_t thread, std::string_view category, std::string_view name, int64_t begin, int64_t finish,
                 std::string_view details) {
    std::string line = "{\"ph\":\"X\",\"pid\":";
    line.reserve(160 + details.size());
    put_number(line, process);
    line += ",\"tid\":";
    put_number(line, thread);
    line += ",\"ts\":";
    put_time(line, begin - first);
    line += ",\"dur\":";
    put_time(line, finish - begin);
    line += ",\"cat\":\"";
    line += category;
    line += "\",\"name\":";
    put_string(line, name);
    if (!details.empty()) {
        line += ",\"args\":{";
        line += details;
        line += '}';
    }
    line += '}';
    const std::lock_guard lock(mutex);
    put(line);
    if (ended || waiting.size() >= block || finish - written > longest_wait) write();
}

int File::process(const std::string& name) {
    const std::lock_guard lock(mutex);
    const auto [at, is_new] = processes.emplace(name, int(processes.size()) + 1);
    if (is_new) {
        std::string line = "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":";
        put_number(line, at->second);
        line += ",\"tid\":0,\"args\":{\"name\":";
        put_string(line, name);
        line += "}}";
        put(line);
    }
    return at->second;
}

void File::name_thread(int process, int64_t thread, std::string_view name) {
    const std::lock_guard lock(mutex);
    if (!named.emplace((int64_t(process) << 32) + thread, true).second) return;
    std::string line = "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":";
    put_number(line, process);
    line += ",\"tid\":";
    put_number(line, thread);
    line += ",\"args\":{\"name\":";
    put_string(line, name);
    line += "}}";
    put(line);
}

namespace detail {

std::atomic<int> state{-1};

bool open() {
    static std::once_flag once;
    std::call_once(once, [] {
        const std::string& path = debug::value("PUMICE_TRACE");
        if (path.empty()) return state.store(0);
        std::string problem;
        auto made = std::make_unique<File>(path, problem);
        if (!problem.empty()) {
            std::fputs(text("pumice: the trace file ", path, ", which PUMICE_TRACE asks for, cannot be written: ", problem, "\n")
                           .c_str(),
                       stderr);
            return state.store(0);
        }
        opened() = std::move(made);
        std::atexit([] { file().end(); });
        state.store(1);
    });
    return state.load() > 0;
}

}  // namespace detail

File& file() { return *opened(); }

int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void event(std::string_view category, std::string_view name, int64_t begin, std::string_view details) {
    file().event(host, thread_number(), category, name, begin, now(), details);
}

void Span::stop() { event(running->category, running->name, running->begin, running->details.text()); }

}  // namespace pumice::trace
