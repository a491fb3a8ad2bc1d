// expect: write cast<T>(x)
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](InOut<float> y, InOut<unsigned> u, Val<int> n) {
    auto i = global_index();
    const auto v = float3{1, 2, 3} * n;
    (void)v;
    (void)i, (void)n;
});
