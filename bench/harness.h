// Cases of the benchmark, and the comparison of two ways of doing the same work on a machine that is busy with other work, too.
#pragma once
#include <bit>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <pumice/pumice.h>

#include "bench/raw_vulkan.h"

namespace bench {

/// Both sides on one physical device, and how long a case may take.
struct Bench {
    pumice::Device device;
    raw::Device& raw;
    bool quick = false;
    bool cpu_time = false;  ///< of the process and all its threads, instead of wall time: software drivers on a busy machine
    int index = 0;          ///< of the physical device
    int round = -1;         ///< of compare_afresh(), in the round's own process

    /// The number of processes of compare_afresh(): every order of opening and of use equally often.
    int rounds() const { return quick ? 12 : 40; }
    /// In the first pair of a comparison.
    bool peer_begins() const { return round % 4 > 1; }
    /// Seconds that one comparison may take.
    double budget() const { return (quick ? 0.7 : 4.0) / (round < 0 ? 1 : rounds()); }
};

/// Does the work `times` times over and returns when the device has done it.
using Side = std::function<void(int times)>;

/// Milliseconds of one time, and their ratio. Where the machine's speed drifts, neighbours still see the same speed: the ratio is
/// the median over pairs of neighbouring measurements, not the ratio of the medians.
struct Measurement {
    double ours_ms = 0;
    double peer_ms = 0;                    ///< 0: no peer
    double ratio = 0;                      ///< ours / peer
    double ratio_low = 0, ratio_high = 0;  ///< quartiles over the pairs
    int pairs = 0;
    int times = 1;  ///< in one measurement
};

/// Compares ours with the peer in turns, whose order alternates, until the time is spent: at least 8 pairs. `times` is found such
/// that a measurement takes 2 ms or longer, unless it is given.
Measurement compare(const Bench& bench, const Side& ours, const Side& peer, std::optional<int> times = {});
/// Compares two sides that return the milliseconds that one time took.
Measurement compare_timed(const Bench& bench, const std::function<double()>& ours, const std::function<double()>& peer);
/// The median of several comparisons of the case with this name. Each runs `once` in a process of its own. If a software driver's
/// threads share a core with those that wake them, a launch costs twice as much; and that stays so from the start of the threads,
/// with the instance and the device, so more measurements in one process do not help. It depends, among others, on the side that
/// is opened first and the side that is used first: plain Vulkan compared with itself gives ratios up to 1.28 if one of the two
/// always comes first. So both take turns.
Measurement compare_afresh(const Bench& bench, const std::string& name, const std::function<Measurement(Bench&)>& once);
/// Prints the result of a round for the process that started this one.
void print_round(const Measurement& m);
/// Measures one way alone.
Measurement measure(const Bench& bench, const std::function<void()>& act);

enum class Kind {
    kernel,     ///< a ratio; the kernels' geometric mean has a target of its own
    launch,     ///< a ratio
    variant,    ///< a ratio, too: a kernel that shows the cost of one thing
    first_use,  ///< milliseconds
};

struct Case {
    std::string name;
    Kind kind = Kind::kernel;
    double target = 0;  ///< the highest ratio, or milliseconds where the kind is first_use
    double work = 0;    ///< of one time: bytes moved or operations
    std::string unit;   ///< "GB/s", "GFLOP/s", or "" without work
    std::function<Measurement(Bench&)> run;
};

// One a file cases_NAME.cpp. Sizes are for a software driver where the device is one.
std::vector<Case> triad_cases();
std::vector<Case> diffusion_cases();
std::vector<Case> matmul_cases();
std::vector<Case> reduction_cases();
std::vector<Case> group_cases();
std::vector<Case> image_cases();
std::vector<Case> launch_cases();
std::vector<Case> first_use_cases();

/// Our side of a kernel: `times` launches, each of which `launch` makes, and a wait for the last.
template <class Launch> Side launches(const Launch& launch) {
    return [launch](int times) {
        pumice::Event last;
        for (int t = 0; t < times; ++t) last = launch();
        last.wait();
    };
}
/// The peer of a kernel: `times` dispatches with barriers between them, in one submission.
Side dispatches(raw::Device& device, raw::Pipeline& pipeline, VkDescriptorSet set, std::vector<uint32_t> push, uint32_t x,
                uint32_t y = 1, uint32_t z = 1);
/// The bits of push constants.
inline uint32_t word(float value) { return std::bit_cast<uint32_t>(value); }
inline uint32_t word(int value) { return uint32_t(value); }

/// Deterministic numbers in [-1, 1).
std::vector<float> noise(size_t count, uint32_t seed);
/// Throws Error naming the first element where the sides differ by more than `tolerance` relative to the larger of it and 1.
void require_same(const std::vector<float>& ours, const std::vector<float>& peer, double tolerance);

}  // namespace bench
