// expect: the stored value has another type than the element
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](Out<float> y, In<float> x) {
    auto i = global_index();
    Var v = 1.0f;
    Var n = 2;
    Var k = 1;
    y[i] = k;
    (void)v, (void)n;
});
