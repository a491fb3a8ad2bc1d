// What a case is, and how two ways of doing the same work are compared on a machine that is busy with other things too.
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

    /// How many there are of compare_afresh(): every order of opening and of use equally often.
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

/// Ours and the peer by turns (which goes first, alternates) until the time is spent, at least 8 pairs. `times` is found such
/// that a measurement takes 2 ms or longer, unless it is given.
Measurement compare(const Bench& bench, const Side& ours, const Side& peer, std::optional<int> times = {});
/// The same of sides that say themselves how long one time took, in milliseconds.
Measurement compare_timed(const Bench& bench, const std::function<double()>& ours, const std::function<double()>& peer);
/// Milliseconds that the calling thread has computed.
double thread_ms();
/// The median of several comparisons of the case with this name, each in a process of its own, that runs `once` there. Whether a
/// software driver's threads share a core with those that wake them doubles what a launch costs, and stays as it was when they were
/// started, with the instance and the device: within one process more measurements do not help. What decides it is, among others,
/// which side was opened first and which was used first: plain Vulkan beside itself gives ratios up to 1.28 where one of the two
/// always is. So both take turns.
Measurement compare_afresh(const Bench& bench, const std::string& name, const std::function<Measurement(Bench&)>& once);
/// What the process of a round says to the one that started it.
void print_round(const Measurement& m);
/// One way alone.
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
std::vector<Case> launch_cases();
std::vector<Case> first_use_cases();

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
