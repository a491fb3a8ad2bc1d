#include "runtime/support/forks.h"

#include <pthread.h>

#include "runtime/support/lock.h"

namespace pumice_rt {

uint32_t forks = 0;

bool watch_forks() {
    static Mutex mutex;
    static bool watches = false;
    const Lock lock(mutex);
    watches = watches || pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
    return watches;
}

}  // namespace pumice_rt
