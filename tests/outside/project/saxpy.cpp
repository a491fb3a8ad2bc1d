// The smallest application: y += a x on the default device.
#include <pumice/pumice.h>

#include <cstdio>
#include <vector>

int keywords_file();
int names_file();
int namespaces_file();
int other_file();
int pedantic_file();

const auto saxpy = pumice::kernel("saxpy", [](pumice::InOut<float> y, pumice::In<float> x, pumice::Val<float> a) {
    auto i = pumice::global_index();
    y[i] += a * x[i];
});

int main() {
    pumice::Device device = pumice::Device::open();
    std::vector<float> host_x(1000), want(1000);
    for (size_t i = 0; i < 1000; ++i) {
        host_x[i] = float(i);
        want[i] = 1.0f + 2.0f * host_x[i];
    }
    pumice::Array<float> x = device.upload(host_x);
    pumice::Array<float> y = device.full<float>(1000, 1.0f);
    saxpy(pumice::ndrange(1000), y, x, 2.0f);
    if (y.download() != want || other_file() != 2) {
        std::fprintf(stderr, "saxpy is wrong\n");
        return 1;
    }
    if (keywords_file() != 1 || names_file() != 1 || namespaces_file() != 1 || pedantic_file() != 1) {
        std::fprintf(stderr, "keywords.cpp, names.cpp, namespaces.cpp or pedantic.cpp is wrong\n");
        return 1;
    }
    std::printf("saxpy on %s: right\n", device.name().c_str());
}
