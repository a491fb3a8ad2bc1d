#include "vulkan/plan.h"
#include "codegen/glsl/codegen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace pumice::vulkan {
namespace {

constexpr VkMemoryPropertyFlags device_local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags coherent = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr int64_t GiB = int64_t(1) << 30;

void add_memory(Snapshot& s, int64_t heap_bytes, std::initializer_list<VkMemoryPropertyFlags> types) {
    const uint32_t heap = s.memory.memoryHeapCount++;
    s.memory.memoryHeaps[heap].size = VkDeviceSize(heap_bytes);
    for (const VkMemoryPropertyFlags flags : types) s.memory.memoryTypes[s.memory.memoryTypeCount++] = {flags, heap};
}

/// A device with the least that Vulkan 1.2 guarantees, and no memory yet.
Snapshot least() {
    Snapshot s;
    s.name = "least";
    s.api_version = VK_API_VERSION_1_2;
    s.timeline_semaphore = true;
    s.max_allocation_bytes = GiB;
    VkPhysicalDeviceLimits& l = s.limits;
    l.maxStorageBufferRange = 1u << 27;
    l.maxPushConstantsSize = 128;
    l.minStorageBufferOffsetAlignment = 256;
    l.maxPerStageDescriptorStorageBuffers = 4;
    l.maxDescriptorSetStorageBuffers = 24;
    l.maxPerStageResources = 128;
    l.maxComputeSharedMemorySize = 16384;
    l.maxComputeWorkGroupInvocations = 128;
    for (int axis = 0; axis < 3; ++axis) {
        l.maxComputeWorkGroupSize[axis] = axis < 2 ? 128 : 64;
        l.maxComputeWorkGroupCount[axis] = 65535;
    }
    s.queue_families = {{VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT, 1, 64, {1, 1, 1}}};
    return s;
}

Snapshot unified() {
    Snapshot s = least();
    add_memory(s, 2 * GiB, {device_local | coherent | cached});
    return s;
}

/// As on desktop cards: a window of 256 MiB into device memory, write-combined.
Snapshot discrete() {
    Snapshot s = least();
    add_memory(s, 8 * GiB, {device_local});
    add_memory(s, 16 * GiB, {coherent, coherent | cached});
    add_memory(s, GiB / 4, {device_local | coherent});
    s.max_allocation_bytes = 4 * GiB;
    s.buffer_device_address = true;
    s.extensions = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME};
    s.max_push_descriptors = 32;
    s.limits.maxPerStageDescriptorStorageBuffers = s.limits.maxDescriptorSetStorageBuffers = 1u << 20;
    s.limits.maxPerStageResources = ~0u;
    return s;
}

bool enables(const DevicePlan& plan, const char* extension) {
    return std::ranges::any_of(plan.extensions, [&](const char* e) { return !std::strcmp(e, extension); });
}

TEST(DevicePlan, SaysWhyADeviceCannotBeUsed) {
    Snapshot s = unified();
    s.api_version = VK_MAKE_API_VERSION(0, 1, 1, 250);
    EXPECT_EQ(make_plan(s, {}).unusable, "it has Vulkan 1.1, and 1.2 is needed");
    s = unified();
    s.timeline_semaphore = false;
    EXPECT_EQ(make_plan(s, {}).unusable, "it has no timeline semaphores");
    s = unified();
    s.queue_families[0].queueFlags = VK_QUEUE_TRANSFER_BIT;
    EXPECT_EQ(make_plan(s, {}).unusable, "it has no queue that computes");
    EXPECT_EQ(make_plan(least(), {}).unusable, "it has no memory that both host and device can use");
    EXPECT_EQ(make_plan(unified(), {}).unusable, "");
}

TEST(DevicePlan, UnifiedMemoryIsMappedUnlessStagingIsForced) {
    EXPECT_TRUE(make_plan(unified(), {}).arrays[0].mapped);
    Switches switches;
    switches.staging = true;
    EXPECT_FALSE(make_plan(unified(), switches).arrays[0].mapped);
}

TEST(DevicePlan, DiscreteMemoryIsStagedAndReadFromCachedMemory) {
    const DevicePlan plan = make_plan(discrete(), {});
    EXPECT_FALSE(plan.arrays[0].mapped);
    EXPECT_EQ(plan.arrays[0].type, 0u);
    EXPECT_EQ(plan.upload_memory, 1u);
    EXPECT_EQ(plan.download_memory, 2u);
    EXPECT_EQ(plan.limits.memory, 8 * GiB);
    EXPECT_EQ(plan.limits.max_array_bytes, 8 * GiB);
}

