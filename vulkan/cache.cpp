#include "vulkan/cache.h"

namespace pumice::vulkan {

std::string device_key(const Snapshot& snapshot) {
    static const std::string build = build_stamp();
    CacheKey key;
    key.add(build), key.add(snapshot.name), key.add(snapshot.driver), key.add(snapshot.driver_version);
    for (const uint8_t byte : snapshot.device_uuid) key.add(byte);
    for (const uint8_t byte : snapshot.driver_uuid) key.add(byte);
    return key.hash();
}

std::string shader_key(const std::string& device, const ir::Kernel& kernel, const codegen::Options& options) {
    CacheKey key;
    key.add(device);
    key.add(options.comments, options.float_atomics, options.local_float_atomics, options.wide_offsets, options.pairs,
            options.int64_atomics, options.memory_barriers, options.byte_storage, options.subgroups, options.subgroup_sums, options.recall,
            options.by_address.size());
    for (const bool by_address : options.by_address) key.add(by_address);
    key.add(kernel);
    return key.hash();
}

}  // namespace pumice::vulkan
