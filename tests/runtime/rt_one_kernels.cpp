// One of three libraries in one program, with kernels of the same names.
#include <pumice/pumice.h>
#include <pumice/ship.h>

using namespace pumice;

const auto scale = kernel("scale", [](InOut<float> y, In<float> x, Val<float> a) { y[global_index()] += a * x[global_index()]; });
PUMICE_SHIP(scale);
