#include "core/cache_key.h"

#include "core/hash.h"

namespace pumice {

std::string CacheKey::hash() const {
    Hash all;
    all.add(bytes);
    return all.text();
}

}  // namespace pumice
