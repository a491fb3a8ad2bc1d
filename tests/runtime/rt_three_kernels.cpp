// One of three libraries in one program, with kernels of the same names.
#include <pumice/pumice.h>
#include <pumice/ship.h>

using namespace pumice;

const auto scale = kernel("scale", [](InOut<double> y, Val<double> a) {
    print("{}", a);
    y[global_index()] = y[global_index()] * 7.0 + digamma(a) * sin(a);
});
PUMICE_SHIP(scale);
