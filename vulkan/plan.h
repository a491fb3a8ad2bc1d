// The device plan: how a physical device will be used, as a pure function of its snapshot, tested without a driver.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "codegen/glsl/codegen.h"
#include "core/host/backend.h"
#include "runtime/vulkan_rules/device_facts.h"
#include "vulkan/snapshot.h"

namespace pumice::vulkan {

struct Switches : pumice_rt::vulkan::SharedSwitches {
    bool addresses = false;  ///< PUMICE_VULKAN_ADDRESSES=1: reach every array through its device address
    bool wide = false;       ///< PUMICE_VULKAN_WIDE=1: offsets into arrays in 64 bits, as arrays of 2^31 elements need them
    bool trace = false;      ///< of trace::on(): calibrated time stamps, where the driver has them
    static Switches from_environment();
};

/// The rules by which commands are collected in batches. Each batch is one submission.
struct Batching {
    bool when_idle = true;  ///< an idle device is given commands at once, but for `interval`
    bool by_thread = true;  ///< a thread submits an open batch about a millisecond after the last command
    bool spins = true;      ///< a wait begins by asking again and again, which notices the end sooner than a sleeping thread
    /// Shortest time between two submissions that nobody waits for.
    std::chrono::microseconds interval{50};
    int most_commands = 256;     ///< largest number of commands in a batch
    size_t most_in_flight = 64;  ///< largest number of batches; a host that runs further ahead waits, which bounds its memory
};

struct DevicePlan {
    std::string unusable;                 ///< the reason why the device cannot be used, as the end of a sentence; "" if it can
    std::vector<const char*> extensions;  ///< to enable
    uint32_t queue_family = 0;
    codegen::Options options;  ///< of all kernels; what depends on a launch's arrays is not in it

    // features to enable
    bool device_addresses = false, scalar_block_layout = false;
    bool int8 = false, int16 = false, int64 = false, float16 = false, float64 = false;
    bool extended_formats = false;   ///< storage images of formats beyond those of every device
    bool reads_any_format = false;   ///< shaders read storage images whose format they do not name
    bool writes_any_format = false;  ///< shaders write such images
    bool non_semantic_info = false;  ///< shaders may carry debug information (PUMICE_DEBUG=source)
    bool locks = true;               ///< missing 64-bit atomics may be emulated by a table of locks
    int64_t most_iterations = 0;     ///< of all loops of a work-item, after which the driver ends them silently; 0: no limit
    bool half_infinities = true;     ///< storage images of half-precision floats keep infinities
    int required_subgroup_size = 0;  ///< of pipelines that use subgroups; 0: none can be required
    bool full_subgroups = false;     ///< a pipeline may ask for subgroups without idle lanes

    double most_seconds = 0;           ///< longest submission, on devices with a watchdog; 0: no limit
    bool pipelines_at_origin = false;  ///< ranges that begin at 0 have a pipeline of their own, without the addition of a start
    bool row_groups = false;           ///< the default groups of a range are long rows, not tiles
    Batching batching;

    uint32_t time_stamp_bits = 0;  ///< valid bits of the queue's time stamps; 0: none

    bool push_descriptors = false;  ///< else descriptor sets
    bool all_by_address = false;    ///< every array through its address
    uint32_t max_bindings = 0;      ///< storage buffers of one kernel; further arrays go by address
    uint32_t max_descriptors = 0;   ///< storage buffers and images of one kernel

    using ArrayMemory = pumice_rt::vulkan::ArrayMemory;
    std::vector<ArrayMemory> arrays;  ///< the best first; the others are used when it is full
    bool always_staged = false;       ///< arrays are never mapped
    uint32_t upload_memory = 0;       ///< memory types of the staging memory
    uint32_t download_memory = 0;
    int64_t alignment = 256;      ///< of allocations' offsets and sizes; a power of two
    int64_t max_block_bytes = 0;  ///< of one allocation from the driver
    Limits limits;

    /// True if kernels may use the type, in hardware or emulated (64-bit integers by pairs of 32-bit ones).
    bool supports(Feature feature) const;
};

/// The memory types among these bits for images, the best first: device-local ones, then the others.
std::vector<uint32_t> image_memory_types(const Snapshot& snapshot, uint32_t bits);

DevicePlan make_plan(const Snapshot& snapshot, const Switches& switches);

/// Plans the use of a queue family: sets everything that depends on it. An application's queue may be of another family than the
/// one that make_plan() chooses.
void plan_queue(const Snapshot& snapshot, const Switches& switches, uint32_t family, DevicePlan& plan);

/// Plans the memory of arrays and staging again: only once the device is open is it known which memory types buffers may have.
void plan_memory(const Snapshot& snapshot, DevicePlan& plan);

}  // namespace pumice::vulkan
