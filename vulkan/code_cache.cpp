#include "vulkan/code_cache.h"

#include "core/ir/cache_key.h"

namespace pumice::vulkan {

std::string device_key(const Snapshot& snapshot) {
    static const std::string& build = *new std::string(build_stamp());  // never destroyed, as element_of
    CacheKey key;
    key.add(build), key.add(snapshot.name), key.add(snapshot.driver), key.add(snapshot.driver_version);
    key.add(snapshot.device_uuid), key.add(snapshot.driver_uuid);
    return key.hash();
}

std::string shader_key(const std::string& device, const ir::Kernel& kernel, const codegen::Options& options) {
    CacheKey key;
    key.add(device);
    key.add(options);
    // The comments contain the source lines, which the hash leaves out.
    if (options.comments) key.add(ir::print(ir::without_identities(kernel)));
    key.add(kernel);
    return key.hash();
}

}  // namespace pumice::vulkan
