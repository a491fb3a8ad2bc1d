// Qt's keywords are macros; some applications have its headers first.
#include <any>
#include <functional>
#include <string>
#include <vector>

#define slots
#define signals public
#define emit
#define foreach Q_FOREACH
#define forever for (;;)
#define Q_SLOTS
#define Q_SIGNALS public
#define Q_EMIT
#include <pumice/pumice.h>
#include <pumice/ship.h>
#include <pumice/vulkan.h>

using namespace pumice;

namespace {

const auto roots =
    kernel("roots", [](InOut<float3> y, In<float3> x, Val<float> a) { y[global_index()] += sqrt(x[global_index()]) * a; });
const auto sums = kernel("sums", [](InOut<float3> y) { y[global_index()] = group::reduce_add(y[global_index()]); });
const auto square = function("square", [](Val<float> x) { return x * x; });

}  // namespace

int keywords_file() {
    Device device = Device::open();
    Array<float3> x = device.full<float3>(2, float3{4, 9, 16}), dx = device.zeros<float3>(2), y = device.zeros<float3>(2),
                  dy = device.full<float3>(2, float3{1, 1, 1});
    const auto [da] = autodiff(Reverse, roots, ndrange(2), Duplicated(y, dy), Duplicated(x, dx), Active(2.0f));
    const auto [ds] = autodiff(Reverse, square, Active(3.0f));
    const auto program = [](Array<float3>& to, Array<float3>& from, const auto& by) { roots(ndrange(2), to, from, by); };
    const auto [db] = autodiff(Reverse, program, Duplicated(y, dy), Duplicated(x, dx), Active(2.0f));
    sums(ndrange(2).group(2), y);
    return y.get(1).z == 32.0f && dx.get(0).x == 1.0f && da == 18.0f && db == 18.0f && ds == 6.0f;
}
