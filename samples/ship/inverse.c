/* An inverse problem in plain C: the temperature of a rod some time ago, from its temperature now. Each step of descent runs a
 * simulation forwards and backwards, both of which were compiled when this program was built. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inverse_kernels.h"

enum { N = 256, DESCENTS = 60 };

static pumice_device device;

/* Ends the program if a call has failed. */
static void check(pumice_status status) {
    if (status == PUMICE_OK) return;
    fprintf(stderr, "inverse: %s\n", pumice_error());
    exit(1);
}

static pumice_array array_of(int64_t n, const float* values) {
    pumice_array array;
    check(pumice_array_create(device, PUMICE_F32, 0, 1, &n, &array));
    if (values) check(pumice_array_write(&array, values, n * (int64_t)sizeof *values));
    return array;
}

static void set(const pumice_array* array, float value) { check(pumice_array_fill(array, &value, NULL)); }

int main(int argc, char** argv) {
    const float c = 0.2f;
    float truth[N], first = 0, last = 0;
    pumice_program simulate, distance;
    pumice_array start, measured, guess, slope, loss, seed;
    int i;
    for (i = 0; i < N; ++i) truth[i] = i > 80 && i < 140 ? 1.0f : 0.0f;
    check(pumice_open(argc > 1 ? argv[1] : "", NULL, &device));
    check(inverse_kernels_simulate_create(device, N, &simulate));
    check(inverse_kernels_distance_create(device, N, &distance));
    start = array_of(N, truth), measured = array_of(N, NULL);
    guess = array_of(N, NULL), slope = array_of(N, NULL), loss = array_of(1, NULL), seed = array_of(1, NULL);
    check(inverse_kernels_simulate_forward(simulate, &measured, &start, c, NULL));
    for (i = 0; i < DESCENTS; ++i) {
        set(&slope, 0), set(&seed, 1);
        check(inverse_kernels_distance_gradient(distance, &loss, &seed, &guess, &slope, &measured, c, NULL));
        check(inverse_kernels_descend(device, pumice_range_1(N), &guess, &slope, 0.8f));
        check(pumice_array_read(&loss, &last, sizeof last));
        if (i == 0) first = last;
    }
    printf("%s: loss %.4f -> %.6f in %d steps of descent\n", pumice_device_name(device), first, last, DESCENTS);
    pumice_array_release(&start), pumice_array_release(&measured), pumice_array_release(&guess);
    pumice_array_release(&slope), pumice_array_release(&loss), pumice_array_release(&seed);
    pumice_program_release(simulate), pumice_program_release(distance);
    pumice_close(device);
    return last < 0.02f * first ? 0 : 1;
}
