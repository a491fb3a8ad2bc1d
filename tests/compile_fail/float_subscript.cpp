// expect: operator[]
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](Out<float> y, In<float> x) {
    auto i = global_index();
    Var v = 1.0f;
    Var n = 2;
    y[i] = x[v];
    (void)v, (void)n;
});
