// compiles
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](InOut<float> y, InOut<unsigned> u, Val<int> n) {
    auto i = global_index();
    Var v = n;
    ++v, v++, --v, v--;
    ++u[i];
    u[i]--;
    u[i] = u[i] << n;
    u[i] <<= v;
    y[i] = select(y[i] > 0.0f, y[i], 2.0f) + cast<float>(3);
    y[i] = 2.0f;
    const Val<float3> w = float3{1, 2, 3} * y[i];
    y[i] = dot(w, w);
    (void)i, (void)n;
});
