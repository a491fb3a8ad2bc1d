#include "bench/ship/ship_starts.h"

#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bench/kernels.h"
#include "bench/raw_vulkan.h"
#include "bench/timing.h"
#include "core/support/error.h"

extern char** environ;

namespace bench::ship {
namespace {

// Milliseconds of a start on cpu; times over those of raw Vulkan.
constexpr double start_ms = 3, start_ratio = 1.05, launch_ratio = 1.05;
constexpr int launches = 1000;

struct Run {
    double ms = 0;     ///< from the process's start to its end
    double value = 0;  ///< the number that it printed
};

/// Runs a program on a device of the runtime's.
Run run(std::vector<std::string> words, const std::string& device) {
    const std::string setting = "PUMICE_DEVICE=" + device;
    std::vector<char*> environment{const_cast<char*>(setting.c_str())};
    for (char** one = environ; *one; ++one)
        if (std::strncmp(*one, "PUMICE_DEVICE=", 14) != 0) environment.push_back(*one);
    environment.push_back(nullptr);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::array<int, 2> pipe_ends{};
    if (pipe(pipe_ends.data()) != 0) pumice::fail("the system gives no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    Run done;
    int failed = 0, status = 0;
    done.ms = milliseconds_of([&] {
        pid_t process = 0;
        failed = posix_spawn(&process, words[0].c_str(), &actions, nullptr, arguments.data(), environment.data());
        if (failed == 0) waitpid(process, &status, 0);
    });
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    std::array<char, 64> text{};
    if (read(pipe_ends[0], text.data(), text.size() - 1) > 0) done.value = std::strtod(text.data(), nullptr);
    close(pipe_ends[0]);
    if (failed != 0) pumice::fail("the program ", words[0], " cannot be started");
    if (status != 0) pumice::fail("the program ", words[0], " ended with status ", status);
    return done;
}

/// The peer's files: its SPIR-V, and the pipeline cache that its first run writes.
class PeerFiles {
public:
    PeerFiles() {
        std::string name = (std::filesystem::temp_directory_path() / "pumice_bench.XXXXXX").string();
        if (!mkdtemp(name.data())) pumice::fail("the system gives no folder for temporary files");
        folder = name;
        const std::vector<uint32_t> code = raw::compile_glsl(saxpy_glsl, "saxpy");
        std::ofstream(spirv()).write(reinterpret_cast<const char*>(code.data()), std::streamsize(code.size() * sizeof code[0]));
    }
    ~PeerFiles() {
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }
    PeerFiles(const PeerFiles&) = delete;
    std::string spirv() const { return folder / "saxpy.spv"; }
    std::string cache() const { return folder / "pipelines"; }

private:
    std::filesystem::path folder;
};

/// Medians of the shipped library, raw Vulkan and the library by `what`, in turns, after one run of each that fills the caches.
struct Medians {
    double shipped = 0, raw = 0, library = 0;
};
template <class What> Medians in_turns(int rounds, const std::string& launches_each, const What& what) {
    const PeerFiles files;
    std::array<std::vector<std::string>, 3> sides{
        {{PUMICE_BENCH_SHIP_START}, {PUMICE_BENCH_RAW_START, files.spirv(), files.cache()}, {PUMICE_BENCH_LIBRARY_START}}};
    for (auto& words : sides)
        if (!launches_each.empty()) words.push_back(launches_each);
    std::array<std::vector<double>, 3> values;
    for (int round = -1; round < rounds; ++round)
        for (size_t side = 0; side < sides.size(); ++side) {
            const Run one = run(sides[side], "vulkan");
            if (round >= 0) values[side].push_back(what(one));
        }
    return {median(values[0]), median(values[1]), median(values[2])};
}

/// Keeps this thread, and the processes that it starts, on one processor.
class OnOneProcessor {
public:
    OnOneProcessor() {
        sched_getaffinity(0, sizeof before, &before);
        int first = 0;
        while (!CPU_ISSET(first, &before)) ++first;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    ~OnOneProcessor() { sched_setaffinity(0, sizeof before, &before); }
    OnOneProcessor(const OnOneProcessor&) = delete;

private:
    cpu_set_t before{};
};

bool has_lavapipe(Table& table, const char* name) {
    if (lavapipe()) return true;
    table.wrong(name, "this machine has no lavapipe");
    return false;
}

}  // namespace

void compare_starts(bool quick, Table& table) {
    constexpr const char* name = "process start to first result, ms";
    std::vector<double> times;
    for (int i = 0; i < (quick ? 20 : 100); ++i) times.push_back(run({PUMICE_BENCH_SHIP_START}, "cpu").ms);
    table.row(name, "cpu", median(times), "", 0, start_ms, "ms");
    if (!has_lavapipe(table, name)) return;
    const Medians m = in_turns(quick ? 10 : 40, "", [](const Run& one) { return one.ms; });
    table.row(name, "lavapipe", m.shipped, "raw Vulkan", m.raw, start_ratio, "ms");
    table.row(name, "lavapipe", m.shipped, "library", m.library, 0, "ms");
}

// On several processors, most of the time of a launch on lavapipe is the waking of the driver's threads: 15 to 60 us, depending
// on the processors that the threads get. A process on one processor shows what the launches themselves cost.
void compare_launches_on_lavapipe(bool quick, Table& table) {
    constexpr const char* names[] = {"1,000 dependent launches, each, us", "the same on one processor, each, us"};
    if (!has_lavapipe(table, names[0])) return;
    const auto value = [](const Run& one) { return one.value; };
    Medians m = in_turns(quick ? 12 : 60, std::to_string(launches), value);
    table.row(names[0], "lavapipe", m.shipped, "raw Vulkan", m.raw, launch_ratio, "us");
    table.row(names[0], "lavapipe", m.shipped, "library", m.library, 0, "us");
    const OnOneProcessor pinned;
    m = in_turns(quick ? 20 : 100, std::to_string(launches), value);
    table.row(names[1], "lavapipe", m.shipped, "raw Vulkan", m.raw, launch_ratio, "us");
    table.row(names[1], "lavapipe", m.shipped, "library", m.library, 1, "us");
}

}  // namespace bench::ship
