// expect: a kernel's parameters are In<T, N>, Out<T, N>, InOut<T, N>
// expect: parameter<float>
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](Out<float> y, In<float> x, float a) {
    auto i = global_index();
    y[i] = a * x[i];
});

void launch(Array<float>& y, Array<float>& x) { k(ndrange(4), y, x, 0.5f); }
