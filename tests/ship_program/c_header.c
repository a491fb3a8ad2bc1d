// The header for C with macros of other headers before it, which parameters have as their names.
#include <complex.h>
#include <errno.h>
#include <limits.h>
#define slots
#define emit
#include <shipped_programs.h>

// A function of the program test, whose header is C++.
pumice_status shipped_by_c(pumice_device device, pumice_program program, const pumice_array* y, const pumice_array* shadow,
                           const pumice_array* x, const pumice_array* x_shadow, float a, float* a_shadow, float b);
pumice_status shipped_by_c(pumice_device device, pumice_program program, const pumice_array* y, const pumice_array* shadow,
                           const pumice_array* x, const pumice_array* x_shadow, float a, float* a_shadow, float b) {
    const pumice_status status = shipped_programs_pumice_launch(device, pumice_range_1(3), y, 0.5f, 0.25f, 1, 2, 4);
    return status ? status : shipped_programs_program_forward_gradient(program, y, shadow, x, x_shadow, a, a_shadow, b, NULL);
}
