// One of three libraries in one program, with kernels of the same names.
#include <pumice/pumice.h>
#include <pumice/ship.h>

using namespace pumice;

/// Calls functions of SLEEF and of pumice_rt_math.
const auto scale =
    kernel("scale", [](InOut<double> y, Val<double> a) { y[global_index()] = a * exp(y[global_index()]) * tgamma(a); });
PUMICE_SHIP(scale);
