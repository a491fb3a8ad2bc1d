// The processor on which the process runs: its instruction set (by CPUID and XGETBV) and caches.
#pragma once
#include "runtime/bundle/bundle_format.h"

namespace pumice_rt {

/// The best level of native code that this processor runs; 0: none that a bundle may have but `generic`.
uint32_t native_level();
/// "x86-64-v3", "aarch64", "riscv64", "generic".
const char* native_level_name(uint32_t level);
/// True if this processor runs code of the level.
bool runs_level(uint32_t level);

/// Bytes of arrays beyond which stores should bypass the caches; as the library's (cpu/runtime/cache_sizes.cpp).
int64_t bytes_in_caches(int threads);
/// Orders streaming stores of this thread before its later stores.
void finish_streaming_stores();

}  // namespace pumice_rt
