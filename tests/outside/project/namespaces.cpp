// Kernels named like namespaces that only the library's sources have: the installed headers do not declare them.
#include <pumice/pumice.h>

using namespace pumice;

const auto one_more = [](InOut<float> y) { y[global_index()] += 1.0f; };
const auto codegen = kernel("codegen", one_more), cpu = kernel("cpu", one_more), interp = kernel("interp", one_more),
           ring = kernel("ring", one_more), tools = kernel("tools", one_more), trace = kernel("trace", one_more);

int namespaces_file() {
    Device device = Device::open();
    Array<float> y = device.zeros<float>(4);
    codegen(ndrange(4), y), cpu(ndrange(4), y), interp(ndrange(4), y), ring(ndrange(4), y), tools(ndrange(4), y),
        trace(ndrange(4), y);
    return y.get(3) == 6.0f;
}