/// Intel's Xe2 lists a compressed type first.
TEST(DevicePlan, ArraysAreInMemoryThatBuffersMayHave) {
    Snapshot s = least();
    add_memory(s, 8 * GiB, {device_local, device_local});
    add_memory(s, 16 * GiB, {coherent, coherent | cached});
    DevicePlan plan = make_plan(s, {});
    EXPECT_EQ(plan.arrays[0].type, 0u);
    s.buffer_memory_types = 0b1110;
    plan_memory(s, plan);
    EXPECT_EQ(plan.arrays[0].type, 1u);
    EXPECT_EQ(plan.download_memory, 3u);
    s.buffer_memory_types = 0b0011;
    plan_memory(s, plan);
    EXPECT_EQ(plan.unusable, "it has no memory that both host and device can use");
}

/// A card whose whole memory the host can map (resizable BAR): arrays are written in place, and host memory is the reserve.
TEST(DevicePlan, HostVisibleDeviceMemoryIsWrittenInPlaceUnlessItIsASmallWindow) {
    EXPECT_FALSE(make_plan(discrete(), {}).arrays[0].mapped);
    Snapshot s = least();
    add_memory(s, 8 * GiB, {device_local, device_local | coherent});
    add_memory(s, 16 * GiB, {coherent, coherent | cached});
    const DevicePlan plan = make_plan(s, {});
    ASSERT_EQ(plan.arrays.size(), 4u);
    EXPECT_EQ(plan.arrays[0].type, 1u);
    EXPECT_TRUE(plan.arrays[0].mapped);
    EXPECT_EQ(plan.arrays[1].type, 0u);
    EXPECT_FALSE(plan.arrays[1].mapped);
    EXPECT_EQ(plan.arrays[2].type, 3u);
    EXPECT_TRUE(plan.arrays[2].mapped);
    EXPECT_EQ(plan.arrays[3].type, 2u);
}

/// RADV splits the memory that an integrated GPU shares with the host into two heaps.
TEST(DevicePlan, AnIntegratedDeviceMapsArraysInAnyHeap) {
    Snapshot s = least();
    s.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    add_memory(s, 8 * GiB, {device_local, device_local | coherent});
    add_memory(s, 4 * GiB, {device_local | coherent, device_local | coherent | cached});
    EXPECT_EQ(make_plan(s, {}).arrays[0].type, 3u);
    EXPECT_TRUE(make_plan(s, {}).arrays[0].mapped);
    s.type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    EXPECT_EQ(make_plan(s, {}).arrays[0].type, 1u);
}

TEST(DevicePlan, ReadsUseCachedMemoryEvenIfItIsIncoherent) {
    Snapshot s = least();
    add_memory(s, 8 * GiB, {device_local});
    add_memory(s, 16 * GiB, {coherent, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | cached});
    EXPECT_EQ(make_plan(s, {}).upload_memory, 1u);
    EXPECT_EQ(make_plan(s, {}).download_memory, 2u);
}

TEST(DevicePlan, SubgroupsAreOfTheSizeThatTheDeviceReports) {
    Snapshot s = unified();
    s.subgroup_size = 64;
    s.subgroup_operations = VK_SUBGROUP_FEATURE_BASIC_BIT;
    s.limits.maxComputeWorkGroupInvocations = 1024;
    EXPECT_EQ(make_plan(s, {}).required_subgroup_size, 0);
    EXPECT_EQ(make_plan(s, {}).limits.subgroup_size, 64);
    s.subgroup_size_control = s.full_subgroups = true;
    s.min_subgroup_size = 32;
    s.max_subgroup_size = 64;
    s.max_group_subgroups = 32;
    EXPECT_EQ(make_plan(s, {}).required_subgroup_size, 64);
    EXPECT_TRUE(make_plan(s, {}).full_subgroups);
    EXPECT_TRUE(enables(make_plan(s, {}), VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME));
    s.api_version = VK_API_VERSION_1_3;
    EXPECT_FALSE(enables(make_plan(s, {}), VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME));
    // Intel's driver reports 32, and runs 16 unless the size is required.
    s.vendor = 0x8086;
    s.subgroup_size = 32;
    s.min_subgroup_size = 8;
    s.max_subgroup_size = 32;
    s.max_group_subgroups = 64;
    EXPECT_EQ(make_plan(s, {}).limits.subgroup_size, 16);
    s.max_group_subgroups = 32;  // a group of 1,024 items would have 64 subgroups of 16
    EXPECT_EQ(make_plan(s, {}).limits.subgroup_size, 32);
    Switches switches;
    switches.bare = true;
    EXPECT_EQ(make_plan(s, switches).required_subgroup_size, 0);
}

