// bench: Pumice on the CPU beside OpenMP, PoCL and others, and on Vulkan beside hand-written GLSL dispatched by raw Vulkan.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>

#include "bench/cases_autodiff.h"
#include "bench/corpus/run_corpus.h"
#include "bench/cpu/run.h"
#include "bench/harness.h"
#include "bench/optimisation_register.h"
#include "bench/ship/run_ship.h"
#include "vulkan/loader_devices.h"

namespace bench {
namespace {

constexpr const char* usage =
    "bench [corpus|rules|ship] [--filter TEXT] [--quick] [--cpu] [--gradients] [--strict] [--list] [--out FILE]\n"
    "  corpus         only the corpus: many kernels beside OpenMP, on PUMICE_DEVICE (default: cpu, then lavapipe)\n"
    "  rules          what each optimisation of the device cpu gains; writes docs/optimisations.md\n"
    "  ship           a shipped library beside the library itself, on cpu and lavapipe\n"
    "  --filter TEXT  only cases whose name contains TEXT\n"
    "  --quick        less time a case: noisier\n"
    "  --cpu          processor time instead of wall time, on Vulkan and in the corpus (there one thread a side): for a busy "
    "machine\n"
    "  --gradients    only the gradients' cases, on PUMICE_DEVICE (default: cpu)\n"
    "  --strict       a missed target ends with exit code 2\n"
    "  --list         print the cases' names\n"
    "  --out FILE     where the results go as JSON (without --filter: bench/results/latest.json of the repository)\n"
    "PUMICE_CPU_TARGET=x86-64-v3: the device cpu and its peers are compiled for AVX2.\n"
    "Without PUMICE_DEVICE: the cases of the device cpu, then those of the best Vulkan device; VK_DRIVER_FILES selects the "
    "driver.\n";

struct Options {
    std::string filter;
    bool corpus = false, rules = false, ship = false, quick = false, cpu = false, gradients = false, strict = false, list = false,
         help = false;
    int round = -1, device = 0;  // of compare_afresh(), for the processes that it starts
    std::filesystem::path out;   // none: nowhere
};

Options parse(int argc, char** argv) {
    Options o;
    bool somewhere = false;
    for (int a = 1; a < argc; ++a) {
        const std::string word = argv[a];
        const auto value = [&]() -> std::string {
            if (a + 1 >= argc) pumice::fail(word, " takes a value");
            return argv[++a];
        };
        if (word == "corpus")
            o.corpus = true;
        else if (word == "rules")
            o.rules = true;
        else if (word == "ship")
            o.ship = true;
        else if (word == "--filter")
            o.filter = value();
        else if (word == "--out")
            o.out = value(), somewhere = true;
        else if (word == "--round")
            o.round = std::stoi(value());
        else if (word == "--device")
            o.device = std::stoi(value());
        else if (word == "--quick")
            o.quick = true;
        else if (word == "--cpu")
            o.cpu = true;
        else if (word == "--gradients")
            o.gradients = true;
        else if (word == "--strict")
            o.strict = true;
        else if (word == "--list")
            o.list = true;
        else if (word == "--help" || word == "-h")
            o.help = true;
        else
            pumice::fail("there is no option ", word, "\n", usage);
    }
    // A part of the cases must not take the place of the record of all.
    if (!somewhere && o.filter.empty())
        o.out = std::filesystem::path(PUMICE_SOURCE_FOLDER "/bench/results") / (o.corpus      ? "corpus.json"
                                                                                : o.ship      ? "ship.json"
                                                                                : o.gradients ? "gradients.json"
                                                                                              : "latest.json");
    return o;
}

std::vector<Case> chosen_cases(const std::string& filter) {
    std::vector<Case> all;
    for (const auto& cases :
         {triad_cases, diffusion_cases, matmul_cases, reduction_cases, group_cases, image_cases, launch_cases, first_use_cases})
        for (Case& c : cases())
            if (c.name.find(filter) != std::string::npos) all.push_back(std::move(c));
    return all;
}

/// A cache folder of the run's own, unless the user gives one: what other runs left must not be timed.
class OwnCache {
public:
    OwnCache() : folder(std::filesystem::temp_directory_path() / ("pumice-bench-" + std::to_string(getpid()))) {
        setenv("PUMICE_CACHE_DIR", folder.c_str(), 0);
    }
    ~OwnCache() {
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }

private:
    const std::filesystem::path folder;
};

/// The loader's number in a device's name, "vulkan:0 llvmpipe (...)".
uint32_t vulkan_index(const std::string& name) {
    const std::string prefix = "vulkan:";
    if (name.rfind(prefix, 0) != 0)
        pumice::fail("the benchmarks compare with raw Vulkan, and the device is ", name,
                     ": set PUMICE_DEVICE to a Vulkan device");
    return uint32_t(std::stoul(name.substr(prefix.size())));
}

/// Other programs' work shows in wall time.
void warn_of_a_busy_machine() {
    double load = 0;
    const unsigned cores = std::thread::hardware_concurrency();
    if (getloadavg(&load, 1) == 1 && load > 0.5 * cores)
        std::printf("The machine is busy: a load of %.1f on %u cores. Ratios will be noisy; on software drivers --cpu is not.\n",
                    load, cores);
}

bool missed(const Case& c, const Measurement& m) { return (c.kind == Kind::first_use ? m.ours_ms : m.ratio) > c.target; }

/// Milliseconds in five characters or so.
std::string milliseconds(double ms) {
    char text[32];
    std::snprintf(text, sizeof text, ms == 0 ? "-" : ms < 0.1 ? "%.4f" : ms < 10 ? "%.3f" : "%.1f", ms);
    return text;
}

void print_row(const Case& c, const Measurement& m) {
    char ratio[64] = "-", target[32], speed[32] = "";
    if (m.peer_ms > 0) std::snprintf(ratio, sizeof ratio, "%.3f (%.2f-%.2f)", m.ratio, m.ratio_low, m.ratio_high);
    if (c.kind == Kind::first_use)
        std::snprintf(target, sizeof target, "%.0f ms", c.target);
    else
        std::snprintf(target, sizeof target, "%.2f", c.target);
    if (c.work > 0) std::snprintf(speed, sizeof speed, "%.3g %s", c.work / (m.ours_ms * 1e6), c.unit.c_str());
    std::printf("%-40s %9s %9s  %-18s %6s %-4s %s\n", c.name.c_str(), milliseconds(m.ours_ms).c_str(),
                milliseconds(m.peer_ms).c_str(), ratio, target, missed(c, m) ? "MISS" : "", speed);
    std::fflush(stdout);
}

nlohmann::json row(const Case& c, const Measurement& m, const Bench& bench) {
    nlohmann::json j{
        {"case", c.name},         {"device", bench.raw.name}, {"ours_ms", m.ours_ms}, {"peers", nlohmann::json::object()},
        {"limit_share", nullptr}, {"measurements", m.pairs},  {"times", m.times}};
    if (m.peer_ms > 0) {
        j["peers"]["raw Vulkan"] = m.peer_ms;
        j["ratio"] = m.ratio;
        j["ratio_quartiles"] = {m.ratio_low, m.ratio_high};
    }
    j[c.kind == Kind::first_use ? "target_ms" : "target_ratio"] = c.target;
    j["reached"] = !missed(c, m);
    if (c.work > 0) j["speed"] = {{"value", c.work / (m.ours_ms * 1e6)}, {"unit", c.unit}};
    return j;
}

/// The cases that are held against raw Vulkan. The number of wrong ones and of missed targets.
std::pair<int, int> run_vulkan(const Options& options, const std::vector<Case>& cases, nlohmann::json& results) {
    const char* named = std::getenv("PUMICE_DEVICE");
    const pumice::Device device = pumice::Device::open(named && *named ? "" : "vulkan");
    const int index = vulkan_index(device.name());
    raw::Device peer(index);
    Bench bench{device, peer, options.quick, options.cpu, index};
    if (device.name().find(bench.raw.name) == std::string::npos)
        pumice::fail("Pumice runs on ", device.name(), ", raw Vulkan on ", bench.raw.name);
    if (options.cpu && !bench.raw.software)
        pumice::fail("--cpu measures nothing on ", bench.raw.name, ", which has a processor of its own");
    std::printf("%s\n%-40s %9s %9s  %-18s %6s\n", device.name().c_str(), "", "ours ms", "raw ms", "ratio (quartiles)", "target");

    int wrong = 0, misses = 0, kernels = 0;
    double logs = 0;
    for (const Case& c : cases) {
        try {
            const Measurement m = c.run(bench);
            print_row(c, m);
            results.push_back(row(c, m, bench));
            misses += missed(c, m);
            if (c.kind == Kind::kernel) ++kernels, logs += std::log(m.ratio);
        } catch (const std::exception& e) {
            ++wrong;
            std::printf("%-40s FAILED: %s\n", c.name.c_str(), e.what());
        }
    }
    if (kernels > 1) {
        constexpr double target = 1.05;
        const double mean = std::exp(logs / kernels);
        std::printf("%-40s %9s %9s  %-18.3f %6.2f %s\n", "geometric mean of the kernels", "", "", mean, target,
                    mean > target ? "MISS" : "");
        results.push_back({{"case", "geometric mean of the kernels"},
                           {"device", bench.raw.name},
                           {"ratio", mean},
                           {"target_ratio", target},
                           {"reached", mean <= target}});
        misses += mean > target;
    }
    return {wrong, misses};
}

/// One round of the case with the filter's name.
int run_round(const Options& options, const std::vector<Case>& cases) {
    std::optional<raw::Device> peer;
    if (options.round % 2 == 1) peer.emplace(uint32_t(options.device));  // each side opens first in half of them
    const pumice::Device ours(pumice::vulkan::open(options.device));
    if (!peer) peer.emplace(uint32_t(options.device));
    Bench bench{ours, *peer, options.quick, options.cpu, options.device, options.round};
    for (const Case& c : cases)
        if (c.name == options.filter) return print_round(c.run(bench)), 0;
    pumice::fail("there is no case \"", options.filter, "\"");
}

void write(const std::filesystem::path& path, const std::string& text) {
    if (path.empty()) return;
    if (!path.parent_path().empty()) std::filesystem::create_directories(path.parent_path());
    std::ofstream file(path);
    file << text;
    if (!file.flush()) pumice::fail("the results cannot be written to ", path.string());
}

/// Starts the process again with the peers of PUMICE_CPU_TARGET, if there are any: the device cpu and its peers are then compiled
/// for the same level. The dynamic loader looks for the peers only when a process begins.
void take_the_peers_of_the_target(char** argv) {
    const char* const target = std::getenv("PUMICE_CPU_TARGET");
    const std::string folder = std::string(PUMICE_BENCH_PEERS) + (target ? target : "");
    if (!target || !std::filesystem::exists(folder)) return;
    const char* const now = std::getenv("LD_LIBRARY_PATH");
    const std::string path = now ? now : "";
    if (path == folder || path.starts_with(folder + ":")) return;
    setenv("LD_LIBRARY_PATH", (path.empty() ? folder : folder + ":" + path).c_str(), 1);
    execv("/proc/self/exe", argv);
    pumice::fail("the benchmark cannot be started again with the peers in ", folder);
}

int run(int argc, char** argv) {
    const Options options = parse(argc, argv);
    take_the_peers_of_the_target(argv);
    if (options.help) return std::fputs(usage, stdout), 0;
    const std::vector<Case> cases = chosen_cases(options.filter);
    if (options.list && options.corpus) return corpus::list(options.filter), 0;
    if (options.list) {
        cpu::list(options.filter);
        gradients::list(options.filter);
        for (const Case& c : cases) std::puts(c.name.c_str());
        return 0;
    }
    if (options.round >= 0) return run_round(options, cases);
    const OwnCache cache;
    const char* named = std::getenv("PUMICE_DEVICE");
    const std::string wanted = named ? named : "";
    if (!options.cpu) warn_of_a_busy_machine();

    nlohmann::json results = nlohmann::json::array();
    int wrong = 0, misses = 0;
    if (options.rules) {
        register_rules(options.filter, options.quick, PUMICE_SOURCE_FOLDER "/docs/optimisations.md");
        return 0;
    }
    if (options.ship) {
        misses += ship::run(options.filter, options.quick, results);
        write(options.out, results.dump(2) + "\n");
        return options.strict && misses ? 2 : 0;
    }
    if (options.corpus) {
        misses += corpus::run(wanted, options.filter, options.quick, options.cpu, results);
        if (results.empty()) pumice::fail("no kernel's name contains \"", options.filter, "\": --list prints them");
        if (!options.cpu) write(options.out, results.dump(2) + "\n");  // processor times are no figures to keep
        if (!options.cpu && !options.out.empty())
            write(std::filesystem::path(options.out).replace_extension(".svg"), cpu::plot(results));
        return options.strict && misses ? 2 : 0;
    }
    if (options.gradients) {
        misses += gradients::run(wanted.empty() ? "cpu" : wanted, options.filter, options.quick, options.cpu, results);
        write(options.out, results.dump(2) + "\n");
        return options.strict && misses ? 2 : 0;
    }
    if (wanted.empty() || wanted == "cpu") misses += cpu::run({options.filter, options.quick}, results);
    if (wanted != "cpu" && !cases.empty()) {
        const auto [more_wrong, more_misses] = run_vulkan(options, cases, results);
        wrong += more_wrong, misses += more_misses;
    }
    if (results.empty()) pumice::fail("no case's name contains \"", options.filter, "\": --list prints them");
    write(options.out, results.dump(2) + "\n");
    if (!options.out.empty()) write(std::filesystem::path(options.out).replace_extension(".svg"), cpu::plot(results));
    return wrong ? 1 : options.strict && misses ? 2 : 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
    try {
        return bench::run(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "bench: " << e.what() << "\n";
        return 1;
    }
}
