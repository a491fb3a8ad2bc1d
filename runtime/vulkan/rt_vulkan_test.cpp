// The runtime's Vulkan back end: kernels of every kind against expected values, on each driver with validation.
#include "runtime/vulkan/rt_vulkan_test.h"

#include <numeric>

using namespace rt_test;
using pumice::Array;
using pumice::In;
using pumice::InOut;
using pumice::Out;
using pumice::Val;

namespace {

auto saxpy_kernel() {
    return pumice::kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
        auto i = pumice::global_index();
        y[i] += a * x[i];
    });
}

std::vector<float> ramp(size_t n, float first = 0) {
    std::vector<float> v(n);
    std::iota(v.begin(), v.end(), first);
    return v;
}

TEST(RuntimeVulkan, SaxpyOverRangesOfManySizes) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(saxpy_kernel());
    const pumice_library* library = bundle.get();
    for (const size_t n : {1u, 7u, 256u, 1000u, 100003u}) {
        TestArray<float> y(on, ramp(n), PUMICE_F32), x(on, ramp(n, 1), PUMICE_F32);
        RT_OK(
            launch(on, library, k, pumice_range_1(int64_t(n)), {argument(y.array), argument(x.array), scalar(PUMICE_F32, 2.0f)}));
        const std::vector<float> got = y.read();
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], float(i) + 2 * (float(i) + 1)) << "of " << n << " at " << i;
    }
}

}  // namespace
