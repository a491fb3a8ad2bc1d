#include "bench/cpu/run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "bench/cpu/by_halide.h"
#include "bench/cpu/opencl.h"
#include "bench/cpu/openmp.h"
#include "bench/timing.h"
#include "core/support/debug.h"
#include "cpu/runtime/cpu.h"

namespace bench::cpu {
namespace {

/// The machine's limits: operations a millisecond, and loops that move as many bytes as it can. Bytes are STREAM's, counted as
/// STREAM counts them: what the loop names.
struct Machine {
    static constexpr int n = 24'000'000;
    HostArray a{size_t(n)}, b{size_t(n)}, c{size_t(n)};
    decltype(&openmp::triad) triad = by_hand::triad;  ///< the faster of two loops, which the compiler and a hand write
    double bytes = 0, flops = 0;                      ///< bytes: of the triad's fastest time
    Machine() {
        double best[2] = {1e9, 1e9};
        decltype(triad) loops[2] = {by_hand::triad, openmp::triad};
        for (int k = 0; k < 24; ++k) best[k % 2] = std::min(best[k % 2], milliseconds_of([&] { loops[k % 2](a, b, c, 2, n); }));
        if (best[1] < best[0]) triad = openmp::triad;
        bytes = 12.0 * n / std::min(best[0], best[1]);
        for (int k = 0; k < 3; ++k) flops = std::max(flops, by_hand::peak_flops() / 1e3);
    }
    Side triad_side() const {
        return {"", [this] { triad(a, b, c, 2, n); }, nullptr};
    }
    Side reading_side() const {
        return {"", [this] { by_hand::read(b, n); }, nullptr};
    }
};

/// Median milliseconds of sides that take turns in blocks; the first is ours.
std::vector<double> measure(const std::vector<Side>& sides, double budget_ms) {
    std::vector<std::function<void()>> turns;
    for (const Side& side : sides) turns.push_back(side.once);
    return measure_in_blocks(turns, budget_ms);
}

/// "" where the results agree; a negative tolerance compares the sums of absolute values.
std::string difference(const std::vector<float>& ours, const std::vector<float>& theirs, double tolerance) {
    if (ours.size() != theirs.size()) return pumice::text(ours.size(), " and ", theirs.size(), " numbers");
    double apart = 0, size = 0;
    for (size_t i = 0; i < ours.size(); ++i) {
        const double d = std::abs(double(ours[i]) - double(theirs[i])), scale = std::max(1.0, double(std::abs(theirs[i])));
        if (tolerance >= 0 && !(d <= tolerance * scale)) return pumice::text("element ", i, " is ", ours[i], " and ", theirs[i]);
        apart += d, size += scale;
    }
    if (tolerance < 0 && !(apart <= -tolerance * size)) return pumice::text("they are ", apart / size, " apart on the mean");
    return "";
}

std::vector<Case> chosen(const std::string& filter) {
    std::vector<Case> all;
    for (const auto& cases : {stream_cases, group_cases, compute_cases, flow_cases})
        for (Case& c : cases())
            if (c.name.find(filter) != std::string::npos) all.push_back(std::move(c));
    return all;
}

/// The device with another number of threads.
pumice::Device with_threads(int threads) {
    const pumice::debug::Override own("PUMICE_CPU_THREADS", std::to_string(threads));
    return pumice::Device(pumice::cpu::open());
}

struct Totals {
    std::map<std::string, std::pair<double, int>> logs;  ///< by peer: sum of logarithms of its ratios, and their number
    void add(const std::string& peer, double ratio) {
        auto& [sum, count] = logs[peer];
        sum += std::log(ratio), ++count;
    }
};

class Runner {
public:
    Runner(const Options& options, nlohmann::json& results)
        : options(options), results(results), device(pumice::cpu::open()), one_thread(with_threads(1)), software(lavapipe()) {}

