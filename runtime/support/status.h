// Errors of the runtime: an error code that a function returns, and the message of each thread's last error, which pumice_error()
// gives.
//
// The runtime is built without exceptions. A function that can fail returns pumice_status; `RT_TRY(call)` returns early if the
// call did not give PUMICE_OK. fail() writes the sentence, in a buffer of the calling thread.
#pragma once
#include "runtime/api/rt_api.h"

namespace pumice_rt {

/// Writes the sentence by printf's rules, and returns the status. Numbers of 64 bits take %lld and a cast to `longest`.
pumice_status fail(pumice_status status, const char* format, ...) __attribute__((format(printf, 2, 3)));
/// Appends ", while ..." or the like to the sentence of this thread's last error, and returns the status.
pumice_status within(pumice_status status, const char* format, ...) __attribute__((format(printf, 2, 3)));

using longest = long long;

#define RT_TRY(call)                                                                    \
    do {                                                                                \
        if (const pumice_status status_ = (call); status_ != PUMICE_OK) return status_; \
    } while (false)

}  // namespace pumice_rt
