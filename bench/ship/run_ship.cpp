#include "bench/ship/run_ship.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "bench/cpu/case.h"
#include "bench/kernels.h"
#include "bench/ship/hundred_launches.h"
#include "bench/ship/ship_starts.h"
#include "bench/ship/ship_table.h"
#include "bench/ship/shipped_backend.h"
#include "bench/timing.h"
#include "bench_kernels.h"
#include "core/support/debug.h"
#include "core/support/error.h"

namespace bench::ship {
namespace {

// Targets of shipped libraries: time over that of the library at the same level, microseconds of a launch and of a replayed one.
constexpr double native_target = 1.03, cpu_launch_us = 0.5, replay_us = 1;

/// Milliseconds of both sides.
struct Pair {
    double shipped = 0, library = 0;
};

/// Measures with new devices, whose arrays are new to the process. Nothing if the results differ, which `table` then says.
std::optional<Pair> measure(const cpu::Case& c, double most_ms, Table& table) {
    const pumice::Device library = pumice::Device::open("cpu"), shipped = open(bench_kernels_library, "cpu");
    const cpu::Side ours = c.ours(shipped), theirs = c.ours(library);
    ours.once(), theirs.once();
    const std::vector<float> a = ours.result(), b = theirs.result();
    if (a.size() != b.size() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0) {
        size_t i = 0;
        while (i < a.size() && std::memcmp(&a[i], &b[i], sizeof(float)) == 0) ++i;
        table.wrong(c.name, pumice::text("element ", i, " is ", a[i], ", and the library's ", b[i]));
        return std::nullopt;
    }
    const std::vector<double> ms = measure_in_blocks({ours.once, theirs.once}, most_ms);
    return Pair{ms[0], ms[1]};
}

/// The figure is the median of several pairs of devices, whose arrays lie elsewhere in memory.
void compare_code(const cpu::Case& c, bool quick, Table& table) {
    constexpr int all = 5;
    std::vector<Pair> pairs;
    for (int k = 0; k < all; ++k) {
        const auto pair = measure(c, (quick ? 300.0 : 3000.0) / all, table);
        if (!pair) return;
        pairs.push_back(*pair);
    }
    const auto less = [](const Pair& a, const Pair& b) { return a.shipped * b.library < b.shipped * a.library; };
    std::ranges::sort(pairs, less);
    const Pair& median = pairs[all / 2];
    table.row(c.name, "cpu", median.shipped, "library", median.library, native_target, "ms");
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

/// Microseconds of one launch over 64 items on the processor.
void compare_launch(bool quick, Table& table) {
    const std::string spec = "cpu";
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
    table.row("launch of 64 items, us", spec, ms[0] * 1e3 / times, "library", ms[1] * 1e3 / times, 1, "us");
    table.row("launch of 64 items, us", spec, ms[0] * 1e3 / times, "", 0, cpu_launch_us, "us");
    pumice_array_release(&rx), pumice_array_release(&ry);
    pumice_close(runtime);
}

/// Microseconds of each launch of a program of a hundred.
void compare_replay(const std::string& spec, double target_us, bool quick, Table& table) {
    constexpr int64_t n = 64;
    constexpr int times = 10, all = times * launches_of_program;
    constexpr const char* name = "launch replayed in a program, us";
    const pumice::Device device = pumice::Device::open(spec);
    const auto saxpy = fresh_saxpy();
    pumice::Array<float> x = device.zeros<float>(n), y = device.zeros<float>(n);
    pumice_device runtime = nullptr;
    check(pumice_open(spec.c_str(), nullptr, &runtime));
    pumice_array rx{}, ry{};
    check(pumice_array_create(runtime, PUMICE_F32, 0, 1, &n, &rx));
    check(pumice_array_create(runtime, PUMICE_F32, 0, 1, &n, &ry));
    pumice_program program = nullptr;
    check(bench_kernels_hundred_create(runtime, n, &program));
    const auto ours = [&] {
        for (int i = 0; i < times; ++i) check(bench_kernels_hundred_forward(program, &ry, &rx, nullptr));
        check(pumice_synchronize(runtime));
    };
    const auto theirs = [&] {
        for (int i = 0; i < times; ++i) hundred_launches(saxpy, y, x);
        device.synchronize();
    };
    ours(), theirs();
    const std::vector<double> ms = measure_in_turns({ours, theirs}, quick ? 300 : 2000);
    // On Vulkan a ratio within one process depends on where the driver's threads run, and has no target.
    table.row(name, spec, ms[0] * 1e3 / all, "library", ms[1] * 1e3 / all, target_us > 0 ? 1 : 0, "us");
    if (target_us > 0) table.row(name, spec, ms[0] * 1e3 / all, "", 0, target_us, "us");
    pumice_program_release(program);
    pumice_array_release(&rx), pumice_array_release(&ry);
    pumice_close(runtime);
}

}  // namespace

int run(const std::string& filter, bool quick, nlohmann::json& results) {
    Table table(results);
    std::printf("%-34s %-9s %10s %10s %-11s %8s %8s\n", "", "", "shipped", "beside", "", "ratio", "target");
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
        std::printf("%s beside %s\n", open(bench_kernels_library, "cpu").name().c_str(),
                    pumice::Device::open("cpu").name().c_str());
        for (const auto& cases : {cpu::stream_cases, cpu::group_cases, cpu::compute_cases, cpu::flow_cases})
            for (const cpu::Case& c : cases()) guarded(c.name, [&] { compare_code(c, quick, table); });
    }
    guarded("launch", [&] { compare_launch(quick, table); });
    guarded("launch", [&] { compare_launches_on_lavapipe(quick, table); });
    guarded("replay", [&] { compare_replay("cpu", replay_us, quick, table); });
    guarded("replay", [&] { compare_replay("vulkan", 0, quick, table); });
    guarded("process start", [&] { compare_starts(quick, table); });
    return table.misses;
}

}  // namespace bench::ship
