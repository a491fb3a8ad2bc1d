#include "bench/corpus/run_corpus.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "bench/corpus/corpus.h"
#include "bench/corpus/first_touch.h"
#include "bench/timing.h"
#include "core/support/debug.h"

namespace bench::corpus {
namespace {

template <class T> std::vector<T> chosen(std::vector<T> all, const std::string& filter) {
    std::erase_if(all, [&](const T& k) { return k.name.find(filter) == std::string::npos; });
    return all;
}

/// Compiles a small kernel, so that no kernel of the corpus pays for the start of the compiler and the device's threads.
void warm_up(const pumice::Device& d) {
    using namespace pumice;
    const auto small = kernel("warm_up", [](Out<float> y) { y[global_index()] = 1.0f; });
    Array<float> y = d.zeros<float>(1000);
    small(ndrange(1000), y).wait();
}

class Runner {
public:
    Runner(const pumice::Device& device, bool held, bool quick, bool processor_time, nlohmann::json& results)
        : device(device),
          held(held),
          budget_ms(quick ? 150 : 1200),
          clock(processor_time ? processor_ms : now_ms),
          results(results) {}

    int all(const std::string& filter) {
        warm_up(device);
        std::printf("%s\n%-26s %10s %10s %8s %10s\n", device.name().c_str(), "", "ours ms", "OpenMP ms", "ratio", "first ms");
        for (const Kernel& k : chosen(kernels(), filter)) guarded(k.name, [&] { kernel(k); });
        if (count > 1) {
            const double mean = std::exp(logs / count);
            const int late = count - in_time;
            const bool low = held && mean < targets.mean, slow = held && late * 10 > count;
            std::printf("%-26s %29.2f %s\n", "geometric mean", mean, low ? "MISS" : "");
            std::printf("%-26s %29d of %d %s\n", "first use in 60 ms", in_time, count, slow ? "MISS" : "");
            missed += low + slow;
        }
        const std::vector<Gradient> derived = chosen(gradients(), filter);
        if (!derived.empty())
            std::printf("%-26s %10s %10s %8s %10s %8s\n", "gradients", "ours ms", "by hand", "ratio", "primal ms", "ratio");
        for (const Gradient& g : derived) guarded(g.name, [&] { gradient(g); });
        return missed;
    }

private:
    template <class F> void guarded(const std::string& name, const F& act) {
        try {
            act();
        } catch (const std::exception& e) {
            ++missed;
            std::printf("%-26s FAILED: %s\n", name.c_str(), e.what());
        }
        std::fflush(stdout);
    }
    void require_same(const std::string& name, const std::vector<Values>& ours, const std::vector<Values>& theirs,
                      double tolerance) {
        const std::string found = difference(ours, theirs, tolerance);
        if (found.empty()) return;
        ++missed;
        std::printf("%-26s WRONG: %s\n", name.c_str(), found.c_str());
    }

    void kernel(const Kernel& k) {
        const Side ours = k.ours(device, Size::benchmark), peer = k.openmp(Size::benchmark);
        device.synchronize();  // with the arrays
        const double first = milliseconds_of(ours.once);
        const std::vector<double> ms = measure_in_blocks({ours.once, peer.once}, budget_ms, {}, clock);
        require_same(k.name, ours.results(), peer.results(), k.tolerance);
        const double ratio = ms[1] / ms[0], first_use = std::max(0.0, first - ms[0]);
        const bool miss = held && ratio < targets.kernel;
        ++count, logs += std::log(ratio), in_time += first_use <= targets.first_use_ms;
        missed += miss;
        std::printf("%-26s %10.3f %10.3f %8.2f %10.1f %s\n", k.name.c_str(), ms[0], ms[1], ratio, first_use, miss ? "MISS" : "");
        results.push_back({{"case", k.name},
                           {"device", device.name()},
                           {"ours_ms", ms[0]},
                           {"peers", {{"OpenMP", ms[1]}}},
                           {"first_use_ms", first_use}});
    }

    void gradient(const Gradient& g) {
        const Gradient::Sides sides = g.sides(device, Size::benchmark);
        sides.seed();
        const double first = milliseconds_of(sides.reverse);
        const std::vector<Values> ours = sides.results();
        sides.seed();
        sides.by_hand();
        require_same(g.name, ours, sides.results(), g.tolerance);
        const std::vector<double> ms = measure_in_blocks(
            {sides.primal, sides.reverse, sides.by_hand}, budget_ms,
            [&] {
                sides.seed();
                device.synchronize();
            },
            clock);
        const double over = ms[1] / ms[2];
        const bool miss = held && over > g.target;
        missed += miss;
        std::printf("%-26s %10.3f %10.3f %8.2f %10.3f %8.2f %s\n", g.name.c_str(), ms[1], ms[2], over, ms[0], ms[1] / ms[0],
                    miss ? "MISS" : "");
        results.push_back({{"case", g.name + " gradient"},
                           {"device", device.name()},
                           {"ours_ms", ms[1]},
                           {"peers", {{"by hand", ms[2]}, {"primal", ms[0]}}},
                           {"first_use_ms", std::max(0.0, first - ms[1])}});
    }

    const pumice::Device device;
    const bool held;  ///< to the targets
    const double budget_ms;
    double (*const clock)();
    const Targets targets;
    nlohmann::json& results;
    int missed = 0, count = 0, in_time = 0;
    double logs = 0;
};

}  // namespace

int run(const std::string& wanted, const std::string& filter, bool quick, bool processor_time, nlohmann::json& results) {
    std::printf("Ratios of kernels are OpenMP's time over ours, those of gradients ours over the peer's.\n");
    if (processor_time) {
        std::printf("One thread a side, by processor time.\n");
        openmp::use_one_thread();
        setenv("PUMICE_CPU_THREADS", "1", 1);
        pumice::debug::reload();
    }
    const auto on = [&](const pumice::Device& device, bool held) {
        return Runner(device, held, quick, processor_time, results).all(filter);
    };
    if (!wanted.empty()) return on(pumice::Device::open(wanted), wanted == "cpu");
    const int missed = on(pumice::Device::open("cpu"), true);
    const std::optional<pumice::Device> software = processor_time ? std::nullopt : lavapipe();
    if (software) on(*software, false);
    return missed;
}

void list(const std::string& filter) {
    for (const Kernel& k : chosen(kernels(), filter)) std::printf("corpus: %s\n", k.name.c_str());
    for (const Gradient& g : chosen(gradients(), filter)) std::printf("corpus: %s gradient\n", g.name.c_str());
}

}  // namespace bench::corpus
