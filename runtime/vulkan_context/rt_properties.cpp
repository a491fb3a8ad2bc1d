// The plan of a device: a pure function of its properties, after vulkan/plan.cpp of the library, which has more about each
// reason.
#include "runtime/vulkan_context/rt_properties.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/bundle/bundle_format.h"
#include "runtime/device/rt_device.h"

namespace pumice_rt::vulkan {
namespace {

/// The properties that follow from features: operations that kernels may use.
uint64_t abilities(const Facts& f, const Switches& switches) {
    const auto has = [&](uint32_t one) { return (f.features & one) != 0; };
    uint64_t p = 0;
    const bool bytes = has(feature::storage_8bit) && !switches.bare, shorts = has(feature::storage_16bit) && !switches.bare;
    const bool int64 = has(feature::shader_int64) && !switches.pairs;
    if (bytes) p |= property::byte_storage;
    if (bytes && has(feature::shader_int8)) p |= property::int8;
    if (shorts) p |= property::short_storage;
    if (shorts && has(feature::shader_int16)) p |= property::int16;
    if (shorts && has(feature::shader_float16)) p |= property::float16;
    if (int64) p |= property::int64;
    if (has(feature::shader_float64)) p |= property::float64;
    if (int64 && has(feature::buffer_int64_atomics)) p |= property::int64_atomics;
    if (int64 && has(feature::shared_int64_atomics)) p |= property::local_int64_atomics;
    if (has(feature::buffer_float32_atomic_add) && !switches.bare) p |= property::float_atomics;
    if (has(feature::shared_float32_atomic_add) && !switches.bare) p |= property::local_float_atomics;
    if (has(feature::buffer_device_address)) p |= property::device_addresses;
    if (has(feature::scalar_block_layout)) p |= property::scalar_layout;
    if (switches.bare) return p;
    const struct {
        VkSubgroupFeatureFlags operation;
        uint64_t bit;
    } operations[] = {{VK_SUBGROUP_FEATURE_BASIC_BIT, property::subgroup_basic},
                      {VK_SUBGROUP_FEATURE_VOTE_BIT, property::subgroup_vote},
                      {VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, property::subgroup_arithmetic},
                      {VK_SUBGROUP_FEATURE_BALLOT_BIT, property::subgroup_ballot},
                      {VK_SUBGROUP_FEATURE_SHUFFLE_BIT, property::subgroup_shuffle},
                      {VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT, property::subgroup_relative}};
    for (const auto& one : operations)
        if (f.subgroup_operations & one.operation) p |= one.bit;
    if (has(feature::subgroup_extended_types) && int64) p |= property::subgroup_int64;
    return p;
}

/// The properties that say that the driver is correct: all but the defects of known drivers. No test can tell a defect in
/// advance.
uint64_t correctness(const Facts& f, const Switches& switches) {
    const bool lavapipe = f.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE, swiftshader = f.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
    const int mesa = mesa_version(f.driver_info);
    uint64_t p = 0;
    // lavapipe (Mesa 22.3) suspends the group at a memory barrier in divergent control flow, which gives wrong results. Its
    // atomics are sequentially consistent, and so order all memory without a barrier.
    p |= lavapipe ? property::ordered_atomics : property::barriers;
    // Mesa 22.3 and later: LP_MAX_TGSI_LOOP_ITERATIONS ends an item's loops after 65,535 iterations.
    if (!lavapipe && !switches.loops) p |= property::all_iterations;
    // Mesa 22's gallivm keeps a loop running while a lane without an item of the group is in it.
    p |= lavapipe && mesa == 22 ? property::idle_lanes : property::no_idle_lanes;
    // Mesa's NIR folded signed 64-bit comparisons of widened integers: seen in 22.3, correct in 25.0.
    if (mesa == 0 || mesa >= 25) p |= property::signed_order;
    // Mesa's NIR folds inexact pairs of conversions: int(float(i)) in 22.3, float to half to float in 25.0.
    // NVIDIA's (580) folds float to half to float.
    if (mesa == 0 && f.driver_id != VK_DRIVER_ID_NVIDIA_PROPRIETARY) p |= property::conversions;
    // SwiftShader (of Chromium 156) converts the low 31 bits, which rounds, and adds 2^31, which rounds again.
    if (!swiftshader) p |= property::unsigned_to_float;
    // With AVX-512, LLVM up to version 22 miscompiles `c ? (a & M) | (b & ~M) : b` (llvm-project issue 157929).
    if (!lavapipe) p |= property::bit_merges;
    // SwiftShader's loop unrolling copies a body without its decorations.
    if (!swiftshader) p |= property::precise_unrolled;
    // SwiftShader's spirv-opt replaces a phi wrongly in a module that declares a float mode.
    if (!swiftshader) p |= f.float_modes * property::float_specials;
    // These two compute with the processor's instructions, which round correctly; cards are allowed 2.5 units in the last place.
    if ((lavapipe || swiftshader) && !switches.divides) p |= property::rounded_division;
    // MoltenVK translates a memory barrier in divergent control flow to a barrier of the group, which hangs (MoltenVK issue 973).
    if (f.driver_id != VK_DRIVER_ID_MOLTENVK) p |= property::locks;
    return p;
}

void plan_features(const Facts& f, const Switches& switches, DevicePlan& plan) {
    plan.properties |= abilities(f, switches) | correctness(f, switches);
    const bool uses_subgroups = (plan.properties & property::subgroup_basic) != 0;
    if (uses_subgroups && (f.features & feature::subgroup_size_control))
        plan.required_subgroup_size =
            required_subgroup_size(f.subgroup_sizes(), f.basic.vendorID, f.basic.limits.maxComputeWorkGroupInvocations);
    if (has_linear_subgroups(f.driver_id)) {
        plan.properties |= property::linear_subgroups;
        // Some versions of lavapipe begin a new subgroup with each row of the group. Without a required size, Intel's subgroups
        // may be smaller than the reported size.
        const bool has_true_size = f.basic.vendorID != intel || plan.required_subgroup_size > 0;
        if (f.driver_id != VK_DRIVER_ID_MESA_LLVMPIPE && has_true_size) plan.properties |= property::packed_subgroups;
    }
    plan.features = f.features;
    if (plan.required_subgroup_size == 0) plan.features &= ~(feature::subgroup_size_control | feature::full_subgroups);
    const VkPhysicalDeviceLimits& limits = f.basic.limits;
    plan.max_bindings = limits.maxPerStageDescriptorStorageBuffers;
    const auto at_most = [&](uint32_t most) { plan.max_bindings = plan.max_bindings < most ? plan.max_bindings : most; };
    at_most(limits.maxDescriptorSetStorageBuffers);
    at_most(limits.maxPerStageResources);
    plan.push_descriptors = (f.extensions & extension::push_descriptor) && !switches.descriptor_sets;
    if (plan.push_descriptors) {
        at_most(f.max_push_descriptors);
        plan.extensions |= extension::push_descriptor;
    }
    if (plan.properties & (property::float_atomics | property::local_float_atomics)) plan.extensions |= extension::atomic_float;
    if (plan.required_subgroup_size > 0 && f.api_version < VK_API_VERSION_1_3) plan.extensions |= extension::subgroup_sizes;
    // The specification demands that this extension be enabled if a device has it.
    plan.extensions |= f.extensions & extension::portability_subset;
}

/// The policies that depend on who computes: a device of type CPU runs its work-items on the host's cores.
void plan_policies(const Facts& f, DevicePlan& plan) {
    const bool computes_on_host = f.basic.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    plan.batching = {true, true, true, 50'000, 256, 64};
    // Work-items take cores from the host's other work, so that submitting early gains nothing. The batches are larger, and fewer
    // of them in flight bound the host's memory.
    if (computes_on_host) plan.batching = {false, true, false, 50'000, 1024, 8};
    // The addition of the start costs a card one instruction a work-item; on the host the compilation of one more pipeline
    // counts.
    plan.pipelines_at_origin = !computes_on_host;
    // Elementwise 2-D kernels take 0.93 (lavapipe) and 0.72 (SwiftShader) of the time in groups of 256 x 1 than in those of 32 x
    // 8.
    plan.row_groups = computes_on_host;
    // On the host, private memory is a thread's stack; a card reserves it for many items.
    if (computes_on_host) plan.properties |= property::cheap_private;
}

void refuse(DevicePlan& plan, const char* reason) { snprintf(plan.unusable, sizeof plan.unusable, "%s", reason); }

}  // namespace

Switches switches_from_environment() {
    const auto set = [](const char* name) {
        const char* const value = environment(name);
        return *value && strcmp(value, "0") != 0;
    };
    Switches s;
    s.read(set);
    return s;
}

void plan_memory(const Facts& f, DevicePlan& plan) {
    const MemoryFacts memory{f.memory, f.buffer_memory_types, f.basic.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
                             f.basic.limits.minStorageBufferOffsetAlignment, f.max_buffer_bytes};
    static_cast<MemoryPlan&>(plan) = memory_plan(memory, plan.always_staged);
    if (!plan.usable()) refuse(plan, "it has no memory that both host and device can use");
}

void plan_queue(const Facts& f, const Switches& switches, uint32_t family, DevicePlan& plan) {
    plan.queue_family = family;
    plan.time_stamp_bits = f.families[family].timestampValidBits;
    plan.most_seconds = most_seconds(f.families[family], f.basic.deviceType, switches.slices);
}

void make_plan(const Facts& f, const Switches& switches, DevicePlan& plan) {
    plan = {};
    if (f.api_version < VK_API_VERSION_1_2) {
        snprintf(plan.unusable, sizeof plan.unusable, "it has Vulkan %u.%u, and 1.2 is needed",
                 VK_API_VERSION_MAJOR(f.api_version), VK_API_VERSION_MINOR(f.api_version));
        return;
    }
    if (!(f.features & feature::timeline_semaphore)) return refuse(plan, "it has no timeline semaphores");
    const uint32_t family = queue_family(f.families, f.family_count);
    if (family == none) return refuse(plan, "it has no queue that computes");
    plan_queue(f, switches, family, plan);
    plan_policies(f, plan);
    plan_features(f, switches, plan);
    plan.always_staged = switches.staging;
    plan_memory(f, plan);
}

const char* property_name(uint64_t bits) {
    static const struct {
        uint64_t bit;
        char name[46];  // no pointer, which the loader would have to relocate
    } names[] = {{property::int8, "shaderInt8 with storageBuffer8BitAccess"},
                 {property::int16, "shaderInt16 with storageBuffer16BitAccess"},
                 {property::int64, "shaderInt64"},
                 {property::float16, "shaderFloat16 with storageBuffer16BitAccess"},
                 {property::float64, "shaderFloat64"},
                 {property::byte_storage, "storageBuffer8BitAccess"},
                 {property::short_storage, "storageBuffer16BitAccess"},
                 {property::int64_atomics, "shaderBufferInt64Atomics"},
                 {property::local_int64_atomics, "shaderSharedInt64Atomics"},
                 {property::float_atomics, "shaderBufferFloat32AtomicAdd"},
                 {property::local_float_atomics, "shaderSharedFloat32AtomicAdd"},
                 {property::device_addresses, "bufferDeviceAddress"},
                 {property::scalar_layout, "scalarBlockLayout"},
                 {property::subgroup_basic, "subgroup operations"},
                 {property::subgroup_vote, "subgroup votes"},
                 {property::subgroup_arithmetic, "subgroup arithmetic"},
                 {property::subgroup_ballot, "subgroup ballots"},
                 {property::subgroup_shuffle, "subgroup shuffles"},
                 {property::subgroup_relative, "relative subgroup shuffles"},
                 {property::subgroup_int64, "shaderSubgroupExtendedTypes with shaderInt64"},
                 {property::linear_subgroups | property::packed_subgroups, "subgroups in the order of the work-items"},
                 {property::float_specials, "shaderSignedZeroInfNanPreserveFloat32"},
                 {property::float_subnormals, "shaderDenormPreserveFloat32"},
                 {property::float_to_even, "shaderRoundingModeRTEFloat32"},
                 {property::double_specials, "shaderSignedZeroInfNanPreserveFloat64"},
                 {property::locks, "locks that its work-items can wait for"},
                 {~0ull, "a driver without a known defect"}};
    const uint64_t lowest = bits & (0 - bits);
    for (const auto& one : names)
        if (one.bit & lowest) return one.name;
    return "";
}

}  // namespace pumice_rt::vulkan
