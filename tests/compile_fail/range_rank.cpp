// expect: ranges have 1 to 6 dimensions
#include <pumice/pumice.h>

using namespace pumice;

const auto k = kernel("k", [](Out<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] = a * x[i];
});

void launch(Array<float>& y, Array<float>& x, Array<int>& ints, Array<float, 2>& plane) {
    k(ndrange(1, 2, 3, 4, 5, 6, 7), y, x, 1.0f);
    (void)y, (void)x, (void)ints, (void)plane;
}
