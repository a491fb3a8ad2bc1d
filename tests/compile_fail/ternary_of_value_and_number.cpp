// expect: select(c, a, b)
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](InOut<float> y, InOut<unsigned> u, Val<int> n) {
    auto i = global_index();
    const auto v = n > 0 ? n : 2;
    (void)v;
    (void)i, (void)n;
});
