#include "core/ir/cache_key.h"

#include "core/support/hash.h"

namespace pumice {

std::string CacheKey::hash() const {
    Hash all;
    all.add(bytes);
    return all.text();
}

}  // namespace pumice
