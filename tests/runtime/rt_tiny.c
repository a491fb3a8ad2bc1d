/* The smallest program with a kernel: its size is tested. */
#include "rt_one.h"

int main(void) {
    const int64_t n = 1000;
    pumice_device d = NULL;
    pumice_array x, y;
    if (pumice_open("cpu", 0, &d) || pumice_array_create(d, PUMICE_F32, 0, 1, &n, &x) ||
        pumice_array_create(d, PUMICE_F32, 0, 1, &n, &y))
        return 1;
    if (rt_one_scale(d, pumice_range_1(n), &y, &x, 0.5f) || pumice_synchronize(d)) return 2;
    pumice_array_release(&x), pumice_array_release(&y);
    pumice_close(d);
    return 0;
}
