// expect: a device value cannot decide a host if
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](Out<float> y, In<float> x) {
    auto i = global_index();
    Var v = 1.0f;
    Var n = 2;
    while (n > 0) { n -= 1; }
    (void)v, (void)n;
});
