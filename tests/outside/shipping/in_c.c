#include <sim.h>
#include <stdio.h>

int main(void) {
    pumice_device d = NULL;
    const int64_t n = 1000, one = 1;
    float values[1000], shadow = 0;
    pumice_array x, y, dx, dy, da;
    if (pumice_open("cpu", NULL, &d)) return puts(pumice_error()), 1;
    pumice_array* const all[] = {&x, &y, &dx, &dy};
    for (int i = 0; i < 4; ++i)
        if (pumice_array_create(d, PUMICE_F32, 0, 1, &n, all[i])) return puts(pumice_error()), 1;
    if (pumice_array_create(d, PUMICE_F32, 0, 1, &one, &da)) return puts(pumice_error()), 1;
    for (int i = 0; i < 1000; ++i) values[i] = (float)i;
    if (pumice_array_write(&x, values, sizeof values) || sim_saxpy(d, pumice_range_1(n), &y, &x, 0.5f))
        return puts(pumice_error()), 1;
    if (pumice_array_read(&y, values, sizeof values)) return puts(pumice_error()), 1;
    for (int i = 0; i < 1000; ++i)
        if (values[i] != 0.5f * (float)i) return puts("saxpy is wrong"), 1;
    for (int i = 0; i < 1000; ++i) values[i] = 1;
    if (pumice_array_write(&dy, values, sizeof values) || sim_saxpy_adjoint(d, pumice_range_1(n), &y, &dy, &x, &dx, 0.5f, &da))
        return puts(pumice_error()), 1;
    if (pumice_array_read(&da, &shadow, sizeof shadow)) return puts(pumice_error()), 1;
    if (shadow != 499500.0f) return puts("the derivative is wrong"), 1;
    for (int i = 0; i < 4; ++i) pumice_array_release(all[i]);
    pumice_array_release(&da);
    pumice_close(d);
    return 0;
}
