// expect: conflicting types for parameter
// expect: Duplicated
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](InOut<float> y) { y[global_index()] *= 2.0f; });

void derivative(Array<float>& y, Array<double>& shadow) { autodiff(Reverse, k, ndrange(4), Duplicated(y, shadow)); }
