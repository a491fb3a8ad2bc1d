// expect: device_math::NAME(x)
#include <pumice/pumice.h>

using namespace pumice;

const auto length = kernel("length", [](Out<float> y) { y[global_index()] = 1.0f; });
const auto k = kernel("k", [](InOut<float3> y) { length(y[global_index()]); });
