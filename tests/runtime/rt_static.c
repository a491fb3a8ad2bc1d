/* A program that is linked statically has the device cpu, and an error in place of Vulkan devices. */
#include <stdio.h>
#include <string.h>

#include "rt_one.h"

static int run(pumice_device d) {
    const int64_t n = 1000;
    float values[1000] = {0};
    pumice_array x, y;
    for (int i = 0; i < 1000; ++i) values[i] = (float)i;
    if (pumice_array_create(d, PUMICE_F32, 0, 1, &n, &x) || pumice_array_create(d, PUMICE_F32, 0, 1, &n, &y)) return 1;
    if (pumice_array_write(&x, values, sizeof values) || rt_one_scale(d, pumice_range_1(n), &y, &x, 0.5f)) return 2;
    if (pumice_array_read(&y, values, sizeof values)) return 3;
    pumice_array_release(&x), pumice_array_release(&y);
    return values[999] == 499.5f ? 0 : 4;
}

int main(void) {
    pumice_device d = NULL;
    int failed = pumice_open("", NULL, &d);
    if (!failed) {
        failed = run(d) + (strncmp(pumice_device_name(d), "cpu", 3) != 0 ? 8 : 0);
        pumice_close(d);
    }
    if (failed) fprintf(stderr, "%d: %s\n", failed, pumice_error());
    if (pumice_open("vulkan", NULL, &d) == PUMICE_ERROR_DEVICE &&
        strcmp(pumice_error(), "a program that is linked statically cannot load Vulkan drivers") == 0)
        return failed;
    fprintf(stderr, "the device vulkan: %s\n", pumice_error());
    return 1;
}
