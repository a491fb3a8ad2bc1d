// expect: a Val cannot be changed
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](InOut<float> y, InOut<unsigned> u, Val<int> n) {
    auto i = global_index();
    ++n;
    (void)i, (void)n;
});
