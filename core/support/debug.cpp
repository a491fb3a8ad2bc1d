#include "core/support/debug.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <system_error>

#include "core/support/error.h"
#include "core/support/files.h"

namespace pumice::debug {
namespace {

constexpr Switch table[] = {
    {"PUMICE_DEVICE", "interp, cpu, vulkan, vulkan:N, vulkan:NAME", "the best there is", "the device that Device::open() takes"},
    {"PUMICE_DUMP", "a list of ir, a pass's name, analysis, plan, glsl, spirv, llvm, optimised, asm, or all", "nothing",
     "prints what every compiled kernel looks like at these stages"},
    {"PUMICE_DUMP_DIR", "a folder", "stderr", "where PUMICE_DUMP writes, one file a kernel and stage"},
    {"PUMICE_VALIDATE", "0, 1", "0",
     "turns Vulkan's validation layers on and checks the IR after every pass; what they find is fatal"},
    {"PUMICE_DEBUG", "source", "nothing",
     "code for debuggers: one item at a time, not optimised, with the lines and variables of your source"},
    {"PUMICE_TIME", "0, 1", "0", "prints how long each kernel took to compile, and its launches on the device"},
    {"PUMICE_TRACE", "a file; %p in it is the process's number", "no trace",
     "writes a trace of host calls, launches, copies and compilation, which Perfetto opens"},
    {"PUMICE_COVERAGE", "a folder", "no coverage",
     "writes there which lines of kernels ran on interp, the default device then, and which carried adjoints, as LCOV "
     "tracefiles"},
    {"PUMICE_CACHE_DIR", "a folder, or off", "~/.cache/pumice", "where compiled kernels are kept between runs"},
    {"PUMICE_CPU_WIDTH", "1, 4, 8, 16", "what the processor has", "how many work-items the device cpu does at once"},
    {"PUMICE_CPU_TARGET", "native, x86-64-v2, x86-64-v3, x86-64-v4", "native",
     "the processor that the device cpu makes code for, with its width; the machine must be able to run it"},
    {"PUMICE_CPU_LLVM", "15 to 22", "19, else a newer, else an older one", "the version of LLVM that the device cpu loads"},
    {"PUMICE_CPU_THREADS", "1 to 1024", "the processor's", "how many threads share a launch on the device cpu"},
    {"PUMICE_CPU_STATIC", "0, 1", "0", "gives each thread of the device cpu one part of a launch, the same every time"},
    {"PUMICE_CPU_WITHOUT", "a list of rules of cpu/plan/cpu_rules.def, or all", "nothing",
     "optimisations that the device cpu leaves out"},
    {"PUMICE_LOG", "0, 1", "0", "prints what the library decides: devices, cache misses, batches, tapes"},
};
constexpr size_t count = std::size(table);

struct Environment {
    std::mutex reading;
    std::atomic<bool> read = false;
    std::array<std::string, count> values;
    std::map<std::string_view, std::string> overrides;                 ///< values that count in place of the environment's
    std::atomic<bool> validates = false, times = false, logs = false;  ///< of values, since launches ask
    std::atomic<bool> dump_checked = false;                            ///< check_dump has printed
    std::mutex saying;
    std::set<std::string> said;  ///< lines of log_once
};

Environment& environment() {
    static Environment* one = new Environment;  // never destroyed, since static objects may log in their destructors
    return *one;
}

bool is_on(const std::string& v) { return !v.empty() && v != "0" && v != "off" && v != "false" && v != "no"; }

size_t index_of(std::string_view name) {
    for (size_t i = 0; i < count; ++i)
        if (table[i].name == name) return i;
    library_bug(text("there is no debug switch ", name));
}

const std::string& value_of(const Environment& e, std::string_view name) { return e.values[index_of(name)]; }

/// The environment, read.
Environment& read_environment() {
    Environment& e = environment();
    if (e.read.load(std::memory_order_acquire)) return e;
    const std::lock_guard lock(e.reading);
    if (e.read) return e;
    for (size_t i = 0; i < count; ++i) {
        const auto overridden = e.overrides.find(table[i].name);
        const char* set = variable(table[i].name.data());
        e.values[i] = overridden != e.overrides.end() ? overridden->second : set ? set : "";
    }
    e.validates = is_on(value_of(e, "PUMICE_VALIDATE"));
    e.times = is_on(value_of(e, "PUMICE_TIME"));
    e.logs = is_on(value_of(e, "PUMICE_LOG"));
    e.read.store(true, std::memory_order_release);
    return e;
}

/// Calls f with every nonempty word of PUMICE_DUMP's list.
template <class F> void each_dump_word(F&& f) {
    for (std::string_view rest = value("PUMICE_DUMP"); !rest.empty();) {
        const size_t comma = rest.find(',');
        if (comma != 0) f(rest.substr(0, comma));
        rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
    }
}

/// The path of `below` in `folder`, the value of the environment variable `named_by`. "", logged as "the disk cache is off", if
/// the folder cannot be examined (one that is not there is accepted where it `may_be_missing`), or if it belongs to another user
/// and has no sticky bit (/tmp has one): a program with another user's environment, as under sudo, thus leaves nothing in that
/// user's home.
std::string in_own(const std::string& folder, const char* named_by, const char* below, bool may_be_missing) {
    struct stat about{};
    std::string problem;
    if (stat(folder.c_str(), &about) != 0)
        problem = may_be_missing && errno == ENOENT ? "" : std::generic_category().message(errno);
    else if (about.st_uid != geteuid() && !(about.st_mode & S_ISVTX))
        problem = "it belongs to another user";
    if (problem.empty()) return (std::filesystem::path(folder) / below).string();
    log_once(text("the disk cache is off: ", named_by, " is ", std::filesystem::path(folder), ": ", problem));
    return "";
}

}  // namespace

const char* variable(const char* name) { return secure_getenv(name); }

std::span<const Switch> switches() { return table; }

const std::string& value(std::string_view name) { return value_of(read_environment(), name); }

void reload() {
    Environment& e = environment();
    e.dump_checked = false;
    {
        const std::lock_guard lock(e.saying);
        e.said.clear();
    }
    const std::lock_guard lock(e.reading);
    e.read = false;
}

Override::Override(std::string_view name, std::string value) : name(table[index_of(name)].name) {
    Environment& e = environment();
    {
        const std::lock_guard lock(e.reading);
        if (const auto outer = e.overrides.find(this->name); outer != e.overrides.end()) before = outer->second;
        e.overrides[this->name] = std::move(value);
    }
    reload();
}

Override::~Override() {
    Environment& e = environment();
    {
        const std::lock_guard lock(e.reading);
        if (before)
            e.overrides[name] = *before;
        else
            e.overrides.erase(name);
    }
    reload();
}

bool validate() { return read_environment().validates; }
bool time() { return read_environment().times; }
bool log() { return read_environment().logs; }

std::string cache_folder() {
    const std::string& set = value("PUMICE_CACHE_DIR");
    if (set == "off") return "";
    if (!set.empty()) return set;
    // The XDG specification ignores relative paths.
    if (const char* cache = variable("XDG_CACHE_HOME"); cache && *cache == '/')
        return in_own(cache, "XDG_CACHE_HOME", "pumice", true);
    if (const char* home = variable("HOME"); home && *home == '/') return in_own(home, "HOME", ".cache/pumice", false);
    log_once("the disk cache is off: neither PUMICE_CACHE_DIR nor XDG_CACHE_HOME nor HOME names a folder");
    return "";
}

bool dumps(std::string_view what) {
    bool listed = false;
    each_dump_word([&](std::string_view word) { listed |= word == what || word == "all"; });
    return listed;
}

void check_dump(std::span<const std::string_view> stages) {
    // Names of other devices' stages are no error: a program may open several devices.
    constexpr std::string_view others[] = {"glsl", "spirv", "plan", "llvm", "optimised", "asm"};
    const auto known = [&](std::string_view word) {
        return std::ranges::find(stages, word) != stages.end() ||
               std::find(std::begin(others), std::end(others), word) != std::end(others);
    };
    std::string unknown;
    each_dump_word([&](std::string_view word) {
        if (word != "all" && !known(word)) unknown += text(unknown.empty() ? "\"" : ", \"", word, "\"");
    });
    if (unknown.empty() || environment().dump_checked.exchange(true)) return;
    std::string list;
    for (auto stage = stages.begin(); stage != stages.end(); ++stage)
        if (std::find(stages.begin(), stage, *stage) == stage) list += text(*stage, ", ");
    std::fputs(text("pumice: PUMICE_DUMP names ", unknown, "; it knows ", list, "all\n").c_str(), stderr);
}

void dump_text(std::string_view what, std::string_view kernel, std::string_view extension, std::string_view contents) {
    const std::string& folder = value("PUMICE_DUMP_DIR");
    if (folder.empty()) {
        const std::string all = text("---- ", kernel, ": ", what, " ----\n", contents, contents.ends_with('\n') ? "" : "\n");
        std::fputs(all.c_str(), stderr);
        return;
    }
    const std::string name = text(file_name(kernel), ".", what, ".", extension);
    std::string problem;
    if (const Folder at = Folder::open(folder, 0777, problem)) problem = at.write(name, contents, 0666);
    if (!problem.empty())
        fail("the file ", std::filesystem::path(folder) / name, ", which PUMICE_DUMP asks for, cannot be written: ", problem);
}

void log_line(std::string_view line) {
    if (log()) std::fputs(text("pumice: ", line, "\n").c_str(), stderr);
}

void log_once(const std::string& line) {
    if (!log()) return;
    Environment& e = environment();
    const auto first = [&] {
        const std::lock_guard lock(e.saying);
        return e.said.insert(line).second;
    };
    if (first()) log_line(line);
}

}  // namespace pumice::debug
