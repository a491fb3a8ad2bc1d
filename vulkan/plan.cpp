// The device plan: from a snapshot of a physical device to how it will be used. A pure function, tested without a driver.
//
//   Snapshot (limits, features, extensions, driver, memory types) + Switches (environment) -> make_plan -> DevicePlan
//
// It decides: usable or not and why; extensions and features to enable; queue family; memory types of arrays and staging;
// batching; and workarounds for known driver defects, each with the driver, version and symptom beside it (plan_features).
// Everything else in vulkan/ reads the plan instead of asking the driver. Memory: device-local memory that is host-cached
// (integrated) is mapped; a window over all of a card's memory is mapped for writes; else arrays are staged. Submissions are kept
// short (0.25 s) on devices whose clock can be read and that do not run on the host. Cost: once a device. Limits: workarounds go
// by driver id and Mesa's major version, as no test can tell a defect in advance.
#include "vulkan/plan.h"

#include <algorithm>
#include <cstring>

#include "codegen/glsl/codegen.h"
#include "core/support/debug.h"
#include "core/support/error.h"
#include "core/support/trace.h"

namespace pumice::vulkan {
namespace {

namespace rules = pumice_rt::vulkan;

bool is_mesa(VkDriverId driver) {
    constexpr VkDriverId known[] = {VK_DRIVER_ID_MESA_RADV, VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, VK_DRIVER_ID_MESA_LLVMPIPE};
    return std::find(std::begin(known), std::end(known), driver) != std::end(known);
}

void plan_features(const Snapshot& s, const Switches& switches, DevicePlan& plan) {
    codegen::Options& options = plan.options;
    const int mesa = rules::mesa_version(s.driver.c_str());
    plan.device_addresses = s.buffer_device_address;
    plan.scalar_block_layout = s.scalar_block_layout;
    plan.extended_formats = s.storage_image_extended_formats;
    plan.reads_any_format = s.storage_image_read_without_format;
    plan.writes_any_format = s.storage_image_write_without_format;
    options.byte_storage = s.storage_8bit && !switches.bare;
    plan.int8 = s.shader_int8 && options.byte_storage;
    options.short_storage = s.storage_16bit && !switches.bare;
    plan.int16 = s.shader_int16 && options.short_storage;
    plan.int64 = s.shader_int64 && !switches.pairs;
    options.pairs = !plan.int64;
    options.push_bytes = s.limits.maxPushConstantsSize;
    plan.float16 = s.shader_float16 && options.short_storage;
    plan.float64 = s.shader_float64;
    // `bare` keeps them: on lavapipe, which ends an item's loops after 65,535 iterations, spinning on a lock may take that many.
    options.int64_atomics = plan.int64 && s.buffer_int64_atomics;
    options.local_int64_atomics = plan.int64 && s.shared_int64_atomics;
    // MoltenVK translates a memory barrier in divergent control flow to a barrier of the group, which hangs (MoltenVK issue 973).
    plan.locks = s.driver_id != VK_DRIVER_ID_MOLTENVK;
    // lavapipe (Mesa 22.3) suspends the group at a memory barrier as if all items had to arrive there, which gives wrong results.
    // Its atomics are LLVM's sequentially consistent ones, so they order all memory without a barrier.
    options.memory_barriers = s.driver_id != VK_DRIVER_ID_MESA_LLVMPIPE;
    // Mesa 22.3 and later: LP_MAX_TGSI_LOOP_ITERATIONS. The check for it (codegen/lowering/loop_limit.h) is harmless in versions
    // without the limit.
    if (s.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE || switches.loops) plan.most_iterations = 65535;
    // Mesa 22's gallivm lays subgroups along x, and keeps a loop running while a lane without an item of the group is in it. Such
    // a lane stores nothing and loads 0, so that a search in memory ends only after 65,535 iterations, and every loop after it
    // after one.
    options.idle_lanes = s.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE && mesa == 22;
    // Mesa's NIR folded a signed 64-bit comparison of a widened 32-bit integer with a constant to true or false: seen in 22.3,
    // correct in 25.0. All Mesa drivers share NIR.
    options.ordered_as_unsigned = mesa > 0 && mesa < 25;
    // Mesa's NIR folds inexact pairs of conversions: int(float(i)) in 22.3, and also float to half to float in 25.0.
    // NVIDIA's (580) folds float to half to float.
    options.exact_conversions = mesa > 0 || s.driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    // SwiftShader (of Chromium 156) converts the low 31 bits of an unsigned integer, which rounds, and adds 2^31, which rounds
    // again: one number in 400 is off by one unit in the last place.
    options.unsigned_rounds_twice = s.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
    // With AVX-512, LLVM up to version 22 miscompiles `c ? (a & M) | (b & ~M) : b` to a wrong vpternlog (llvm-project issue
    // 157929).
    options.parted_merges = s.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE;
    // llvmpipe's builder takes a product with a constant zero for zero, also of an infinity or a NaN, a sum with one for the
    // other operand, also -0 + 0, and a quotient by one for undefined (lp_build_mul, lp_build_add and lp_build_div in
    // lp_bld_arit.c).
    options.folded_zeros = s.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE;
    // Mesa 22.3 keeps private arrays of more than 32 elements in NIR registers. It misses that a store to one uses its index,
    // so `v[k] = v[k] + v[k + 1]` in a loop over k stores at k + 1, which has k's register by then. Mesa 25.0 does not.
    options.stale_counters = s.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE;
    // SwiftShader (of Chromium 156) stores an infinity to a half-precision image as a NaN.
    plan.half_infinities = s.driver_id != VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
    options.exact_texels = s.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE || s.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
    // SwiftShader's loop unrolling copies a body without its decorations: a division by a constant, for example, becomes a
    // product.
    options.unrolled_imprecise = s.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
    // SwiftShader runs spirv-opt. In a module that declares a float mode, its constant propagation does not fold GLSL functions,
    // and then replaces a phi that depends on such a result by its other operand: min(x, 4) in a loop leaves x at its initial
    // value.
    options.float_modes = s.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER ? 0 : s.float_modes;
    options.subgroups = s.subgroup_operations & ~codegen::Subgroups::int64;
    if (s.subgroup_extended_types && plan.int64) options.subgroups |= codegen::Subgroups::int64;
    if (switches.bare) options.subgroups = 0;
    options.subgroup_sums = (options.subgroups & codegen::Subgroups::arithmetic) != 0;
    if (options.subgroups != 0 && s.subgroup_size_control)
        plan.required_subgroup_size =
            int(rules::required_subgroup_size(s.subgroup_sizes(), s.vendor, s.limits.maxComputeWorkGroupInvocations));
    plan.full_subgroups = plan.required_subgroup_size > 0 && s.full_subgroups;
    // Vulkan allows division an error of 2.5 units in the last place, and cards make use of it. These two drivers compute with
    // the processor's instructions, which round correctly.
    options.rounded_division =
        (s.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE || s.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER) && !switches.divides;
    options.linear_subgroups = rules::has_linear_subgroups(s.driver_id);
    // Without a required size, Intel's subgroups may be smaller than the reported size.
    const bool has_true_size = s.vendor != rules::intel || plan.required_subgroup_size > 0;
    // Some versions of lavapipe begin a new subgroup with each row of the group.
    options.packed_subgroups = options.linear_subgroups && s.driver_id != VK_DRIVER_ID_MESA_LLVMPIPE && has_true_size;
    options.wide_offsets = switches.wide && plan.int64;
    options.float_atomics = s.buffer_float32_atomic_add && !switches.bare;
    options.local_float_atomics = s.shared_float32_atomic_add && !switches.bare;
    plan.push_descriptors = s.has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME) && !switches.descriptor_sets;
    plan.all_by_address = switches.addresses && s.buffer_device_address;
    plan.max_descriptors = s.limits.maxPerStageResources;
    if (plan.push_descriptors) {
        plan.max_descriptors = std::min(plan.max_descriptors, s.max_push_descriptors);
        plan.extensions.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
    }
    plan.max_bindings =
        std::min({s.limits.maxPerStageDescriptorStorageBuffers, s.limits.maxDescriptorSetStorageBuffers, plan.max_descriptors});
    if (options.float_atomics || options.local_float_atomics)
        plan.extensions.push_back(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
    if (plan.required_subgroup_size > 0 && s.api_version < VK_API_VERSION_1_3)
        plan.extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    // For the debug information of PUMICE_DEBUG=source; it changes nothing else. A part of Vulkan 1.3. Below RenderDoc 1.24
    // lavapipe has version 1.2 and no such extension; Mesa's drivers take the instructions in any case, the validation layers
    // then do not.
    const bool has_extension = s.has(VK_KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME);
    if (has_extension) plan.extensions.push_back(VK_KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME);
    plan.non_semantic_info = has_extension || s.api_version >= VK_API_VERSION_1_3 || (is_mesa(s.driver_id) && !switches.validate);
    if (switches.trace && s.has(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME))
        plan.extensions.push_back(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    // The specification demands that this extension be enabled if a device has it; its macro needs VK_ENABLE_BETA_EXTENSIONS.
    if (s.has("VK_KHR_portability_subset")) plan.extensions.push_back("VK_KHR_portability_subset");
}

/// The policies that depend on who computes. A device of type CPU reports that its work-items run on the host's cores; each
/// policy follows from a property of such devices, or of the others, that is named beside it.
void plan_policies(const Snapshot& s, DevicePlan& plan) {
    const bool computes_on_host = s.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
    // Work-items take cores from the host's other work, so that submitting early gains nothing. The batches are larger, and fewer
    // of them in flight bound the host's memory.
    if (computes_on_host) plan.batching = {.when_idle = false, .spins = false, .most_commands = 1024, .most_in_flight = 8};
    // The addition of the start costs a card one instruction a work-item. On the host it is lost beside the others: measured with
    // lavapipe (bench, all cases), where the compilation of one more pipeline is what counts.
    plan.pipelines_at_origin = !computes_on_host;
    // Measured on lavapipe and SwiftShader: elementwise 2-D kernels take 0.93 and 0.72 of the time in groups of 256 x 1 than in
    // those of 32 x 8. The caches of cards are shared by a group, which tiles suit better.
    plan.row_groups = computes_on_host;
    // The pass keeps the values in private memory, which on the host is a thread's stack. A card reserves it for many items.
    plan.options.cross_loop_cse = computes_on_host;
    // A card reserves private memory for all items that it could run at once: 512 bytes an item are some 80 MiB on a large card.
    // A processor runs a few items at once, and keeps the limit's default.
    if (!computes_on_host) plan.limits.private_memory = 512;
}

}  // namespace

Switches Switches::from_environment() {
    const auto set = [](const char* name) {
        const char* value = debug::variable(name);
        return value && *value && std::strcmp(value, "0") != 0;
    };
    Switches switches;
    switches.read(set);
    switches.validate = debug::validate();
    switches.trace = trace::on();
    switches.addresses = set("PUMICE_VULKAN_ADDRESSES");
    switches.wide = set("PUMICE_VULKAN_WIDE");
    return switches;
}

bool DevicePlan::supports(Feature feature) const {
    switch (feature) {
        case Feature::int8: return int8;
        case Feature::int16: return int16;
        case Feature::int64: return true;
        case Feature::float16: return float16;
        case Feature::float64: return float64;
    }
    return false;
}

void plan_memory(const Snapshot& s, DevicePlan& plan) {
    const rules::MemoryFacts memory{s.memory, s.buffer_memory_types, s.type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
                                    s.limits.minStorageBufferOffsetAlignment, s.max_buffer_bytes};
    const rules::MemoryPlan found = rules::memory_plan(memory, plan.always_staged);
    plan.arrays.assign(found.arrays, found.arrays + found.array_count);
    if (!found.usable()) {
        plan.unusable = "it has no memory that both host and device can use";
        return;
    }
    plan.upload_memory = found.upload_memory;
    plan.download_memory = found.download_memory;
    plan.alignment = found.alignment;
    plan.limits.memory = found.memory_bytes;
    plan.limits.max_array_bytes = plan.max_block_bytes = found.max_block_bytes;
    if (!plan.device_addresses)
        plan.limits.max_array_bytes = std::min(plan.max_block_bytes, int64_t(s.limits.maxStorageBufferRange));
}

std::vector<uint32_t> image_memory_types(const Snapshot& s, uint32_t bits) {
    std::vector<uint32_t> types;
    for (uint32_t i = 0; i < s.memory.memoryTypeCount; ++i)
        if ((bits >> i & 1) && !(s.memory.memoryTypes[i].propertyFlags & rules::special_memory)) types.push_back(i);
    const auto heap = [&](uint32_t type) { return s.memory.memoryHeaps[s.memory.memoryTypes[type].heapIndex].size; };
    const auto is_local = [&](uint32_t type) { return (s.memory.memoryTypes[type].propertyFlags & rules::device_local) != 0; };
    std::ranges::stable_sort(
        types, [&](uint32_t a, uint32_t b) { return is_local(a) != is_local(b) ? is_local(a) : heap(a) > heap(b); });
    return types;
}

void plan_queue(const Snapshot& s, const Switches& switches, uint32_t family, DevicePlan& plan) {
    plan.queue_family = family;
    plan.time_stamp_bits = s.queue_families[family].timestampValidBits;
    plan.most_seconds = rules::most_seconds(s.queue_families[family], s.type, switches.slices);
}

DevicePlan make_plan(const Snapshot& s, const Switches& switches) {
    DevicePlan plan;
    const auto refuse = [&](std::string reason) {
        plan.unusable = std::move(reason);
        return plan;
    };
    if (s.api_version < VK_API_VERSION_1_2)
        return refuse(text("it has Vulkan ", VK_API_VERSION_MAJOR(s.api_version), ".", VK_API_VERSION_MINOR(s.api_version),
                           ", and 1.2 is needed"));
    if (!s.timeline_semaphore) return refuse("it has no timeline semaphores");
    const uint32_t family = rules::queue_family(s.queue_families.data(), uint32_t(s.queue_families.size()));
    if (family == rules::none) return refuse("it has no queue that computes");
    plan_queue(s, switches, family, plan);
    plan_policies(s, plan);
    plan_features(s, switches, plan);
    plan.always_staged = switches.staging;
    plan_memory(s, plan);
    if (!plan.unusable.empty()) return plan;

    plan.limits.max_group_size = s.limits.maxComputeWorkGroupInvocations;
    for (int axis = 0; axis < 3; ++axis) plan.limits.max_group_extent[axis] = s.limits.maxComputeWorkGroupSize[axis];
    plan.limits.local_memory = s.limits.maxComputeSharedMemorySize;
    const int subgroup_size = plan.required_subgroup_size > 0 ? plan.required_subgroup_size : int(s.subgroup_size);
    plan.limits.subgroup_size = plan.options.subgroups & codegen::Subgroups::basic ? subgroup_size : 1;
    return plan;
}

}  // namespace pumice::vulkan
