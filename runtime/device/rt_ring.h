// The ring into which kernels write prints and failed requirements: the layout of core/host/ring.h of the library.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace pumice_rt {
namespace ring {

constexpr size_t used = 0, lost = 1, failed = 2, capacity = 3, first_failure = 4, records = 64;  ///< indices of words
constexpr size_t head = 5;          ///< words of a record before its values
constexpr size_t words = 1u << 20;  ///< of a whole ring

constexpr size_t words_of(uint32_t type) { return type == 4 || type == 8 || type == 11 ? 2 : 1; }

/// Empties a ring of `size` words.
inline void clear(uint32_t* to, size_t size) {
    for (size_t i = 0; i < records; ++i) to[i] = 0;
    to[capacity] = uint32_t(size - records);
}

}  // namespace ring
}  // namespace pumice_rt