    int all() {
        std::printf("%s; its limits in this run: %.1f GB/s (triad), %.0f GFLOP/s (multiply and add)\n", device.name().c_str(),
                    machine.bytes / 1e6, machine.flops / 1e6);
        if (!opencl_unavailable().empty()) std::printf("without PoCL: %s\n", opencl_unavailable().c_str());
        if (!halide()) std::printf("without Halide (Debian's package libhalide14-0-dev)\n");
        if (!software) std::printf("without lavapipe\n");
        std::printf("Ratios are the peer's time over ours. Targets: 0.95 of the best of OpenMP and PoCL.\n");
        for (const Case& c : chosen(options.filter)) {
            try {
                kernel(c);
            } catch (const std::exception& e) {
                ++wrong;
                std::printf("%-32s FAILED: %s\n", c.name.c_str(), e.what());
            }
            std::fflush(stdout);
        }
        for (const auto& [peer, total] : totals.logs)
            if (total.second > 1)
                std::printf("geometric mean against %-16s %6.2f  (%d cases)\n", peer.c_str(),
                            std::exp(total.first / total.second), total.second);
        return missed + wrong;
    }

private:
    void kernel(const Case& c) {
        std::vector<Side> sides{c.ours(device)};
        for (const auto& make : c.peers) {
            try {
                if (Side side = make(); side.once) sides.push_back(std::move(side));
            } catch (const pumice::Error& e) {
                if (opencl_unavailable().empty()) throw;
            }
        }
        const size_t fast = sides.size();
        if (software) {
            sides.push_back(c.ours(*software));
            sides.back().name = "lavapipe";
        }
        // Those that are slow by a factor are measured for scale, and less often.
        const std::vector<Side> close(sides.begin(), sides.begin() + long(fast));
        // After one run each: measured sides that go on from their own last state do not run as often as each other.
        for (const Side& side : close) side.once();
        const std::vector<float> expected = sides[0].result();
        for (size_t s = 1; s < fast; ++s) check(c, sides[s], expected);
        // Others may share the machine, whose limit then changes by the minute: it is measured by turns with what it limits.
        std::vector<Side> limited = close;
        if (c.bound != Bound::compute) limited.push_back(machine.triad_side());
        if (c.bound == Bound::reading) limited.push_back(machine.reading_side());
        std::vector<double> ms = measure(limited, options.quick ? 300 : 2500);
        Limits limits{machine.flops, machine.flops};
        if (c.bound != Bound::compute) limits.nearest = limits.triad = 12.0 * Machine::n / ms[fast];
        if (c.bound == Bound::reading) limits.nearest = 4.0 * Machine::n / ms[fast + 1];
        ms.resize(fast);
        if (software) slow(c, sides[fast], expected, ms);
        print(c, sides, ms, limits);
    }

    /// Bytes or operations a millisecond, of the loop that does most like the case and of STREAM's triad.
    struct Limits {
        double nearest, triad;
    };

    void slow(const Case& c, const Side& side, const std::vector<float>& expected, std::vector<double>& ms) {
        side.once();
        check(c, side, expected);
        std::vector<double> times;
        for (int k = 0; k < 3; ++k) times.push_back(milliseconds_of(side.once));
        ms.push_back(median(times));
    }

    void check(const Case& c, const Side& side, const std::vector<float>& expected) {
        const std::string difference_found = difference(expected, side.result(), c.tolerance);
        if (!difference_found.empty()) {
            ++wrong;
            std::printf("%-32s WRONG: ours and %s's differ: %s\n", c.name.c_str(), side.name.c_str(), difference_found.c_str());
        }
    }

    void print(const Case& c, const std::vector<Side>& sides, const std::vector<double>& ms, const Limits& limits) {
        const double speed = c.work / ms[0], share = speed / limits.nearest;
        const char* const unit = c.bound == Bound::compute ? "GFLOP/s" : "GB/s";
        const char* const what = c.bound == Bound::reading ? "of reading" : c.bound == Bound::memory ? "of triad" : "of peak";
        nlohmann::json peers = nlohmann::json::object();
        double best = 0;  // of OpenMP and PoCL
        std::string ratios;
        for (size_t s = 1; s < sides.size(); ++s) {
            const double ratio = ms[s] / ms[0];
            peers[sides[s].name] = ms[s];
            totals.add(sides[s].name, ratio);
            if (sides[s].name == "OpenMP" || sides[s].name == "PoCL") best = best == 0 ? ratio : std::min(best, ratio);
            char part[64];
            std::snprintf(part, sizeof part, "  %s %.2f", sides[s].name.c_str(), ratio);
            ratios += part;
        }
        if (best > 0) totals.add("the best of OpenMP and PoCL", best);
        const double two = scaling(c);
        const bool miss = best > 0 && best < 0.95;
        missed += miss;
        std::printf("%-32s %9.3f ms %7.1f %-7s %4.0f %% %-10s  x%.2f by threads %s%s\n", c.name.c_str(), ms[0], speed / 1e6, unit,
                    100 * share, what, two, ratios.c_str(), miss ? "  MISS" : "");
        results.push_back({{"case", c.name},
                           {"device", device.name()},
                           {"ours_ms", ms[0]},
                           {"peers", peers},
                           {"limit_share", share},
                           {"speed", {{"value", speed / 1e6}, {"unit", unit}}},
                           {"thread_scaling", two}});
        if (c.bound == Bound::reading) results.back()["triad_share"] = speed / limits.triad;
    }

    /// The speed-up of all threads over one.
    double scaling(const Case& c) {
        const std::vector<double> ms = measure({c.ours(device), c.ours(one_thread)}, options.quick ? 100 : 600);
        return ms[1] / ms[0];
    }

    const Options& options;
    nlohmann::json& results;
    const Machine machine;
    const pumice::Device device, one_thread;
    const std::optional<pumice::Device> software;
    Totals totals;
    int missed = 0, wrong = 0;
};

}  // namespace

void list(const std::string& filter) {
    for (const Case& c : chosen(filter)) std::printf("cpu: %s\n", c.name.c_str());
}

int run(const Options& options, nlohmann::json& results) {
    if (const std::string reason = pumice::cpu::unavailable_reason(); !reason.empty()) {
        std::printf("The cases of the device cpu are left out: %s\n", reason.c_str());
        return 0;
    }
    const int missed = Runner(options, results).all();
    return missed + run_small(options, results);
}

}  // namespace bench::cpu
