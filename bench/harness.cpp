#include "bench/harness.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "bench/timing.h"

namespace bench {
namespace {

double (*clock_of(const Bench& bench))() { return bench.cpu_time ? processor_ms : now_ms; }

double milliseconds_of(const Bench& bench, const std::function<void()>& act) {
    return bench::milliseconds_of(act, clock_of(bench));
}

/// The value below which the fraction of them lies.
double quantile(std::vector<double> values, double fraction) {
    const size_t at = std::min(values.size() - 1, size_t(fraction * double(values.size())));
    std::nth_element(values.begin(), values.begin() + long(at), values.end());
    return values[at];
}

/// Both sides' medians, and the middle half of the ratios.
void summarise(Measurement& m, const std::vector<double>& ours, const std::vector<double>& peer,
               const std::vector<double>& ratios) {
    m.pairs = int(ratios.size());
    m.ours_ms = quantile(ours, 0.5);
    m.peer_ms = quantile(peer, 0.5);
    m.ratio = quantile(ratios, 0.5);
    m.ratio_low = quantile(ratios, 0.25);
    m.ratio_high = quantile(ratios, 0.75);
}

/// Doubles the number of times until both sides take long enough to be timed; warms both up on the way.
int times_worth_timing(const Bench& bench, const Side& ours, const Side& peer) {
    constexpr double enough_ms = 2;
    ours(1), peer(1);
    for (int times = 1;; times *= 2) {
        const double a = milliseconds_of(bench, [&] { ours(times); }), b = milliseconds_of(bench, [&] { peer(times); });
        if (std::min(a, b) >= enough_ms || times >= 1 << 16) return times;
    }
}

}  // namespace

Measurement compare(const Bench& bench, const Side& ours, const Side& peer, std::optional<int> given) {
    Measurement m;
    m.times = given ? *given : times_worth_timing(bench, ours, peer);
    if (bench.peer_begins()) peer(m.times);
    ours(m.times);
    if (!bench.peer_begins()) peer(m.times);
    std::vector<double> a, b, ratios;
    double spent = 0;
    for (int pair = 0; pair < 8 || (spent < bench.budget() * 1e3 && pair < 100000); ++pair) {
        double mine = 0, theirs = 0;
        const bool first = (pair % 2 == 0) != bench.peer_begins();
        if (first) mine = milliseconds_of(bench, [&] { ours(m.times); });
        theirs = milliseconds_of(bench, [&] { peer(m.times); });
        if (!first) mine = milliseconds_of(bench, [&] { ours(m.times); });
        spent += mine + theirs;
        a.push_back(mine / m.times);
        b.push_back(theirs / m.times);
        ratios.push_back(mine / theirs);
    }
    summarise(m, a, b, ratios);
    return m;
}

Measurement compare_timed(const Bench& bench, const std::function<double()>& ours, const std::function<double()>& peer) {
    for (int warm = 0; warm < 10; ++warm) ours(), peer();
    std::vector<double> a, b, ratios;
    const double start = clock_of(bench)();
    for (int pair = 0; pair < 100 || clock_of(bench)() - start < bench.budget() * 1e3; ++pair) {
        if (pair % 2) b.push_back(peer());
        a.push_back(ours());
        if (pair % 2 == 0) b.push_back(peer());
        ratios.push_back(a.back() / b.back());
    }
    Measurement m;
    summarise(m, a, b, ratios);
    return m;
}

Measurement compare_afresh(const Bench& bench, const std::string& name, const std::function<Measurement(Bench&)>& once) {
    if (bench.round >= 0) {
        Bench own = bench;
        return once(own);
    }
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    std::vector<double> a, b, ratios;
    for (int round = 0; round < bench.rounds(); ++round) {
        const std::string command = pumice::text("'", program, "' --filter '", name, "' --round ", round, " --device ",
                                                 bench.index, bench.quick ? " --quick" : "", bench.cpu_time ? " --cpu" : "");
        FILE* const said = popen(command.c_str(), "r");
        if (!said) pumice::fail("a round of the case cannot be started: ", command);
        double ours = 0, peer = 0, ratio = 0;
        const int numbers = std::fscanf(said, "%lf %lf %lf", &ours, &peer, &ratio);
        if (pclose(said) != 0 || numbers != 3) pumice::fail("a round of the case fails: ", command);
        a.push_back(ours);
        b.push_back(peer);
        ratios.push_back(ratio);
    }
    Measurement m;
    summarise(m, a, b, ratios);
    return m;
}

void print_round(const Measurement& m) { std::printf("%.9g %.9g %.9g\n", m.ours_ms, m.peer_ms, m.ratio); }

Measurement measure(const Bench& bench, const std::function<void()>& act) {
    std::vector<double> all;
    double spent = 0;
    for (int i = 0; i < 9 || (spent < bench.budget() * 500 && i < 1000); ++i) {
        all.push_back(milliseconds_of(bench, act));
        spent += all.back();
    }
    Measurement m;
    m.pairs = int(all.size());
    m.ours_ms = quantile(all, 0.5);
    return m;
}

Side dispatches(raw::Device& device, raw::Pipeline& pipeline, VkDescriptorSet set, std::vector<uint32_t> push, uint32_t x,
                uint32_t y, uint32_t z) {
    return [&device, &pipeline, set, push = std::move(push), x, y, z](int times) {
        device.begin();
        pipeline.bind();
        for (int t = 0; t < times; ++t) {
            if (t > 0) device.barrier();
            pipeline.dispatch(set, push.data(), x, y, z);
        }
        device.submit_and_wait();
    };
}

std::vector<float> noise(size_t count, uint32_t seed) {
    std::vector<float> values(count);
    uint32_t state = seed * 2654435761u + 1;
    for (float& v : values) {
        state = state * 1664525u + 1013904223u;
        v = float(int32_t(state) >> 8) / float(1 << 23);
    }
    return values;
}

void require_same(const std::vector<float>& ours, const std::vector<float>& peer, double tolerance) {
    if (ours.size() != peer.size()) pumice::fail("the sides give ", ours.size(), " and ", peer.size(), " numbers");
    for (size_t i = 0; i < ours.size(); ++i) {
        const double scale = std::max(1.0, double(std::abs(peer[i])));
        if (!(std::abs(double(ours[i]) - double(peer[i])) <= tolerance * scale))
            pumice::fail("the sides differ at element ", i, ": Pumice gives ", ours[i], ", raw Vulkan ", peer[i]);
    }
}

}  // namespace bench
