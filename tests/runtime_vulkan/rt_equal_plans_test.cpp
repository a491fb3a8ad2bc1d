// The library's plan of a device and the runtime's are two texts of one set of rules: they give the same properties, defects,
// extensions and memory, of the device at hand and of made-up ones, among them all drivers with known defects.
#include <algorithm>
#include <random>
#include <set>

#include "tests/runtime_vulkan/rt_vulkan_test.h"
#include "vulkan/context.h"
#include "vulkan/plan.h"

namespace {

namespace library = pumice::vulkan;
namespace runtime = pumice_rt::vulkan;
namespace property = pumice_rt::property;
namespace feature = pumice_rt::vulkan::feature;

/// The bits of property:: that the library's plan stands for.
uint64_t properties_of(const library::DevicePlan& p) {
    const pumice::codegen::Options& o = p.options;
    const auto bit = [](bool set, uint64_t one) { return set ? one : 0; };
    uint64_t all = uint64_t(o.subgroups & 63) << 16 | uint64_t(o.float_modes) << 48;
    all |= bit(p.int8, property::int8) | bit(p.int16, property::int16) | bit(p.int64, property::int64);
    all |= bit(p.float16, property::float16) | bit(p.float64, property::float64);
    all |= bit(o.byte_storage, property::byte_storage) | bit(o.short_storage, property::short_storage);
    all |= bit(o.int64_atomics, property::int64_atomics) | bit(o.local_int64_atomics, property::local_int64_atomics);
    all |= bit(o.float_atomics, property::float_atomics) | bit(o.local_float_atomics, property::local_float_atomics);
    all |= bit(p.device_addresses, property::device_addresses) | bit(p.scalar_block_layout, property::scalar_layout);
    all |= bit(o.subgroups & pumice::codegen::Subgroups::int64, property::subgroup_int64);
    all |= bit(o.linear_subgroups, property::linear_subgroups) | bit(o.packed_subgroups, property::packed_subgroups);
    all |= bit(o.memory_barriers, property::barriers) | bit(!o.memory_barriers, property::ordered_atomics);
    all |= bit(p.most_iterations == 0, property::all_iterations) | bit(!o.idle_lanes, property::no_idle_lanes) |
           bit(o.idle_lanes, property::idle_lanes);
    all |= bit(!o.ordered_as_unsigned, property::signed_order) | bit(!o.unsigned_rounds_twice, property::unsigned_to_float);
    all |= bit(!o.unrolled_imprecise, property::precise_unrolled) |
           bit(!o.parted_merges && !o.folded_zeros && !o.stale_counters, property::bit_merges);
    all |= bit(!o.exact_conversions, property::conversions) | bit(o.rounded_division, property::rounded_division);
    return all | bit(p.locks, property::locks) | bit(o.cross_loop_cse, property::cheap_private);
}

void expect_same(const library::DevicePlan& a, const runtime::DevicePlan& b) {
    ASSERT_EQ(a.unusable, b.unusable);
    if (!a.unusable.empty()) return;
    EXPECT_EQ(properties_of(a), b.properties)
        << "the runtime's differ by " << runtime::property_name(properties_of(a) ^ b.properties);
    // The library has more: debug information of shaders, and traces.
    std::set<std::string> extensions, others;
    for (uint32_t one = 0; one < runtime::extension::count; ++one) {
        const std::string name = runtime::extension_name(1u << one);
        if (b.extensions >> one & 1) others.insert(name);
        if (std::find(a.extensions.begin(), a.extensions.end(), name) != a.extensions.end()) extensions.insert(name);
    }
    EXPECT_EQ(extensions, others);
    EXPECT_EQ(a.queue_family, b.queue_family);
    EXPECT_EQ(a.time_stamp_bits, b.time_stamp_bits);
    EXPECT_EQ(a.most_seconds, b.most_seconds);
    EXPECT_EQ(a.required_subgroup_size, int(b.required_subgroup_size));
    EXPECT_EQ(a.full_subgroups, (b.features & feature::full_subgroups) != 0);
    EXPECT_EQ(a.pipelines_at_origin, b.pipelines_at_origin);
    EXPECT_EQ(a.row_groups, b.row_groups);
    EXPECT_EQ(a.push_descriptors, b.push_descriptors);
    EXPECT_EQ(a.max_bindings, b.max_bindings);
    EXPECT_EQ(a.batching.when_idle, b.batching.when_idle);
    EXPECT_EQ(a.batching.by_thread, b.batching.by_thread);
    EXPECT_EQ(a.batching.spins, b.batching.spins);
    EXPECT_EQ(std::chrono::nanoseconds(a.batching.interval).count(), b.batching.interval_ns);
    EXPECT_EQ(a.batching.most_commands, int(b.batching.most_commands));
    EXPECT_EQ(a.batching.most_in_flight, size_t(b.batching.most_in_flight));
    ASSERT_EQ(a.arrays.size(), b.array_count);
    for (size_t i = 0; i < a.arrays.size(); ++i) {
        EXPECT_EQ(a.arrays[i].type, b.arrays[i].type) << i;
        EXPECT_EQ(a.arrays[i].mapped, b.arrays[i].mapped) << i;
    }
    EXPECT_EQ(a.always_staged, b.always_staged);
    EXPECT_EQ(a.upload_memory, b.upload_memory);
    EXPECT_EQ(a.download_memory, b.download_memory);
    EXPECT_EQ(a.alignment, b.alignment);
    EXPECT_EQ(a.max_block_bytes, b.max_block_bytes);
    EXPECT_EQ(a.limits.memory, b.memory_bytes);
}

runtime::DevicePlan plan_of(const runtime::Facts& facts, const runtime::Switches& switches) {
    runtime::DevicePlan plan{};
    runtime::make_plan(facts, switches, plan);
    return plan;
}

TEST(RuntimePlans, EveryDeviceOfThisMachineHasTheLibrarysProperties) {
    const runtime::Switches switches = runtime::switches_from_environment();
    runtime::InstanceFunctions vk{};
    std::vector<VkPhysicalDevice> devices(16);
    uint32_t count = 0;
    ASSERT_EQ(runtime::instance_devices(switches.validate, vk, devices.data(), uint32_t(devices.size()), count), PUMICE_OK)
        << pumice_error();
    ASSERT_GT(count, 0u);
    // Each asks by an instance of its own; the loader's order of devices is the same.
    std::string reason;
    library::Instance* const instance = library::Instance::get(switches.validate, reason);
    ASSERT_TRUE(instance) << reason;
    const std::vector<VkPhysicalDevice> same = instance->physical_devices();
    ASSERT_EQ(same.size(), count);
    for (uint32_t i = 0; i < count; ++i) {
        SCOPED_TRACE("vulkan:" + std::to_string(i));
        const library::Snapshot snapshot = library::read_snapshot(instance->vk, same[i]);
        runtime::Facts facts{};
        ASSERT_EQ(runtime::read_facts(vk, devices[i], {}, facts), PUMICE_OK) << pumice_error();
        expect_same(library::make_plan(snapshot, library::Switches::from_environment()), plan_of(facts, switches));
    }
}

/// The runtime's facts of a device with this snapshot.
runtime::Facts facts_of(const library::Snapshot& s) {
    runtime::Facts f{};
    f.basic.limits = s.limits, f.basic.deviceType = s.type, f.basic.vendorID = s.vendor;
    static_cast<runtime::DeviceFacts&>(f) = s;
    f.basic.apiVersion = s.api_version;
    const std::string info = s.driver.substr(0, sizeof f.driver_info - 1);
    std::copy(info.begin(), info.end(), f.driver_info);
#define FEATURE(type, structure, member, name) f.features |= s.name ? feature::name : 0;
#include "runtime/vulkan_rules/device_features.def"
#undef FEATURE
    for (uint32_t one = 0; one < runtime::extension::count; ++one)
        if (s.has(runtime::extension_name(1u << one))) f.extensions |= 1u << one;
    f.family_count = uint32_t(s.queue_families.size());
    std::copy(s.queue_families.begin(), s.queue_families.end(), f.families);
    return f;
}

/// Devices of any properties, each of which some device could have.
class RandomDevices {
public:
    library::Snapshot next() {
        library::Snapshot s;
        constexpr VkDriverId drivers[] = {VkDriverId(0),
                                          VK_DRIVER_ID_AMD_PROPRIETARY,
                                          VK_DRIVER_ID_MESA_RADV,
                                          VK_DRIVER_ID_NVIDIA_PROPRIETARY,
                                          VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA,
                                          VK_DRIVER_ID_MESA_LLVMPIPE,
                                          VK_DRIVER_ID_GOOGLE_SWIFTSHADER,
                                          VK_DRIVER_ID_MOLTENVK,
                                          VK_DRIVER_ID_ARM_PROPRIETARY};
        s.driver_id = drivers[below(std::size(drivers))];
        constexpr const char* texts[] = {"", "Mesa 22.3.6 (LLVM 15.0.6)", "Mesa 23.1.0", "Mesa 25.0.7-2", "535.104.05"};
        s.driver = texts[below(std::size(texts))];
        constexpr uint32_t versions[] = {VK_API_VERSION_1_1, VK_API_VERSION_1_2, VK_API_VERSION_1_2, VK_API_VERSION_1_3};
        s.api_version = versions[below(std::size(versions))];
        s.type = VkPhysicalDeviceType(below(5));
        s.vendor = chance(3) ? 0x8086 : 0x1002;
        s.limits.maxComputeWorkGroupInvocations = 128u << below(4);
        s.limits.minStorageBufferOffsetAlignment = VkDeviceSize(16) << below(7);
        s.limits.maxPerStageDescriptorStorageBuffers = uint32_t(4 + below(40));
        s.limits.maxDescriptorSetStorageBuffers = uint32_t(4 + below(40));
        s.limits.maxPerStageResources = uint32_t(4 + below(40));
        s.max_push_descriptors = uint32_t(4 + below(40));
        s.max_buffer_bytes = chance(2) ? 0 : int64_t(1) << (28 + below(8));
        s.subgroup_size = 4u << below(5);
        s.min_subgroup_size = 4u << below(3), s.max_subgroup_size = s.min_subgroup_size << below(3);
        if (chance(4)) s.min_subgroup_size = s.max_subgroup_size = 0;
        s.max_group_subgroups = 8u << below(4);
        s.subgroup_operations = uint32_t(below(256)) | VK_SUBGROUP_FEATURE_BASIC_BIT,
        s.float_modes = uint32_t(below(8) | below(2) << 4);
        for (bool* const one :
             {&s.buffer_device_address, &s.scalar_block_layout, &s.shader_int8, &s.shader_int16, &s.shader_int64,
              &s.shader_float16, &s.shader_float64, &s.storage_8bit, &s.storage_16bit, &s.buffer_int64_atomics,
              &s.shared_int64_atomics, &s.subgroup_extended_types, &s.subgroup_size_control, &s.full_subgroups})
            *one = chance(2);
        s.timeline_semaphore = !chance(20);
        if (chance(2)) s.extensions.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
        if (chance(2)) s.extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
        if (chance(4)) s.extensions.push_back("VK_KHR_portability_subset");
        if (chance(2)) {
            s.extensions.push_back(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
            s.buffer_float32_atomic_add = chance(2), s.shared_float32_atomic_add = chance(2);
        }
        for (uint32_t n = uint32_t(below(4)); n > 0; --n)
            s.queue_families.push_back({VkQueueFlags(below(8)), uint32_t(below(3)), uint32_t(below(2) * 64), {1, 1, 1}});
        s.memory.memoryHeapCount = uint32_t(1 + below(3));
        for (uint32_t i = 0; i < s.memory.memoryHeapCount; ++i)
            s.memory.memoryHeaps[i].size = VkDeviceSize(1) << (26 + below(10));
        s.memory.memoryTypeCount = uint32_t(1 + below(8));
        for (uint32_t i = 0; i < s.memory.memoryTypeCount; ++i)
            s.memory.memoryTypes[i] = {VkMemoryPropertyFlags(below(chance(4) ? 64 : 16)),
                                       uint32_t(below(s.memory.memoryHeapCount))};
        s.buffer_memory_types = chance(2) ? ~0u : uint32_t(below(256));
        return s;
    }
    void next(library::Switches& a, runtime::Switches& b) {
        a.pairs = b.pairs = chance(8), a.bare = b.bare = chance(8), a.staging = b.staging = chance(8);
        a.descriptor_sets = b.descriptor_sets = chance(8), a.divides = b.divides = chance(8);
        a.loops = b.loops = chance(8), a.slices = b.slices = chance(8);
    }

private:
    uint64_t below(uint64_t n) { return generator() % n; }
    bool chance(uint64_t n) { return below(n) == 0; }
    std::mt19937_64 generator{19};
};

TEST(RuntimePlans, RandomDevicesHaveTheLibrarysPlans) {
    RandomDevices devices;
    int usable = 0;
    for (int n = 0; n < 20000 && !HasFailure(); ++n) {
        SCOPED_TRACE("device " + std::to_string(n));
        const library::Snapshot snapshot = devices.next();
        library::Switches ours;
        runtime::Switches theirs{};
        devices.next(ours, theirs);
        const runtime::DevicePlan plan = plan_of(facts_of(snapshot), theirs);
        usable += !plan.unusable[0];
        expect_same(library::make_plan(snapshot, ours), plan);
    }
    EXPECT_GT(usable, 2000);
}

}  // namespace
