// The peer of first_result.c: the library itself, which compiles the kernel that the other program ships. A process up to its
// first result. With an argument N it also prints one number: the microseconds a launch, for N launches in a row, each of which
// depends on the one before; the median of ten such rows.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/kernels.h"

int main(int argc, char** argv) {
    constexpr int n = 1000;
    std::vector<float> host(n), us;
    for (int i = 0; i < n; ++i) host[size_t(i)] = float(i);
    try {
        const pumice::Device device = pumice::Device::open();
        const auto saxpy = bench::fresh_saxpy();
        pumice::Array<float> x = device.upload(host), y = device.full<float>(n, 1.0f);
        saxpy(pumice::ndrange(n), y, x, 0.5f);
        const float last = y.download()[n - 1];
        const int launches = argc > 1 ? std::atoi(argv[1]) : 0;
        for (int round = 0; launches > 0 && round < 10; ++round) {
            const auto start = std::chrono::steady_clock::now();
            for (int i = 0; i < launches; ++i) saxpy(pumice::ndrange(64), y, x, 0.5f);
            device.synchronize();
            us.push_back(std::chrono::duration<float, std::micro>(std::chrono::steady_clock::now() - start).count() /
                         float(launches));
        }
        std::ranges::sort(us);
        if (!us.empty()) std::printf("%f\n", double(us[us.size() / 2]));
        return last == 500.5f ? 0 : 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