TEST(DevicePlan, AtomicsOf64BitsAreByStorage) {
    Snapshot s = unified();
    s.shader_int64 = s.buffer_int64_atomics = true;
    EXPECT_TRUE(make_plan(s, {}).options.int64_atomics);
    EXPECT_FALSE(make_plan(s, {}).options.local_int64_atomics);
    EXPECT_TRUE(make_plan(s, {}).locks);
    s.driver_id = VK_DRIVER_ID_MOLTENVK;
    EXPECT_FALSE(make_plan(s, {}).locks);
}

TEST(DevicePlan, BytesInBuffersNeedNoArithmeticOnBytes) {
    Snapshot s = unified();
    s.storage_8bit = true;
    EXPECT_TRUE(make_plan(s, {}).options.byte_storage);
    EXPECT_FALSE(make_plan(s, {}).supports(Feature::int8));
    s.shader_int8 = true;
    EXPECT_TRUE(make_plan(s, {}).supports(Feature::int8));
}

TEST(DevicePlan, ShortsInBuffersNeedNoArithmeticOnShorts) {
    Snapshot s = unified();
    EXPECT_FALSE(make_plan(s, {}).options.short_storage);
    s.storage_16bit = true;
    EXPECT_TRUE(make_plan(s, {}).options.short_storage);
    EXPECT_FALSE(make_plan(s, {}).supports(Feature::int16));
    EXPECT_FALSE(make_plan(s, {}).supports(Feature::float16));
    s.shader_int16 = s.shader_float16 = true;
    EXPECT_TRUE(make_plan(s, {}).supports(Feature::int16));
    EXPECT_TRUE(make_plan(s, {}).supports(Feature::float16));
}

TEST(DevicePlan, PoliciesOfDevicesThatComputeOnTheHost) {
    Snapshot s = unified();
    for (const auto& [type, on_host] : {std::pair(VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, false),
                                        {VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, false},
                                        {VK_PHYSICAL_DEVICE_TYPE_CPU, true}}) {
        s.type = type;
        const DevicePlan plan = make_plan(s, {});
        EXPECT_EQ(plan.batching.when_idle, !on_host);
        EXPECT_EQ(plan.batching.most_commands, on_host ? 1024 : 256);
        EXPECT_EQ(plan.batching.most_in_flight, on_host ? 8u : 64u);
        EXPECT_EQ(plan.pipelines_at_origin, !on_host);
        EXPECT_EQ(plan.row_groups, on_host);
        EXPECT_EQ(plan.options.cross_loop_cse, on_host);
        EXPECT_EQ(plan.limits.private_memory, on_host ? 4096 : 512);
    }
}

TEST(DevicePlan, WithoutAddressesAnArrayIsAtMostABinding) {
    EXPECT_EQ(make_plan(unified(), {}).limits.max_array_bytes, 1 << 27);
    Snapshot s = unified();
    s.buffer_device_address = true;
    EXPECT_EQ(make_plan(s, {}).limits.max_array_bytes, 2 * GiB);
    s.max_buffer_bytes = GiB / 2 + 100;
    EXPECT_EQ(make_plan(s, {}).limits.max_array_bytes, GiB / 2);
}

/// A driver may refuse more than maxMemoryAllocationSize, but need not.
TEST(DevicePlan, AllocationsAreLimitedByTheHeapAndTheLargestBuffer) {
    Snapshot s = discrete();
    s.max_allocation_bytes = 1 << 20;
    EXPECT_EQ(make_plan(s, {}).max_block_bytes, 8 * GiB);
    s.max_buffer_bytes = 4 * GiB;
    EXPECT_EQ(make_plan(s, {}).max_block_bytes, 4 * GiB);
}

