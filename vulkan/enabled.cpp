#include "vulkan/enabled.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace pumice::vulkan {
namespace {

/// A VkBool32 in a structure that a VkDeviceCreateInfo may chain, and the features that it enables.
struct FeatureSwitch {
    VkStructureType type;
    size_t offset;
    bool Snapshot::* feature;
};

#define PUMICE_SWITCH(TYPE, structure, member, feature) \
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##TYPE, offsetof(VkPhysicalDevice##structure, member), &Snapshot::feature}
/// Most features are in two structures: that of the extension, and that of the Vulkan version that includes it.
constexpr FeatureSwitch switches[] = {
    PUMICE_SWITCH(FEATURES_2, Features2, features.shaderStorageImageExtendedFormats, storage_image_extended_formats),
    PUMICE_SWITCH(FEATURES_2, Features2, features.shaderStorageImageReadWithoutFormat, storage_image_read_without_format),
    PUMICE_SWITCH(FEATURES_2, Features2, features.shaderStorageImageWriteWithoutFormat, storage_image_write_without_format),
    PUMICE_SWITCH(FEATURES_2, Features2, features.shaderInt16, shader_int16),
    PUMICE_SWITCH(FEATURES_2, Features2, features.shaderInt64, shader_int64),
    PUMICE_SWITCH(FEATURES_2, Features2, features.shaderFloat64, shader_float64),
    PUMICE_SWITCH(VULKAN_1_1_FEATURES, Vulkan11Features, storageBuffer16BitAccess, storage_16bit),
    PUMICE_SWITCH(16BIT_STORAGE_FEATURES, 16BitStorageFeatures, storageBuffer16BitAccess, storage_16bit),
    PUMICE_SWITCH(VULKAN_1_2_FEATURES, Vulkan12Features, timelineSemaphore, timeline_semaphore),
    PUMICE_SWITCH(TIMELINE_SEMAPHORE_FEATURES, TimelineSemaphoreFeatures, timelineSemaphore, timeline_semaphore),
    PUMICE_SWITCH(VULKAN_1_2_FEATURES, Vulkan12Features, bufferDeviceAddress, buffer_device_address),
    PUMICE_SWITCH(BUFFER_DEVICE_ADDRESS_FEATURES, BufferDeviceAddressFeatures, bufferDeviceAddress, buffer_device_address),
    PUMICE_SWITCH(VULKAN_1_2_FEATURES, Vulkan12Features, scalarBlockLayout, scalar_block_layout),
    PUMICE_SWITCH(SCALAR_BLOCK_LAYOUT_FEATURES, ScalarBlockLayoutFeatures, scalarBlockLayout, scalar_block_layout),
    PUMICE_SWITCH(VULKAN_1_2_FEATURES, Vulkan12Features, storageBuffer8BitAccess, storage_8bit),
    PUMICE_SWITCH(8BIT_STORAGE_FEATURES, 8BitStorageFeatures, storageBuffer8BitAccess, storage_8bit),
    PUMICE_SWITCH(VULKAN_1_2_FEATURES, Vulkan12Features, shaderInt8, shader_int8),
    PUMICE_SWITCH(VULKAN_1_2_FEATURES, Vulkan12Features, shaderFloat16, shader_float16),
    PUMICE_SWITCH(SHADER_FLOAT16_INT8_FEATURES, ShaderFloat16Int8Features, shaderInt8, shader_int8),
    PUMICE_SWITCH(SHADER_FLOAT16_INT8_FEATURES, ShaderFloat16Int8Features, shaderFloat16, shader_float16),
    PUMICE_SWITCH(VULKAN_1_2_FEATURES, Vulkan12Features, shaderBufferInt64Atomics, buffer_int64_atomics),
    PUMICE_SWITCH(VULKAN_1_2_FEATURES, Vulkan12Features, shaderSharedInt64Atomics, shared_int64_atomics),
    PUMICE_SWITCH(SHADER_ATOMIC_INT64_FEATURES, ShaderAtomicInt64Features, shaderBufferInt64Atomics, buffer_int64_atomics),
    PUMICE_SWITCH(SHADER_ATOMIC_INT64_FEATURES, ShaderAtomicInt64Features, shaderSharedInt64Atomics, shared_int64_atomics),
    PUMICE_SWITCH(VULKAN_1_2_FEATURES, Vulkan12Features, shaderSubgroupExtendedTypes, subgroup_extended_types),
    PUMICE_SWITCH(SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES, ShaderSubgroupExtendedTypesFeatures, shaderSubgroupExtendedTypes,
                  subgroup_extended_types),
    PUMICE_SWITCH(VULKAN_1_3_FEATURES, Vulkan13Features, subgroupSizeControl, subgroup_size_control),
    PUMICE_SWITCH(VULKAN_1_3_FEATURES, Vulkan13Features, computeFullSubgroups, full_subgroups),
    PUMICE_SWITCH(SUBGROUP_SIZE_CONTROL_FEATURES, SubgroupSizeControlFeatures, subgroupSizeControl, subgroup_size_control),
    PUMICE_SWITCH(SUBGROUP_SIZE_CONTROL_FEATURES, SubgroupSizeControlFeatures, computeFullSubgroups, full_subgroups),
    PUMICE_SWITCH(SHADER_ATOMIC_FLOAT_FEATURES_EXT, ShaderAtomicFloatFeaturesEXT, shaderBufferFloat32AtomicAdd,
                  buffer_float32_atomic_add),
    PUMICE_SWITCH(SHADER_ATOMIC_FLOAT_FEATURES_EXT, ShaderAtomicFloatFeaturesEXT, shaderSharedFloat32AtomicAdd,
                  shared_float32_atomic_add),
};
#undef PUMICE_SWITCH

}  // namespace

Enabled enabled_by(const VkDeviceCreateInfo& created) {
    return {created.pNext, created.pEnabledFeatures, {created.ppEnabledExtensionNames, created.enabledExtensionCount}};
}

Snapshot enabled(Snapshot s, const Enabled& by, uint32_t api_version) {
    s.api_version = std::min(s.api_version, api_version);

    Snapshot on;  // initially without features
    const auto add = [&](const VkBaseInStructure* structure) {
        for (const FeatureSwitch& one : switches) {
            if (one.type != structure->sType) continue;
            VkBool32 set;
            std::memcpy(&set, reinterpret_cast<const std::byte*>(structure) + one.offset, sizeof set);
            if (set) on.*one.feature = true;
        }
    };
    if (by.old) {
        const VkPhysicalDeviceFeatures2 same{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, *by.old};
        add(reinterpret_cast<const VkBaseInStructure*>(&same));
    }
    for (auto* next = static_cast<const VkBaseInStructure*>(by.features); next; next = next->pNext) add(next);
    for (const FeatureSwitch& one : switches) s.*one.feature = s.*one.feature && on.*one.feature;

    const auto is_on = [&](const std::string& name) {
        return std::any_of(by.extensions.begin(), by.extensions.end(), [&](const char* one) { return name == one; });
    };
    std::erase_if(s.extensions, [&](const std::string& name) { return !is_on(name); });
    return s;
}

}  // namespace pumice::vulkan
