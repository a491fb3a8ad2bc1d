// expect: a named copy of an element cannot be assigned
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](Out<float> y, In<float> x) {
    auto i = global_index();
    Var v = 1.0f;
    Var n = 2;
    auto copy = y[i];
    copy = 1.0f;
    (void)v, (void)n;
});