TEST(DevicePlan, PushDescriptorsAreUsedWherePresent) {
    const DevicePlan with = make_plan(discrete(), {});
    EXPECT_TRUE(with.push_descriptors);
    EXPECT_EQ(with.max_bindings, 32u);
    EXPECT_EQ(with.max_descriptors, 32u);
    EXPECT_TRUE(enables(with, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME));
    const DevicePlan without = make_plan(unified(), {});
    EXPECT_FALSE(without.push_descriptors);
    EXPECT_EQ(without.max_bindings, 4u);
    EXPECT_EQ(without.max_descriptors, 128u);  // images take none of the bindings for arrays
    EXPECT_TRUE(without.extensions.empty());
    Switches switches;
    switches.descriptor_sets = true;
    EXPECT_FALSE(make_plan(discrete(), switches).push_descriptors);
}

TEST(DevicePlan, LoopLimitIsCheckedOnDriversThatEndLoops) {
    Snapshot s = unified();
    EXPECT_EQ(make_plan(s, {}).most_iterations, 0);
    Switches switches;
    switches.loops = true;
    EXPECT_EQ(make_plan(s, switches).most_iterations, 65535);
    s.driver_id = VK_DRIVER_ID_MESA_LLVMPIPE;
    EXPECT_EQ(make_plan(s, {}).most_iterations, 65535);
}

TEST(DevicePlan, MesaAndNvidiaDropConversions) {
    Snapshot s = unified();
    EXPECT_FALSE(make_plan(s, {}).options.exact_conversions);
    s.driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    EXPECT_TRUE(make_plan(s, {}).options.exact_conversions);
    s.driver_id = VK_DRIVER_ID_MAX_ENUM;
    s.driver = "Mesa 25.0.7-2+deb13u1";
    EXPECT_TRUE(make_plan(s, {}).options.exact_conversions);
}

TEST(DevicePlan, ZerosAreHiddenFromLavapipe) {
    Snapshot s = unified();
    EXPECT_FALSE(make_plan(s, {}).options.folded_zeros);
    s.driver_id = VK_DRIVER_ID_MESA_LLVMPIPE;
    EXPECT_TRUE(make_plan(s, {}).options.folded_zeros);
}

TEST(DevicePlan, mesa_before_25_orders_64_bits_as_unsigned) {
    Snapshot s = unified();
    EXPECT_FALSE(make_plan(s, {}).options.ordered_as_unsigned);
    for (const auto& [driver, wrong] : {std::pair{"Mesa 22.3.6 (LLVM 15.0.6)", true},
                                        {"Mesa 24.0.1", true},
                                        {"Mesa 25.0.7-2+deb13u1", false},
                                        {"Intel open-source Mesa driver Mesa 24.2.8", true},
                                        {"Intel open-source Mesa driver Mesa 25.0.7", false},
                                        {"NVIDIA 550.54", false},
                                        {"Mesa", false}}) {
        s.driver = driver;
        EXPECT_EQ(make_plan(s, {}).options.ordered_as_unsigned, wrong) << driver;
    }
}

TEST(DevicePlan, SwiftShaderRoundsUnsignedIntegersTwiceAndUnrollsImprecisely) {
    Snapshot s = unified();
    EXPECT_FALSE(make_plan(s, {}).options.unsigned_rounds_twice);
    EXPECT_FALSE(make_plan(s, {}).options.unrolled_imprecise);
    s.driver_id = VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
    EXPECT_TRUE(make_plan(s, {}).options.unsigned_rounds_twice);
    EXPECT_TRUE(make_plan(s, {}).options.unrolled_imprecise);
}

TEST(DevicePlan, SwiftShaderIsToldNoFloatMode) {
    Snapshot s = unified();
    s.float_modes = codegen::FloatModes::specials | codegen::FloatModes::to_even;
    EXPECT_EQ(make_plan(s, {}).options.float_modes, s.float_modes);
    s.driver_id = VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
    EXPECT_EQ(make_plan(s, {}).options.float_modes, 0u);
}

TEST(DevicePlan, WideOffsetsNeed64BitIntegers) {
    Snapshot s = unified();
    Switches wide;
    wide.wide = true;
    s.shader_int64 = true;
    EXPECT_FALSE(make_plan(s, {}).options.wide_offsets);
    EXPECT_TRUE(make_plan(s, wide).options.wide_offsets);
    s.shader_int64 = false;
    EXPECT_FALSE(make_plan(s, wide).options.wide_offsets);
}

