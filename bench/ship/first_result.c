/* The smallest program with a shipped kernel: its first result, for the time that a process takes to it. */
#include <stdio.h>

#include "bench_kernels.h"

int main(void) {
    const int64_t n = 1000;
    float x[1000], y[1000];
    pumice_device device;
    pumice_array ax, ay;
    int i;
    for (i = 0; i < 1000; ++i) x[i] = (float)i, y[i] = 1;
    if (pumice_open("", NULL, &device) || pumice_array_create(device, PUMICE_F32, 0, 1, &n, &ax) ||
        pumice_array_create(device, PUMICE_F32, 0, 1, &n, &ay) || pumice_array_write(&ax, x, sizeof x) ||
        pumice_array_write(&ay, y, sizeof y) || bench_kernels_saxpy(device, pumice_range_1(n), &ay, &ax, 0.5f) ||
        pumice_array_read(&ay, y, sizeof y)) {
        fprintf(stderr, "%s\n", pumice_error());
        return 1;
    }
    pumice_array_release(&ax);
    pumice_array_release(&ay);
    pumice_close(device);
    return y[999] == 500.5f ? 0 : 2;
}
