// Gradients beside their primals and beside adjoints written by hand: what is measured, and what is said of it.
#include "bench/cases_autodiff.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/gradient_cases.h"
#include "bench/timing.h"

namespace bench::gradients {
namespace {

using namespace pumice;

using Make = Case (*)(const Device&);
constexpr std::pair<const char*, Make> makes[] = {{"gradient: sin*exp+x^3", elementwise},
                                                  {"gradient: diffusion", diffusion},
                                                  {"gradient: n-body", nbody},
                                                  {"gradient: RK4", lotka_volterra},
                                                  {"gradient: tiled matmul", matrices},
                                                  {"gradient: logsumexp", rows},
                                                  {"gradient: Gaussian mixture", gmm},
                                                  {"gradient: linear texture", linear_texels},
                                                  {"gradient: cubic texture", cubic_texels},
                                                  {"gradient: texture and positions", texture_positions},
                                                  {"gradient: magnified texture", magnified_texels},
                                                  {"gradient: large texture", large_texels}};

/// Times the sides in turns, each of the others after the first one, so that all find the caches alike. Returns the median of
/// each: wall time, or the processor time of all threads.
std::vector<double> measure(const std::vector<std::function<void()>>& sides, double budget_ms, bool cpu) {
    std::vector<std::vector<double>> times(sides.size());
    double spent = 0;
    for (int round = 0; round < 5 || (spent < budget_ms && round < 100); ++round)
        for (size_t s = 1; s < sides.size(); ++s)
            for (const size_t one : {size_t(0), s})
                times[one].push_back(milliseconds_of(sides[one], cpu ? processor_ms : now_ms)), spent += times[one].back();
    std::vector<double> medians;
    for (const auto& t : times) medians.push_back(median(t));
    return medians;
}

/// The largest difference, relative to the largest value.
double apart(const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0, size = 1e-30;
    for (size_t i = 0; i < a.size(); ++i)
        most = std::max(most, double(std::abs(a[i] - b[i]))), size = std::max(size, double(std::abs(b[i])));
    return most / size;
}

}  // namespace

int run(const std::string& name, const std::string& filter, bool quick, bool cpu, nlohmann::json& results) {
    const Device device = Device::open(name);
    const bool software = name != "cpu";  // whose targets are 1.5 times as large
    int failures = 0;
    for (const auto& [label, make] : makes) {
        if (std::string(label).find(filter) == std::string::npos) continue;
        const Case c = make(device);
        c.primal();
        c.seed();
        c.gradient();
        const std::vector<float> ours = c.result();
        double error = 0;
        if (c.by_hand) c.seed(), c.by_hand(), error = apart(ours, c.result());
        const bool wrong = !(error < 1e-3);
        std::vector<std::function<void()>> sides{c.primal, c.gradient};
        if (c.by_hand) sides.push_back(c.by_hand);
        c.seed();
        const std::vector<double> ms = measure(sides, quick ? 300 : 2500, cpu);
        const double ratio = ms[1] / ms[0], target = c.target * (software ? 1.5 : 1), over = c.by_hand ? ms[1] / ms[2] : 0;
        const bool miss = ratio > target || over > 1.15;
        failures += wrong || miss;
        std::printf("%-34s primal %8.3f ms  gradient %8.3f ms  ratio %6.2f (target %.2f)", c.name.c_str(), ms[0], ms[1], ratio,
                    target);
        if (c.by_hand) std::printf("  by hand %8.3f ms, ratio %5.2f; ours over it %5.2f", ms[2], ms[2] / ms[0], over);
        std::printf("%s\n", miss ? "  MISS" : "");
        if (wrong) std::printf("%-34s WRONG: ours and the adjoint by hand are %g apart\n", c.name.c_str(), error);
        std::fflush(stdout);
        nlohmann::json peers{{"primal", ms[0]}};
        if (c.by_hand) peers["by hand"] = ms[2];
        results.push_back({{"case", c.name},
                           {"device", device.name()},
                           {"ours_ms", ms[1]},
                           {"peers", peers},
                           {"limit_share", nullptr},
                           {"ratio", ratio},
                           {"target_ratio", target},
                           {"reached", !miss}});
    }
    return failures;
}

void list(const std::string& filter) {
    for (const auto& [label, make] : makes)
        if (std::string(label).find(filter) != std::string::npos) std::puts(label);
}

}  // namespace bench::gradients
