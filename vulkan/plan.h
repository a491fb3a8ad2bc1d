// How a physical device will be used: a pure function of its snapshot, so that it is tested with no driver.
#pragma once
#include <string>
#include <vector>

#include "core/backend.h"
#include "vulkan/snapshot.h"

namespace pumice::vulkan {

/// What the environment asks for. The PUMICE_VULKAN_ ones force, on any driver, paths that it would not take.
struct Switches {
    bool validate = false;         ///< PUMICE_VALIDATE=1
    bool pairs = false;            ///< PUMICE_VULKAN_PAIRS=1: 64-bit integers by pairs of 32-bit ones
    bool bare = false;             ///< PUMICE_VULKAN_BARE=1: no subgroup operations, no float atomics, no bytes in buffers
    bool staging = false;          ///< PUMICE_VULKAN_STAGING=1: never map arrays, copy through staging memory
    bool descriptor_sets = false;  ///< PUMICE_VULKAN_SETS=1: no push descriptors
    bool addresses = false;        ///< PUMICE_VULKAN_ADDRESSES=1: reach every array through its device address
    bool divides = false;          ///< PUMICE_VULKAN_DIVIDE=1: do not trust the driver's division and square root under strict maths
    bool loops = false;            ///< PUMICE_VULKAN_LOOPS=1: ask whether the driver has ended loops
    static Switches from_environment();
};

struct Plan {
    std::string unusable;                 ///< why the device cannot be used, as the end of a sentence; "" when it can
    std::vector<const char*> extensions;  ///< to enable
    uint32_t queue_family = 0;

    // features to enable
    bool device_addresses = false, scalar_block_layout = false;
    bool int8 = false, int16 = false, int64 = false, float16 = false, float64 = false;
    bool int64_atomics = false;           ///< in buffers and in local memory
    bool memory_barriers = true;          ///< they do what they should
    int64_t most_iterations = 0;          ///< of all loops of a work-item: more are ended silently; 0: no such limit
    bool idle_lanes = false;              ///< lanes without an item of the group keep loops going
    bool ordered_as_unsigned = false;     ///< signed 64-bit comparisons of widened integers are wrong
    bool unsigned_rounds_twice = false;   ///< u32 to f32 rounds to 31 bits' floats first
    bool unrolled_imprecise = false;      ///< NoContraction does not hold in loops with the hint Unroll
    bool exact_conversions = false;       ///< conversions that round are kept only where they are decorated
    bool rounded_division = false;        ///< see codegen::Options
    bool linear_subgroups = false;        ///< see codegen::Options
    uint32_t subgroups = 0;               ///< what they can do: bits of codegen::Subgroups
    bool float_atomics = false;           ///< f32 add in buffers
    bool local_float_atomics = false;     ///< f32 add in local memory

    bool push_descriptors = false;        ///< else descriptor sets
    bool all_by_address = false;          ///< every array through its address
    uint32_t max_bindings = 0;            ///< storage buffers of one kernel; further arrays go by address

    uint32_t array_memory = 0;            ///< memory type of arrays
    bool always_staged = false;           ///< arrays are never mapped
    bool mapped = false;                  ///< arrays are read and written by the host in place
    uint32_t upload_memory = 0;           ///< memory types of the staging memory
    uint32_t download_memory = 0;
    int64_t alignment = 256;              ///< of allocations, and what their sizes are rounded up to; a power of two
    int64_t max_block_bytes = 0;          ///< of one allocation from the driver
    Limits limits;

    /// Whether kernels may use the type: in hardware, or for 64-bit integers by pairs of 32-bit ones.
    bool supports(Feature feature) const;
};

Plan make_plan(const Snapshot& snapshot, const Switches& switches);

/// The memory of arrays and staging, again: once the device is open it is known which types buffers may have.
void plan_memory(const Snapshot& snapshot, Plan& plan);

}  // namespace pumice::vulkan
