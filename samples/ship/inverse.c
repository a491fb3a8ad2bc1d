/* An inverse problem in plain C: the temperature of a rod some time ago, from its temperature now. Each step of descent runs the simulation
 * forwards and its adjoint backwards, with kernels that were compiled when this program was built. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inverse_kernels.h"

enum { N = 256, STEPS = 100, DESCENTS = 60 };

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

/* The temperature after all steps is in state[0]. */
static void simulate(pumice_array state[2], const pumice_array* start) {
    int step;
    check(pumice_array_copy(start, &state[0], NULL));
    for (step = 0; step < STEPS; ++step)
        check(inverse_kernels_heat(device, pumice_range_1(N), &state[(step + 1) % 2], &state[step % 2], 0.2f));
}

/* The derivative of the loss by the temperature at the start, in slope[0]; returns the loss. */
static float gradient(pumice_array state[2], pumice_array slope[2], const pumice_array* guess, const pumice_array* measured,
                      const pumice_array* loss, const pumice_array* seed) {
    float value;
    int step;
    simulate(state, guess);
    set(loss, 0), set(seed, 1), set(&slope[0], 0), set(&slope[1], 0);
    check(inverse_kernels_mismatch(device, pumice_range_1(N), loss, &state[0], measured));
    check(inverse_kernels_mismatch_adjoint(device, pumice_range_1(N), loss, seed, &state[0], &slope[0], measured));
    for (step = STEPS - 1; step >= 0; --step)
        check(inverse_kernels_heat_adjoint(device, pumice_range_1(N), &state[(step + 1) % 2], &slope[(step + 1) % 2],
                                           &state[step % 2], &slope[step % 2], 0.2f));
    check(pumice_array_read(loss, &value, sizeof value));
    return value;
}

int main(int argc, char** argv) {
    float truth[N], first = 0, last = 0;
    int i;
    for (i = 0; i < N; ++i) truth[i] = i > 80 && i < 140 ? 1.0f : 0.0f;
    check(pumice_open(argc > 1 ? argv[1] : "", NULL, &device));
    {
        pumice_array start = array_of(N, truth), guess = array_of(N, NULL), measured = array_of(N, NULL);
        pumice_array loss = array_of(1, NULL), seed = array_of(1, NULL), state[2], slope[2];
        for (i = 0; i < 2; ++i) state[i] = array_of(N, NULL), slope[i] = array_of(N, NULL);
        simulate(state, &start);
        check(pumice_array_copy(&state[0], &measured, NULL));
        for (i = 0; i < DESCENTS; ++i) {
            last = gradient(state, slope, &guess, &measured, &loss, &seed);
            if (i == 0) first = last;
            check(inverse_kernels_descend(device, pumice_range_1(N), &guess, &slope[0], 0.8f));
        }
        pumice_array_release(&start), pumice_array_release(&guess), pumice_array_release(&measured);
        pumice_array_release(&loss), pumice_array_release(&seed);
        for (i = 0; i < 2; ++i) pumice_array_release(&state[i]), pumice_array_release(&slope[i]);
    }
    printf("%s: loss %.4f -> %.6f in %d steps of descent\n", pumice_device_name(device), first, last, DESCENTS);
    pumice_close(device);
    return last < 0.02f * first ? 0 : 1;
}
