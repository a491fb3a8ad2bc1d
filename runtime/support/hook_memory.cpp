#include "runtime/support/hook_memory.h"

#include <stdlib.h>

namespace pumice_rt {

void* allocate(const pumice_hooks& hooks, size_t bytes, size_t alignment) {
    if (bytes == 0) bytes = 1;
    if (hooks.allocate) return hooks.allocate(hooks.user, bytes, alignment);
    void* memory = nullptr;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

void release(const pumice_hooks& hooks, void* memory, size_t bytes) {
    if (!memory) return;
    if (bytes == 0) bytes = 1;
    if (hooks.release && hooks.allocate) return hooks.release(hooks.user, memory, bytes);
    free(memory);
}

}  // namespace pumice_rt
