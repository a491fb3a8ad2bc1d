#include "core/host/device.h"

#include <pumice/pumice.h>

#include <cstdio>

const auto add_own = pumice::kernel("add_own", [](pumice::InOut<int> y) { y[pumice::global_index()] += own_header; });

int main() {
    const pumice::Device device = pumice::Device::open();
    pumice::Array<int> y = device.full<int>(4, 1);
    add_own(pumice::ndrange(4), y);
    std::printf("%d\n", y.get(3));
    return y.get(3) == 1 + own_header ? 0 : 1;
}
