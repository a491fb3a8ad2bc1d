#include "runtime/support/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

namespace pumice_rt {
namespace {

thread_local char sentence[1024];

void append(size_t at, const char* format, va_list arguments) {
    const int wrote = vsnprintf(sentence + at, sizeof sentence - at, format, arguments);
    if (wrote < 0 || size_t(wrote) >= sizeof sentence - at) memcpy(sentence + sizeof sentence - 4, "...", 4);
}

}  // namespace

pumice_status fail(pumice_status status, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append(0, format, arguments);
    va_end(arguments);
    return status;
}

pumice_status within(pumice_status status, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append(strlen(sentence), format, arguments);
    va_end(arguments);
    return status;
}

}  // namespace pumice_rt

const char* pumice_error(void) { return pumice_rt::sentence; }