TEST(DevicePlan, SmallTypesNeedStorageToo) {
    Snapshot s = unified();
    s.shader_int8 = s.shader_int16 = s.shader_float16 = true;
    EXPECT_FALSE(make_plan(s, {}).supports(Feature::int8));
    EXPECT_FALSE(make_plan(s, {}).supports(Feature::float16));
    s.storage_8bit = s.storage_16bit = true;
    for (const Feature feature : {Feature::int8, Feature::int16, Feature::float16})
        EXPECT_TRUE(make_plan(s, {}).supports(feature));
    EXPECT_FALSE(make_plan(s, {}).supports(Feature::float64));
}

TEST(DevicePlan, Integers64AreNativeOrPairs) {
    Snapshot s = unified();
    for (const bool has : {false, true}) {
        s.shader_int64 = has;
        EXPECT_EQ(make_plan(s, {}).int64, has);
        EXPECT_TRUE(make_plan(s, {}).supports(Feature::int64));
    }
    Switches switches;
    switches.pairs = true;
    EXPECT_FALSE(make_plan(s, switches).int64);
}

TEST(DevicePlan, TheQueueThatAlsoDrawsIsPreferred) {
    Snapshot s = unified();
    s.queue_families = {{VK_QUEUE_TRANSFER_BIT, 1, 64, {1, 1, 1}},
                        {VK_QUEUE_COMPUTE_BIT, 8, 64, {1, 1, 1}},
                        {VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT, 1, 64, {1, 1, 1}}};
    EXPECT_EQ(make_plan(s, {}).queue_family, 2u);
    s.queue_families.pop_back();
    EXPECT_EQ(make_plan(s, {}).queue_family, 1u);
}

TEST(DevicePlan, LaunchesAreSlicedWhereAWatchdogMayBeAndTheQueueHasAClock) {
    Snapshot s = unified();
    s.type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    EXPECT_EQ(make_plan(s, {}).most_seconds, 0.25);
    s.queue_families.push_back({VK_QUEUE_COMPUTE_BIT, 1, 0, {1, 1, 1}});
    DevicePlan plan = make_plan(s, {});
    Switches slices;
    slices.slices = true;
    for (const Switches& switches : {Switches(), slices}) {
        plan_queue(s, switches, 1, plan);
        EXPECT_EQ(plan.queue_family, 1u);
        EXPECT_EQ(plan.time_stamp_bits, 0u);
        EXPECT_EQ(plan.most_seconds, 0);
    }
    plan_queue(s, slices, 0, plan);
    EXPECT_EQ(plan.time_stamp_bits, 64u);
    EXPECT_EQ(plan.most_seconds, 1e-6);
    s.type = VK_PHYSICAL_DEVICE_TYPE_CPU;
    EXPECT_EQ(make_plan(s, {}).most_seconds, 0);
}

TEST(DevicePlan, AtomicsAndPortabilityAreEnabledWherePresent) {
    Snapshot s = discrete();
    EXPECT_FALSE(make_plan(s, {}).options.float_atomics || make_plan(s, {}).options.local_float_atomics);
    s.shared_float32_atomic_add = true;
    EXPECT_TRUE(make_plan(s, {}).options.local_float_atomics && !make_plan(s, {}).options.float_atomics);
    EXPECT_TRUE(enables(make_plan(s, {}), VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME));
    s.buffer_float32_atomic_add = true;
    s.extensions.push_back("VK_KHR_portability_subset");
    const DevicePlan plan = make_plan(s, {});
    EXPECT_TRUE(plan.options.float_atomics);
    EXPECT_TRUE(enables(plan, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME));
    EXPECT_TRUE(enables(plan, "VK_KHR_portability_subset"));
}

TEST(DevicePlan, AllocationsAreAlignedForBindings) {
    Snapshot s = unified();
    EXPECT_EQ(make_plan(s, {}).alignment, 256);
    s.limits.minStorageBufferOffsetAlignment = 1024;
    EXPECT_EQ(make_plan(s, {}).alignment, 1024);
}

TEST(DevicePlan, CalibratesTimeStampsForATrace) {
    Snapshot s = discrete();
    s.extensions.push_back(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    Switches switches;
    EXPECT_FALSE(enables(make_plan(s, switches), VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME));
    switches.trace = true;
    EXPECT_TRUE(enables(make_plan(s, switches), VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME));
    EXPECT_FALSE(enables(make_plan(discrete(), switches), VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME));
}

}  // namespace
}  // namespace pumice::vulkan
