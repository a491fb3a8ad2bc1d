// Size limits of local and private memory.
#pragma once
#include <cstdint>

namespace pumice {

/// Limit of one private array, in bytes. It may take memory for each work-item in flight; drivers fail at sizes like this.
inline constexpr int64_t most_private_bytes = 512 * 1024;
/// Limit of one local array, in bytes. The device's limit is checked at the launch.
inline constexpr int64_t most_local_bytes = INT32_MAX;

}  // namespace pumice
