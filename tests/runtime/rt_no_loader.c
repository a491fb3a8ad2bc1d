/* A machine without Vulkan's loader: the device vulkan is an error with a sentence, and "" opens the processor. C99. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "rt_shipped.h"

static int asked = 0;

/* Takes the place of the C library's, for the runtime, too: no library can be loaded. */
void* dlopen(const char* name, int flags) {
    (void)flags;
    if (name && strncmp(name, "libvulkan", 9) == 0) ++asked;
    return NULL;
}

static int failures = 0;

#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            fprintf(stderr, "line %d: %s does not hold; the last error: %s\n", __LINE__, #condition, pumice_error()); \
            ++failures;                                                                                               \
        }                                                                                                             \
    } while (0)

int main(void) {
    const int64_t n = 100;
    uint32_t values[100];
    pumice_device device = NULL;
    pumice_array x;
    const char* const specs[] = {"vulkan", "vulkan:0", "vulkan:llvmpipe"};
    for (int i = 0; i < 3; ++i) {
        CHECK(pumice_open(specs[i], NULL, &device) == PUMICE_ERROR_DEVICE);
        CHECK(strcmp(pumice_error(), "there is no Vulkan loader: libvulkan.so.1 cannot be loaded") == 0);
        CHECK(device == NULL);
    }
    CHECK(asked >= 3);
    CHECK(pumice_open("", NULL, &device) == PUMICE_OK);
    CHECK(device && strncmp(pumice_device_name(device), "cpu (", 5) == 0);
    if (failures) return 1;
    memset(values, 0, sizeof values);
    CHECK(pumice_array_create(device, PUMICE_U32, 0, 1, &n, &x) == PUMICE_OK);
    CHECK(rt_shipped_mix(device, pumice_range_1(n), &x, 7) == PUMICE_OK);
    CHECK(pumice_array_read(&x, values, sizeof values) == PUMICE_OK);
    CHECK(values[0] == 7 && values[99] == 7);
    pumice_array_release(&x);
    pumice_close(device);
    return failures != 0;
}
