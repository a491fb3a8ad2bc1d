// expect: select(c, a, b)
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](InOut<float> y, InOut<unsigned> u, Val<int> n) {
    auto i = global_index();
    const auto v = y[i] > 0.0f ? y[i] : y[0];
    (void)v;
    (void)i, (void)n;
});
