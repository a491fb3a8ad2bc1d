// How large the memory of a kernel's own may be.
#pragma once
#include <cstdint>

namespace pumice {

/// Of one private array, in bytes. It may end up in memory of its own for each work-item in flight; drivers give up at sizes like this.
inline constexpr int64_t most_private_bytes = 512 * 1024;
/// Of one local array. What a device has is checked at the launch.
inline constexpr int64_t most_local_bytes = INT32_MAX;

}  // namespace pumice
