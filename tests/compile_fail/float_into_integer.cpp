// expect: no float literal into an integer
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](Out<float> y, In<float> x) {
    auto i = global_index();
    Var v = 1.0f;
    Var n = 2;
    n = 0.5f;
    (void)v, (void)n;
});
