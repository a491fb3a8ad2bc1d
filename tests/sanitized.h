// PUMICE_SANITIZED is defined in a program built with AddressSanitizer or ThreadSanitizer, by g++ or clang.
#pragma once

#include <unistd.h>

#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PUMICE_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PUMICE_SANITIZED
#endif
#endif

namespace suite {

/// Ends a process that was forked while threads ran. With a sanitizer it runs no handlers: they free memory and look for leaks,
/// and another thread may have held a lock of the sanitizer's allocator at the fork. The C library mends its own locks,
/// sanitizers do not.
[[noreturn]] inline void exit_of_a_fork(int status) {
#ifdef PUMICE_SANITIZED
    _exit(status);
#else
    std::exit(status);
#endif
}

}  // namespace suite
