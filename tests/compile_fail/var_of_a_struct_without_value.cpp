// expect: a Var needs an initial value
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](Out<float> y) {
    Var<float3> v = float3{1, 2, 3};
    Var<float3x3> m;
    y[0] = v.x;
    (void)m;
});
