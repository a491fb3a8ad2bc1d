#include "bench/ship/run_ship.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/cpu/case.h"
#include "bench/kernels.h"
#include "bench/ship/shipped_backend.h"
#include "bench/timing.h"
#include "bench_kernels.h"
#include "core/support/debug.h"
#include "core/support/error.h"

extern char** environ;

namespace bench::ship {
namespace {

// Targets of shipped libraries: time over that of the library at the same level, microseconds of a launch, milliseconds of a start.
constexpr double native_target = 1.03, cpu_launch_us = 0.5, start_ms = 3;

class Table {
public:
    explicit Table(nlohmann::json& to) : results(to) {}
    void row(const std::string& name, const std::string& device, double ours, double theirs, double target,
             const std::string& unit) {
        const double value = theirs > 0 ? ours / theirs : ours;
        const bool missed = target > 0 && value > target;
        misses += missed;
        std::printf("%-34s %-10s %10.4f %10.4f %8.3f %8.2f %s\n", name.c_str(), device.c_str(), ours, theirs, value, target,
                    missed ? "MISS" : "");
        std::fflush(stdout);
        results.push_back(
            {{"case", name}, {"device", device}, {"unit", unit}, {"shipped", ours}, {"library", theirs}, {"target", target}});
    }
    void wrong(const std::string& name, const std::string& why) {
        ++misses;
        std::printf("%-34s FAILED: %s\n", name.c_str(), why.c_str());
    }
    int misses = 0;

private:
    nlohmann::json& results;
};

void compare_code(const cpu::Case& c, const pumice::Device& library, const pumice::Device& shipped, bool quick, Table& table) {
    const cpu::Side ours = c.ours(shipped), theirs = c.ours(library);
    ours.once(), theirs.once();
    const std::vector<float> a = ours.result(), b = theirs.result();
    if (a.size() != b.size() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0) {
        size_t i = 0;
        while (i < a.size() && std::memcmp(&a[i], &b[i], sizeof(float)) == 0) ++i;
        return table.wrong(c.name, pumice::text("element ", i, " is ", a[i], ", and the library's ", b[i]));
    }
    const std::vector<double> ms = measure_in_turns({ours.once, theirs.once}, quick ? 300 : 3000);
    table.row(c.name, "cpu", ms[0], ms[1], native_target, "ms");
}

/// The best level of x86-64 that the runtime takes here; "" on other processors.
const char* level_of_this_processor() {
    static std::string name;
    pumice_device device = nullptr;
    if (pumice_open("cpu", nullptr, &device) == PUMICE_OK) name = pumice_device_name(device);
    pumice_close(device);
    const size_t at = name.find("x86-64-v");
    name = at == name.npos ? "" : name.substr(at, 9);
    return name.c_str();
}

void check(pumice_status status) {
    if (status != PUMICE_OK) throw pumice::Error(pumice_error());
}

/// Microseconds of one launch over 64 items.
void compare_launch(const std::string& spec, double target, double target_us, bool quick, Table& table) {
    constexpr int64_t n = 64;
    constexpr int times = 1000;
    const pumice::Device device = pumice::Device::open(spec);
    const auto saxpy = fresh_saxpy();
    pumice::Array<float> x = device.zeros<float>(n), y = device.zeros<float>(n);
    pumice_device runtime = nullptr;
    check(pumice_open(spec.c_str(), nullptr, &runtime));
    pumice_array rx{}, ry{};
    check(pumice_array_create(runtime, PUMICE_F32, 0, 1, &n, &rx));
    check(pumice_array_create(runtime, PUMICE_F32, 0, 1, &n, &ry));
    const auto ours = [&] {
        for (int i = 0; i < times; ++i) check(bench_kernels_saxpy(runtime, pumice_range_1(n), &ry, &rx, 0.5f));
        check(pumice_synchronize(runtime));
    };
    const auto theirs = [&] {
        for (int i = 0; i < times; ++i) saxpy(pumice::ndrange(n), y, x, 0.5f);
        device.synchronize();
    };
    ours(), theirs();
    const std::vector<double> ms = measure_in_turns({ours, theirs}, quick ? 300 : 2000);
    table.row("launch of 64 items, us", spec, ms[0] * 1e3 / times, ms[1] * 1e3 / times, target, "us");
    if (target_us > 0) table.row("launch of 64 items, us", spec, ms[0] * 1e3 / times, 0, target_us, "us");
    pumice_array_release(&rx), pumice_array_release(&ry);
    pumice_close(runtime);
}

/// Milliseconds from the start of a process to its end, which does one launch.
double start_of(const std::string& program, const std::string& device) {
    const std::string setting = "PUMICE_DEVICE=" + device;
    std::vector<char*> environment{const_cast<char*>(setting.c_str())};
    for (char** one = environ; *one; ++one)
        if (std::strncmp(*one, "PUMICE_DEVICE=", 14) != 0) environment.push_back(*one);
    environment.push_back(nullptr);
    char* const arguments[] = {const_cast<char*>(program.c_str()), nullptr};
    return milliseconds_of([&] {
        pid_t process = 0;
        int status = 0;
        if (posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments, environment.data()) != 0)
            pumice::fail("the program ", program, " cannot be started");
        waitpid(process, &status, 0);
        if (status != 0) pumice::fail("the program ", program, " ended with status ", status);
    });
}

void compare_start(Table& table, bool quick) {
    std::vector<double> times;
    for (int i = 0; i < (quick ? 20 : 100); ++i) times.push_back(start_of(PUMICE_BENCH_SHIP_START, "cpu"));
    table.row("process start to first result, ms", "cpu", median(times), 0, start_ms, "ms");
}

}  // namespace

int run(const std::string& filter, bool quick, nlohmann::json& results) {
    Table table(results);
    std::printf("%-34s %-10s %10s %10s %8s %8s\n", "", "", "shipped", "library", "ratio", "target");
    const auto wanted = [&](const std::string& name) { return name.find(filter) != std::string::npos; };
    const auto guarded = [&](const std::string& name, const auto& act) {
        if (!wanted(name)) return;
        try {
            act();
        } catch (const std::exception& e) { table.wrong(name, e.what()); }
    };
    {
        // The library compiles for the level whose code is shipped, not for this very processor.
        const char* const level = level_of_this_processor();
        if (*level) setenv("PUMICE_CPU_TARGET", level, 0);
        pumice::debug::reload();
        const pumice::Device library = pumice::Device::open("cpu"), shipped = open(bench_kernels_library, "cpu");
        std::printf("%s beside %s\n", shipped.name().c_str(), library.name().c_str());
        for (const auto& cases : {cpu::stream_cases, cpu::group_cases, cpu::compute_cases, cpu::flow_cases})
            for (const cpu::Case& c : cases()) guarded(c.name, [&] { compare_code(c, library, shipped, quick, table); });
    }
    guarded("launch", [&] { compare_launch("cpu", 0, cpu_launch_us, quick, table); });
    guarded("launch", [&] { compare_launch("vulkan", 1, 0, quick, table); });
    guarded("process start", [&] { compare_start(table, quick); });
    return table.misses;
}

}  // namespace bench::ship
