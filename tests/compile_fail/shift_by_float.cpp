// expect: operands of << are integers
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](InOut<float> y, InOut<unsigned> u, Val<int> n) {
    auto i = global_index();
    u[i] = u[i] << y[i];
    (void)i, (void)n;
});
