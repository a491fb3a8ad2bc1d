// PUMICE_SANITIZED is defined in a program built with AddressSanitizer or ThreadSanitizer, by g++ or clang.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PUMICE_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PUMICE_SANITIZED
#endif
#endif
