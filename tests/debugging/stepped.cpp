// A program as a user writes it, for gdb.sh, renderdoc.sh and shader.sh, which stop at the lines with a mark.
#include <pumice/pumice.h>

#include <cstdio>

using namespace pumice;

const auto sums = kernel("sums", [](Out<float> result, In<float> x, Val<float> scale) {
    auto i = global_index();
    Var<float> sum = 0.0f;
    $for(k, range(3)) {
        auto product = x[i] * scale;
        $if(product > 4.0f) {
            sum += product;  // mark: added
        }
        sum += 0.5f;
    }
    result[i] = sum;  // mark: stored
});

const auto turned = kernel("turned", [](InOut<int> values) {
    Local<int, 4> shared;
    auto l = local_index();
    auto before = values[l] + 100;
    shared[l] = before;
    synchronize();
    auto other = shared[3 - l];
    values[l] = other - before;  // mark: after the barrier
});

int main() {
    const Device device = Device::open();
    Array<float> x = device.upload<float>({1, 2, 3, 4}), y = device.zeros<float>(4);
    Array<int> values = device.upload<int>({1, 20, 300, 4000});
    sums(ndrange(4), y, x, 2.0f);
    turned(ndrange(4).group(4), values);
    for (const float v : y.download()) std::printf("%g ", v);
    for (const int v : values.download()) std::printf("%d ", v);
    std::puts("");
}
