/* Three libraries with kernels of the same name, linked into one program: each gives its own result. */
#include <math.h>
#include <stdio.h>

#include "rt_one.h"
#include "rt_three.h"
#include "rt_two.h"

static int failed(const char* what) {
    fprintf(stderr, "%s: %s\n", what, pumice_error());
    return 1;
}
static int lines = 0;
static void print(void* user, const char* line) { lines += user == NULL && line[0] == '2'; }

int main(void) {
    enum { n = 100 };
    const int64_t count = n;
    pumice_device d = NULL;
    pumice_array x, y, z;
    pumice_hooks hooks;
    float f[n];
    double g[n];
    memset(&hooks, 0, sizeof hooks);
    hooks.print = print;
    if (pumice_open("cpu", &hooks, &d)) return failed("pumice_open");
    if (pumice_array_create(d, PUMICE_F32, 0, 1, &count, &x) || pumice_array_create(d, PUMICE_F32, 0, 1, &count, &y) ||
        pumice_array_create(d, PUMICE_F64, 0, 1, &count, &z))
        return failed("pumice_array_create");
    for (int i = 0; i < n; ++i) f[i] = (float)i, g[i] = 0.01 * i;
    if (pumice_array_write(&x, f, sizeof f) || pumice_array_write(&z, g, sizeof g)) return failed("pumice_array_write");
    if (rt_one_scale(d, pumice_range_1(n), &y, &x, 3)) return failed("rt_one_scale");
    if (rt_two_scale(d, pumice_range_1(n), &z, 3)) return failed("rt_two_scale");
    if (rt_three_scale(d, pumice_range_1(n), &z, 2)) return failed("rt_three_scale");
    if (pumice_array_read(&y, f, sizeof f) || pumice_array_read(&z, g, sizeof g)) return failed("pumice_array_read");
    for (int i = 0; i < n; ++i) {
        /* gamma(3) is 2, and digamma(2) is 1 - Euler's constant. */
        const double want = 3 * exp(0.01 * i) * 2 * 7 + (1 - 0.57721566490153286) * sin(2.0);
        if (f[i] != 3 * (float)i || fabs(g[i] - want) > 1e-12 * want)
            return fprintf(stderr, "element %d is %g and %.17g, and not %d and %.17g\n", i, (double)f[i], g[i], 3 * i, want), 1;
    }
    if (lines != n) return fprintf(stderr, "%d lines were printed\n", lines), 1;
    pumice_array_release(&x), pumice_array_release(&y), pumice_array_release(&z);
    pumice_close(d);
    return 0;
}
