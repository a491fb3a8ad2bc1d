/* The smallest program with a shipped kernel: its first result, for the time that a process takes to it. With an argument N it
 * also prints one number: the microseconds a launch, for N launches in a row, each of which depends on the one before; the median
 * of ten such rows. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench_kernels.h"

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int ascending(const void* a, const void* b) {
    const double one = *(const double*)a, other = *(const double*)b;
    return (one > other) - (one < other);
}

static int time_launches(pumice_device device, const pumice_array* y, const pumice_array* x, int launches) {
    double us[10];
    int round, i;
    for (round = 0; round < 10; ++round) {
        const double start = now_us();
        for (i = 0; i < launches; ++i)
            if (bench_kernels_saxpy(device, pumice_range_1(64), y, x, 0.5f)) return 1;
        if (pumice_synchronize(device)) return 1;
        us[round] = (now_us() - start) / launches;
    }
    qsort(us, 10, sizeof *us, ascending);
    printf("%f\n", us[5]);
    return 0;
}

int main(int argc, char** argv) {
    const int64_t n = 1000;
    float x[1000], y[1000];
    pumice_device device;
    pumice_array ax, ay;
    int i;
    for (i = 0; i < 1000; ++i) x[i] = (float)i, y[i] = 1;
    if (pumice_open("", NULL, &device) || pumice_array_create(device, PUMICE_F32, 0, 1, &n, &ax) ||
        pumice_array_create(device, PUMICE_F32, 0, 1, &n, &ay) || pumice_array_write(&ax, x, sizeof x) ||
        pumice_array_write(&ay, y, sizeof y) || bench_kernels_saxpy(device, pumice_range_1(n), &ay, &ax, 0.5f) ||
        pumice_array_read(&ay, y, sizeof y) || (argc > 1 && time_launches(device, &ay, &ax, atoi(argv[1])))) {
        fprintf(stderr, "%s\n", pumice_error());
        return 1;
    }
    pumice_array_release(&ax);
    pumice_array_release(&ay);
    pumice_close(device);
    return y[999] == 500.5f ? 0 : 2;
}
